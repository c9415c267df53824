"""The numbers of Table 2 as printed: the mean accept probability by k and delta, and 0.0402 without relaxation."""

TABLE_2 = {
    "k = 100": [0.0725, 0.1096, 0.1703, 0.2595],
    "k = 300": [0.0759, 0.1166, 0.1892, 0.3267],
    "k = 1000": [0.0786, 0.1186, 0.2000, 0.3657],
}


def recompute(examples):
    deltas = (0.05, 0.1, 0.2, 0.4)
    found = {k: [(value - 0.0402) / delta for value, delta in zip(row, deltas)] for k, row in TABLE_2.items()}
    assert all(share < 1 for row in found.values() for share in row)
    return [found]
