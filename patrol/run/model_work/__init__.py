"""What is stored of a model's work in a run: what it cost, what it reported, its verdicts, and what was escalated."""
