"""LANTERN, relaxed speculative decoding over neighbours in a codebook."""

MODULES = (
    "relaxation",
    "output",
    "jensen_shannon",
    "neighbours",
    "greedy",
    "reference_code",
    "large_vocabulary",
    "large_vocabulary_output",
    "headlines",
)
