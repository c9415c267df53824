"""Distances in the plane: between the points, and between their angles."""

from cmath import phase


def recompute(examples):
    (entry,) = examples
    points = [complex(*vector) for vector in entry["codebook"]]

    def nearest(distance):
        others = [[(distance(a, b), y) for y, b in enumerate(points) if y != x] for x, a in enumerate(points)]
        return [min(row)[1] for row in others]

    raw = nearest(lambda a, b: abs(a - b))
    angles = nearest(lambda a, b: abs(phase(a / b)))
    assert raw[0] != angles[0]
    return [{"raw": raw, "normalised": angles}]
