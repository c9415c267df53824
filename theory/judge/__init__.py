"""A rule somebody brings, held against its contract, the lossless rule, and the rules of the house."""
