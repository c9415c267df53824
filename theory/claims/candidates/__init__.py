"""Several candidates for one position: SpecTr, arXiv 2310.15141; optimal drafting, 2502.18779; EAGLE-2, 2406.16858."""

MODULES = ("verifiers", "dynamic_trees")
