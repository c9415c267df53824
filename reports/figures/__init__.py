"""A module a subject: figures, each a pure function of a saved frame."""
