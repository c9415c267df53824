"""Verifiers and loops that are published as code and not as a package, taken from a checkout that the user has."""
