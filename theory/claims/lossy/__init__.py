"""Lossy rules of later methods: Cactus, ensembles and lenience, truncation and cascades, fuzzy, MARS, Medusa."""

MODULES = ("cactus", "ensembles", "truncation", "mars", "medusa", "headlines")
