"""Real labels: noisy, sometimes wrong, many. Each module prints rows of one table."""
