"""Baselines: block verification, several candidates, optimal lossy rules, processed rows."""

MODULES = ("baselines",)
