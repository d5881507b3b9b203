"""Runs followed live: what happens in a run, told to any number of listeners while it happens."""
