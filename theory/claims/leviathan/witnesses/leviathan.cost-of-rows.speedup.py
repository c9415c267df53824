"""Drafts are accepted independently with probability alpha, so the number of steps of a sequence follows from how many
tokens are left: with n left a step commits k + 1 of them with probability alpha^k (1 - alpha), and gamma + 1 with
alpha^gamma, or all n that are left. A batch that waits for its last sequence takes the largest of as many numbers.
"""


def law_of_steps(alpha, gamma, length):
    """The probabilities of 0, 1, ... steps."""
    left = [0.0] * length + [1.0]  # the probability of so many tokens left
    found = [0.0]
    while sum(left[1:]) > 0:
        after = [0.0] * (length + 1)
        for n in range(1, length + 1):
            for k in range(gamma + 1):
                chance = alpha**k * (1 - alpha if k < gamma else 1)
                after[max(0, n - k - 1)] += left[n] * chance
        found.append(after[0])
        after[0] = 0.0
        left = after
    return found


def recompute(examples):
    (entry,) = examples
    alpha, gamma, length = entry["alpha"], entry["gamma"], entry["length"]
    law = law_of_steps(alpha, gamma, length)
    steps = sum(k * chance for k, chance in enumerate(law))
    speedup, idle = {}, {}
    for text in entry["speedup"]:
        batch = int(text)
        plain = entry["fixed"] + entry["per_row"] * batch
        step = entry["fixed"] + entry["per_row"] * batch * (gamma + 1) + gamma * entry["draft_share"] * plain
        speedup[text] = length * plain / (steps * step)
        largest = sum(1 - sum(law[: k + 1]) ** batch for k in range(length))
        idle[text] = 1 - steps / largest
    return [{"tokens": length / steps, "speedup": speedup, "idle": idle}]
