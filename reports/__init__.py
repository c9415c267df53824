"""Figures and pages, drawn from saved results and from nothing else."""
