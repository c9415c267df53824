"""The batch at which a step that commits C tokens takes as long as C calls of plain decoding, by bisection."""


def edge(tokens, rows, a, b, s):
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        pays = tokens * (a + (s + b) * middle) > a + (s + b * rows) * middle
        low, high = (middle, high) if pays else (low, middle)
    return low


def recompute(examples):
    (entry,) = examples
    a, b = entry["fixed"], entry["per_row"]
    methods = list(zip(entry["tokens"], entry["rows"]))
    return [
        {
            "batch": [edge(c, r, a, b, 0.0) for c, r in methods],
            "batch_with_sequences": [edge(c, r, a, b, entry["per_sequence"]) for c, r in methods],
        }
    ]
