"""GSD, grouped speculative decoding."""

MODULES = ("motivation", "acceptance", "output", "naive_lossy", "reference_code", "large_vocabulary", "headlines")
