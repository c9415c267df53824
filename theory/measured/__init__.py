"""What was measured on trained models, as numbers; ``experiments.measurements`` measures it anew."""
