"""The least share by trial: of all whole numbers of accepted drafts and rejections, in a thousand calls, that commit as
many tokens a call as are printed, the one with the smallest share.
"""

TOLERANCE = 2e-3  # as tokens are whole numbers here


def recompute(examples):
    return [{"least": smallest(entry["tokens"] / entry["calls"])} for entry in examples]


def smallest(tokens_a_call, calls=1000):
    tokens = round(tokens_a_call * calls)
    shares = []
    for rejections in range(calls + 1):  # a call that has none may end with a token of the target's own
        for others in range(rejections, calls + 1):
            accepted = tokens - others
            shares.append(accepted / (accepted + rejections))
    assert min(shares) > 0.45
    return min(shares)
