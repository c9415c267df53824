"""Figures and pages, drawn from saved results alone."""
