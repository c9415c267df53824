"""Loaders of checkpoints: of this project, of LlamaGen, Chameleon and Emu3, and of language models of transformers."""
