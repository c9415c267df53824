"""GSD, grouped speculative decoding."""

MODULES = ("acceptance", "output", "naive_lossy", "reference_code", "large_vocabulary", "headlines")
