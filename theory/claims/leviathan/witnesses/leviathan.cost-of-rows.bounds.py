"""Seconds a token, of plain decoding and of a step that commits C tokens a sequence, at each of three costs."""


def recompute(examples):
    (entry,) = examples
    tokens, rows, (fixed, per_row) = entry["tokens"], entry["rows"], entry["affine"]
    costs = {"constant": (1, 0), "affine": (fixed, per_row), "in proportion": (0, 1)}
    speedup = {}
    for name, (a, b) in costs.items():
        speedup[name] = {}
        for text in entry["speedup"][name]:
            batch = int(text)
            plain, step = (a + b * batch) / batch, (a + b * batch * rows) / (batch * tokens)
            speedup[name][text] = plain / step
            assert tokens / rows - 1e-12 <= speedup[name][text] <= tokens + 1e-12
    assert max(speedup["in proportion"].values()) < 1
    return [{"speedup": speedup}]
