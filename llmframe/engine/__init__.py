"""Time and concurrency: the only place that waits."""
