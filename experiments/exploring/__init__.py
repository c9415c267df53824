"""Notebooks that are read, and then changed: sliders, and assertions that let a cell go on."""

from experiments.exploring.assertions import report_assertions
from experiments.exploring.sliders import explore

__all__ = ["explore", "report_assertions"]
