"""Running models of discrete tokens: generate, compare, record, replay."""
