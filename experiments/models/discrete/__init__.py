"""Running models of continuous tokens: generate, compare, record, replay."""
