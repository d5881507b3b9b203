"""The daemon: everything that runs for months, how it is started, told of new settings, and stopped."""
