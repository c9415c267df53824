"""Goes through every draft and every token drawn from p: the token is emitted, and accepted if it is the draft."""


def recompute(examples):
    found = []
    for given in examples:
        p, q = given["p"], given["q"]
        law, accepted = [0.0] * len(p), [0.0] * len(p)
        for draft, drafted in enumerate(q):
            for token, drawn in enumerate(p):
                law[token] += drafted * drawn
                if token == draft:
                    accepted[token] += drafted * drawn
        rate = sum(accepted)
        apart = sum(abs(a - b) for a, b in zip(law, p)) / 2
        assert apart < 1e-12, "it is another law after all"
        found.append({"accepted": [mass / rate for mass in accepted], "law": law, "tv": apart})
    return found
