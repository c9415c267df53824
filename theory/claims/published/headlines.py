"""What a reader takes home from the printed numbers."""

from __future__ import annotations

from theory.claims.headlines import Result

TAKE_HOME = (
    Result(
        "published.full-blocks-harmon",
        "Speedups that do not depend on acceptance",
        r"All 32 speedups that CSpD prints for Harmon are $\gamma / (\gamma c + 1)$ with one $c$ a batch size and "
        r"resolution, to 0.4 %: what blocks give that always commit $\gamma$ tokens. The acceptance rates beside them "
        "fall by 48 % (at 256) and 61 % (at 512) from the shortest drafts to the longest.",
    ),
)
