"""Networks in torch: transformer, EAGLE head, VQ tokenizers, classifier."""
