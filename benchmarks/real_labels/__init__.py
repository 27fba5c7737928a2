"""Labels as they are: noisy, sometimes wrong, many. Each module prints rows of one table."""
