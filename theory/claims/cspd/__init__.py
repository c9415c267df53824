"""CSpD, continuous speculative decoding for diffusion heads."""

MODULES = (
    "output",
    "noiseless",
    "many_dimensions",
    "path_rule",
    "residual",
    "termination",
    "alignment",
    "paths",
    "ratios",
    "bias",
    "log_ratio",
    "samplers",
    "sequences",
    "prefill",
    "prefill_cost",
    "draft_length",
    "mixtures",
    "settings",
    "tables",
    "headlines",
)
