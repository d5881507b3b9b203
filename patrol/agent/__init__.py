"""The language model at work in a run. Nothing is here before a run can use one."""
