"""The blocks are followed by hand, as a recursion over what is committed; no general decoder is needed, since every
row of both models is a point mass, and so is every decision.
"""


def recompute(examples):
    (entry,) = examples
    labels, gamma, length = entry["labels"], entry["gamma"], entry["length"]
    p = [1, 0, 0]  # the target says 0 whatever the prefix

    def draft(prefix):
        return [0, 1, 0] if not prefix else [1, 0, 0] if prefix[0] == 0 else [0, 0, 1]

    def mass(row, x, grouped):
        return sum(m for m, g in zip(row, labels) if g == labels[x]) if grouped else row[x]

    def calls(grouped):
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
                if len(prefix) < length:
                    prefix.append(0)  # the bonus token
        return blocks

    assert calls(grouped=True) > calls(grouped=False)
    return [{"steps": calls(True), "steps_speculative": calls(False)}]
