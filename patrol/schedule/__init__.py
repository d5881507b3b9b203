"""When things happen by themselves: schedules, the jobs that follow them, and pauses."""
