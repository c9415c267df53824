"""The base rule: Leviathan et al., "Fast Inference from Transformers via Speculative Decoding", arXiv 2211.17192."""

MODULES = ("speculative_rule", "expected_tokens", "cost_of_rows", "headlines")
