"""Presets: common questions about rows, put to `map`."""
