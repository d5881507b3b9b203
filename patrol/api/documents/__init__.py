"""What is served, as JSON documents: the shapes that clients hold on to."""
