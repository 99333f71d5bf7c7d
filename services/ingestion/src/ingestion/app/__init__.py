"""The composition roots, one module a process: only here adapters and provider packages are named."""
