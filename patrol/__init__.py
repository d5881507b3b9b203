"""Everything of Patrol that touches the world: sources, tools, runs, storage, the command line."""
