"""Shapes that a callable is tried in beside the small hard cases: drawn from bands, and the user's own."""
