"""The window is followed draft by draft: which token stands there, and which row is declared for it."""

from _shared import run, target


def recompute(examples):
    (entry,) = examples
    law, _ = run(entry["stay"], "old row")
    right, _ = run(entry["stay"], "row of this call")
    wanted = target(entry["stay"])
    assert right == wanted
    apart = sum(abs(law[key] - mass) for key, mass in wanted.items()) / 2
    assert apart > 0
    return [{"law": law, "target": wanted, "tv": apart}]
