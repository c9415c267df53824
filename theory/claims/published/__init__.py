"""Numbers printed in the papers, checked against each other."""

MODULES = ("speedups", "repeated_rows", "sjd", "sentences", "cspd", "cspd_tables", "lengths", "headlines")
