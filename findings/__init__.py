"""What an issue is and how it lives. Knows nothing of metrics, models, schedules or networks."""
