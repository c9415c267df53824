"""Measurements of ``simlab verify`` and ``simlab large``, as data frames for the report."""
