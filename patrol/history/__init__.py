"""What metrics were: samples in compact blocks, averages, trends, and when something will be full."""
