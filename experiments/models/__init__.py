"""Real models: the rules and decoders of :mod:`simlab` on trained transformers, compared."""
