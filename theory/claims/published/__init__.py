"""Numbers printed in the papers, checked against each other."""

MODULES = ("speedups", "repeated_rows", "texts", "sjd", "sentences", "cspd", "cspd_tables", "lengths", "headlines")
