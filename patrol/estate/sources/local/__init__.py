"""The source `local`: the host that Patrol runs on, read without root where that is possible."""
