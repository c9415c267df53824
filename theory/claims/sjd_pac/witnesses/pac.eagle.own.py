"""Table 1 of SJD-PAC is typed from the paper; a speedup is above 2 if no rounding makes it 2."""

from _shared import TABLE, above


def recompute(examples):
    found = {}
    for configuration, rows in TABLE.items():
        if "eagle" in rows:
            eagle, sjd = (rows[method].split()[1] for method in ("eagle", "sjd"))
            assert above(eagle, "1.995"), "it may be 2"
            found[f"SJD-PAC Table 1: {configuration.split(', ')[0]}"] = {"eagle": eagle, "sjd": sjd}
    return [found]
