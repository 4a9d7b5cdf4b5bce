"""The only place that imports pandas, polars or pyarrow."""
