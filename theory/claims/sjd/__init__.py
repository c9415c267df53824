"""SJD, speculative Jacobi decoding."""

MODULES = ("losslessness", "window", "refinement", "jacobi", "initialisation", "reference_code", "headlines")
