"""The estate: every watched thing that one collection read, and what could not be read."""
