"""Speculative decoding of images, 2024 to 2026: methods beside the five papers, and what engines do."""

MODULES = ("engines", "jacobi", "relaxed", "diffusions")
