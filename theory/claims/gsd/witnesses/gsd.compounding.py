"""The laws of the three rules are worked out by hand. TV of n tokens from the likelihood ratio: token by token, the law
of how often each token has occurred is carried forward, and at the end the excess of one over the other is summed.
"""

import numpy as np

TOLERANCE = 1e-8


def recompute(examples):
    (entry,) = examples
    p, q = np.array(entry["p"]), np.array(entry["q"])
    # all three accept 11/12; the rejected 1/12 is shared by tokens 0 and 2, of which the target has equally more
    rejected = np.array([1, 0, 1]) / 24
    grouped = q * [8 / 9, 8 / 9, 1] + rejected
    raised = {"amplify": entry["k"] * p, "addition": p + entry["epsilon"]}
    naive = {name: np.minimum(q, mass) + rejected for name, mass in raised.items()}
    assert all(abs(law.sum() - 1) < 1e-12 for law in (grouped, *naive.values()))

    def spread(row, n):
        table = np.ones((1, 1))  # [counts of token 0, counts of token 1]
        for _ in range(n):
            longer = np.zeros((len(table) + 1, len(table) + 1))
            longer[1:, :-1] += row[0] * table
            longer[:-1, 1:] += row[1] * table
            longer[:-1, :-1] += row[2] * table
            table = longer
        return table

    def tv(law, n):
        return np.maximum(spread(law, n) - spread(p, n), 0).sum()

    divergence = (grouped * np.log(grouped / p)).sum()
    step = np.maximum(grouped - p, 0).sum()
    lengths = entry["lengths"]
    found = [tv(grouped, n) for n in lengths]
    assert all(x <= min(1 - (1 - step) ** n, (n * divergence / 2) ** 0.5) + 1e-12 for x, n in zip(found, lengths))
    return [
        {
            "tv_grouped": found,
            "tv_amplify": [tv(naive["amplify"], n) for n in lengths],
            "tv_addition": [tv(naive["addition"], n) for n in lengths],
            "divergence_grouped": divergence,
        }
    ]
