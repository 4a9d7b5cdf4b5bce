"""Columns from a language model, on pandas and polars."""

__version__ = "0.1.0"
