"""Training of the models that are shipped: data, loop, and one module a model."""
