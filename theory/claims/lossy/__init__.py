"""Lossy rules of later methods: Cactus, ensembles and lenience, truncation and cascades, fuzzy, MARS."""

MODULES = ("cactus", "ensembles", "truncation", "mars", "headlines")
