"""Exact theory: acceptance, laws, distances, searches, claims."""
