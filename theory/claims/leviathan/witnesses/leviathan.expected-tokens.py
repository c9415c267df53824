"""The mean is summed over how many drafts are accepted before the first is rejected, not over tails; a block whose
acceptance depends on its first token is followed by hand, its drafts listed with what becomes of each.
"""


def independent(examples):
    (entry,) = examples
    alpha, gamma, c = entry["alpha"], entry["gamma"], entry["c"]
    tokens = sum((k + 1) * alpha**k * (1 - alpha) for k in range(gamma)) + (gamma + 1) * alpha**gamma
    return [{"tokens": tokens, "speedup": tokens / (gamma * c + 1)}]


def dependent(examples):
    (entry,) = examples
    gamma, p, q = entry["gamma"], entry["p"], entry["q"]
    tokens = accepted = verified = by_position = 0.0
    for first in (0, 1):  # both models draw the first token alike, so it is accepted
        chance = q[""][first]
        assert p[""] == q[""]
        later = sum(min(a, b) for a, b in zip(p[str(first)], q[str(first)]))  # all drafts after it, or none
        assert later in (0, 1)
        drafts = gamma if later else 1
        tokens += chance * (drafts + 1)
        accepted += chance * drafts
        verified += chance * (drafts if later else 2)
        by_position += chance * (1 + (gamma - 1) * later) / gamma

    def formula(alpha):
        return (1 - alpha ** (gamma + 1)) / (1 - alpha)

    rate = accepted / verified
    assert abs(formula(by_position) - tokens) > 0.01
    assert abs(formula(rate) - tokens) > 0.01
    return [
        {
            "tokens": tokens,
            "alpha": by_position,
            "formula": formula(by_position),
            "alpha_verified": rate,
            "formula_verified": formula(rate),
        }
    ]


def recompute(examples):
    return [*independent(examples[:1]), *dependent(examples[1:])]
