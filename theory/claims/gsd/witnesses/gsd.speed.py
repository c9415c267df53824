"""The blocks are followed by hand, as a recursion over what is committed; no general decoder is needed, since every row
of both models is a point mass, and so is every decision. Once as the paper prints its algorithm, and once with a bonus
token of the target after a block that is accepted whole. The tokens of the single block are 1 and, for each draft, the
probability that it and those before it are accepted: a sum over all pairs of drafts.
"""


def recompute(examples):
    entry, block = examples
    labels, gamma, length = entry["labels"], entry["gamma"], entry["length"]
    p = [1, 0, 0]  # the target says 0 whatever the prefix

    def draft(prefix):
        return [0, 1, 0] if not prefix else [1, 0, 0] if prefix[0] == 0 else [0, 0, 1]

    def mass(row, x, grouped):
        return sum(m for m, g in zip(row, labels) if g == labels[x]) if grouped else row[x]

    def calls(grouped, bonus):
        prefix, blocks = [], 0
        while len(prefix) < length:
            blocks += 1
            for _ in range(gamma):
                if len(prefix) == length:
                    break
                q = draft(prefix)
                x = q.index(1)
                if mass(p, x, grouped) < mass(q, x, grouped):  # ratio 0: rejected, and the target's 0 replaces it
                    prefix.append(0)
                    break
                prefix.append(x)
            else:
                if bonus and len(prefix) < length:
                    prefix.append(0)
        return blocks

    assert all(calls(True, bonus) > calls(False, bonus) for bonus in (False, True))

    def tokens(grouped):
        found = 1.0
        for x, first in enumerate(block["q"][""]):
            if first > 0:
                reached = first * min(1, mass(block["p"][""], x, grouped) / mass(block["q"][""], x, grouped))
                after_p, after_q = block["p"][str(x)], block["q"][str(x)]
                second = [
                    m * min(1, mass(after_p, y, grouped) / mass(after_q, y, grouped))
                    for y, m in enumerate(after_q)
                    if m
                ]
                found += reached * (1 + sum(second))
        return found

    assert tokens(True) < tokens(False)
    return [
        {
            "steps": calls(True, False),
            "steps_speculative": calls(False, False),
            "steps_with_bonus": calls(True, True),
            "steps_speculative_with_bonus": calls(False, True),
        },
        {"tokens": tokens(True), "tokens_speculative": tokens(False)},
    ]
