"""Evidence and thresholds in, detections out. Pure: no clock, no network, no database."""
