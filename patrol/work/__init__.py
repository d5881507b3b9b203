"""What is to be done: one table of work, claimed by whoever is free, each piece by one at a time."""
