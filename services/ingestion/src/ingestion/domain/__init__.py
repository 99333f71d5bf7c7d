"""What ingestion means by its words: rules without I/O and without a clock."""
