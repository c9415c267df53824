"""Judging a user's rule against its contract, the lossless rule, and the built-in rules."""
