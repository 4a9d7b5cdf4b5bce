"""Try an installed wheel: a typed column on pandas and on polars from a simulated provider, files included."""
