"""Measurements of `simlab verify` and `simlab large`: data frames that the report is drawn from."""
