"""Speculative decoding of images, 2024 to 2026: methods after the five papers, and what engines do."""

MODULES = ("engines", "jacobi", "relaxed", "diffusions")
