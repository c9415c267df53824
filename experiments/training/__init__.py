"""Training of the shipped models: data, loop, and one module for each model."""
