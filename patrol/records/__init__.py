"""What commands ask of the records: each question carries its options, and is answered here or by a daemon alike."""
