"""A model as a process: with and without a key-value cache, behind temperature, top-k and guidance."""
