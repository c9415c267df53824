"""SJD, speculative Jacobi decoding."""

MODULES = ("losslessness", "refinement", "jacobi", "initialisation", "reference_code", "headlines")
