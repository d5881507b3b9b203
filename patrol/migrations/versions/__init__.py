"""One file for each revision, in order."""
