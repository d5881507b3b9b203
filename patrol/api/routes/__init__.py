"""The routes, a file for each noun. Each has one guard (`patrol.api.guards`), or is on the list of public ones."""
