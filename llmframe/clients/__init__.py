"""The only place that imports a provider's SDK."""
