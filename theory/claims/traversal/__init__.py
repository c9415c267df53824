"""Traversal verification of trees: Weng et al., arXiv 2505.12398."""

MODULES = ("traversal",)
