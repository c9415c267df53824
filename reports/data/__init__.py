"""Reading saved results: files, sweeps, tables, documents; averages of what was read. Nothing is computed anew."""
