"""Numbers printed in the papers, checked against each other."""

MODULES = ("speedups", "repeated_rows", "texts", "cspd", "cspd_tables", "lengths", "headlines")
