"""The language model at work: how it is reached, what it is told, what it may do, and what it may cost."""
