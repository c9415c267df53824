"""Notebooks that are read, and then changed: sliders, tables, and assertions that let a cell go on."""

from experiments.exploring.assertions import report_assertions
from experiments.exploring.sliders import explore
from experiments.exploring.tables import decided, row, typeset

__all__ = ["decided", "explore", "report_assertions", "row", "typeset"]
