"""One use case a module: what the worker does with a record, and with a document."""
