"""Figures by subject, each a pure function of a saved frame."""
