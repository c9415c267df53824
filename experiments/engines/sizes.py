"""Sizes of the random decoders of one layer over bytes that engines are certified with."""

BYTES, SPECIAL = 256, ("<unk>", "<s>", "</s>")
WIDTH, HEADS, INNER, CONTEXT = 32, 2, 64, 256
SHARPNESS = 3.0  # deviation of the logits
NOISE = 0.2  # on the weights of a draft model, in deviations: drafts are kept often and rejected often
