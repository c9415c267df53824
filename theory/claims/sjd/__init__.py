"""SJD, speculative Jacobi decoding."""

MODULES = ("losslessness", "window", "jacobi", "initialisation", "reference_code", "headlines")
