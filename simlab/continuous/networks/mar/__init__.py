"""MAR: a masked autoregressive transformer with a diffusion network for each token."""
