"""SJD, speculative Jacobi decoding."""

MODULES = ("losslessness", "speed", "reference_code", "headlines")
