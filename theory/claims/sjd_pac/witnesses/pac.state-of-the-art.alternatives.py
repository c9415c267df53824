"""Table 1 of SJD-PAC is typed from the paper; a number is ahead if no rounding makes the two equal."""

from _shared import COLUMNS, TABLE, above


def recompute(examples):
    found, mostly, together = {}, dict.fromkeys(COLUMNS, True), {}
    for k, column in enumerate(COLUMNS):
        won = []
        for method in ("gsd", "sjd2"):
            beside = [
                [rows[name].split()[k] for name in ("sjd-pac", method)] for rows in TABLE.values() if method in rows
            ]
            won += [above(own, other) for own, other in beside]
            ahead = sum(won[-len(beside) :])
            mostly[column] &= 2 * ahead > len(beside)
            pairs = ", ".join(f"{own} and {other}" for own, other in beside)
            found[f"{column}, {method}"] = f"ahead in {ahead} of {len(beside)}: {pairs}"
        together[column] = 2 * sum(won) > len(won)
    assert all(together.values())
    assert not any(mostly.values()), "ahead of each, mostly, in one column"
    return [{"SJD-PAC Table 1": found}] * 2
