"""Shares typed from figs/make_figs.py: behind a rejection at most s / (1 - f) reject, where s of all calls commit one
token and f of all follow no rejection.
"""

SHARES = [0.49, 0.22, 0.11, 0.075, 0.045, 0.028, 0.018, 0.012, 0.009, 0.006, 0.004, 0.003, 0.0022, 0.0015, 0.001]


def recompute(examples):
    single, longest, first = SHARES[0], SHARES[-1], 5 / 1000
    most = single + 0.005
    assert most / (1 - longest - 0.0005 - first) < 2 / 3, "it may be highly likely"
    needed = 1 - most / (2 / 3)
    return [{"single": single, "scaled": single / sum(SHARES), "needed": needed, "longest": longest, "first": first}]
