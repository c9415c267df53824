"""Networks that make continuous tokens. Needs torch."""
