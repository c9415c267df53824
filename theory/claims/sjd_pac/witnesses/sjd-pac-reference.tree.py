"""The nodes of a full tree are counted level by level, the root first."""


def recompute(examples):
    (entry,) = examples
    level, nodes = 1, 0
    for _ in range(entry["depth"]):
        nodes += level
        level *= entry["candidates"]
    assert nodes > entry["window"]
    return [{"nodes": nodes, "over": nodes - entry["window"]}]
