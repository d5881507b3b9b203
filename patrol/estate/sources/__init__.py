"""Where an estate comes from: one module or package for each kind of source."""
