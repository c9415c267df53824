"""Exact laws of continuous tokens: Gaussian closed forms, and quadrature on the line."""
