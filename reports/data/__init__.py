"""Reading saved results: files, sweeps, tables, documents, and their averages."""
