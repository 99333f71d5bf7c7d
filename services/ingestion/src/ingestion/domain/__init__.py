"""The types and rules of ingestion, without I/O and without a clock."""
