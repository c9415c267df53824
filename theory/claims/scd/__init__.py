"""Speculative Coupled Decoding (SCD, also MC-SJD): So et al., arXiv 2510.24211, and what its published code does.

Only abstract and code could be read, so that nothing is quoted but the abstract.
"""

MODULES = ("coupling", "reference_code")
