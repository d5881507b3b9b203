"""Settings that operators change while the daemon runs: kept in the database, above the file, below the environment."""
