"""Calls are counted as a Markov chain over the tokens committed, solved from the end.

A uniform draft scored as a point mass is accepted with the mean of p over tokens, 1/V.
"""


def recompute(examples):
    found = []
    for entry in examples:
        share, width, length = 1 / entry["vocabulary"], entry["drafts"], entry["tokens"]
        calls = [0.0] * (length + 1)  # mean calls for the tokens that are left
        for left in range(1, length + 1):
            calls[left] = 1.0
            for accepted in range(width + 1):
                chance = share**accepted * (1 if accepted == width else 1 - share)
                calls[left] += chance * calls[max(left - accepted - 1, 0)]
        assert calls[length] > length * (1 - share), "more than V/(V - 1) tokens a call"
        found.append({"calls": calls[length]})
    return found
