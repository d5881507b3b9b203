"""The HTTP interface: what is served, to whom, and how a refusal reads. docs/api.md is for those who call it."""
