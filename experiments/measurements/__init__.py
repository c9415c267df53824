"""Measurements of ``simlab verify`` and ``simlab run large``, as data frames for the report."""
