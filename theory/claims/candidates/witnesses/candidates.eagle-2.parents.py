"""The search of the published code for parents, on a tree of which a child is kept and its parent is not."""

import numpy as np


def recompute(examples):
    (entry,) = examples
    scores, parents, kept = entry["scores"], entry["parents"], entry["kept"]
    assert sorted(scores[k] for k in kept) == sorted(scores)[-len(kept) :]  # no two nodes score more
    wanted = np.array([parents[k] for k in kept])
    placed = np.searchsorted(np.array(kept), wanted)
    placed[wanted == -1] = -1
    assert any(parent >= 0 and kept[place] != parent for place, parent in zip(placed, wanted))
    return [{"placed": placed.tolist()}]
