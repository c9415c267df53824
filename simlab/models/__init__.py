"""Real models: architectures, checkpoints, adapters, and the processes that decoders see."""
