"""Typed from SJD's Table 7; scores differ by more if they do however they were rounded."""

TABLE = {
    "1": {"ar": "0.1976", "jacobi": "0.1413", "sjd": "0.1695"},
    "10": {"ar": "0.2950", "jacobi": "0.2960", "sjd": "0.2942"},
    "100": {"ar": "0.3020", "jacobi": "0.3089", "sjd": "0.2977"},
    "2000": {"ar": "0.2965", "jacobi": "0.3103", "sjd": "0.3020"},
}


def apart(scores):
    return max(map(float, scores)) - min(map(float, scores))


def recompute(examples):
    most = apart([score for k, scores in TABLE.items() if k != "1" for score in scores.values()])
    more, rest = {}, {}
    for k, scores in TABLE.items():
        found = apart(scores.values())
        said = more if found - 0.0001 > most + 0.0001 else rest
        said[f"K = {k}"] = scores | {"apart": f"{found:.4f}", "at most": f"{most:.4f}"}
    assert list(more) == ["K = 1"]
    return [more, rest]
