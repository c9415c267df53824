"""What was measured on trained models, as numbers; ``experiments`` measures it anew."""
