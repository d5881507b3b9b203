"""Settings: one schema; read from a file, the environment and secrets in files."""
