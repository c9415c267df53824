"""Hierarchical speculative decoding (HSD): Zhou et al., arXiv 2601.05724, and what its published code does."""

MODULES = ("hierarchical",)
