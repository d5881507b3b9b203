"""What operators do to findings: the same for the command line and for whatever else serves them."""
