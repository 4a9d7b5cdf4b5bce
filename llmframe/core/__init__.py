"""Values and pure functions: no I/O, clock, dataframe or SDK."""
