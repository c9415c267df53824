"""A module a page: what it shows, put together from saved results."""
