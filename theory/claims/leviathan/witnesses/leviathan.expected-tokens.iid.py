"""The mean is summed over how many drafts are accepted before the first is rejected, not over tails."""


def recompute(examples):
    (entry,) = examples
    alpha, gamma, c = entry["alpha"], entry["gamma"], entry["c"]
    tokens = sum((k + 1) * alpha**k * (1 - alpha) for k in range(gamma)) + (gamma + 1) * alpha**gamma
    return [{"tokens": tokens, "speedup": tokens / (gamma * c + 1)}]
