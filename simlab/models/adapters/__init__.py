"""Loaders that make this project's models, LlamaGen and Hugging Face models processes."""
