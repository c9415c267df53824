"""Places 0 to 7 of the list are the tokens; token 0 has the slice from -5, which counts from the end, to 5."""

from fractions import Fraction


def recompute(examples):
    (entry,) = examples
    p, q = ([Fraction(x) for x in entry["exact"][row]] for row in "pq")
    half, size = entry["size"] // 2, len(p)
    assert size < 2 * half
    assert p[0] == 0

    def ratio(place):
        window = [
            y for y in range(size)[place - half : place + half] if abs(p[y] - p[min(place, 1)]) <= Fraction(3, 20)
        ]
        drafted = sum(q[y] for y in window)
        return min(Fraction(1), sum(p[y] for y in window) / drafted) if drafted else Fraction(0)

    # equal probabilities share the first place of them, so token 3 is found at place 1
    accepted = [q[0] * ratio(0), q[3] * ratio(1)]
    rejected = 1 - sum(accepted)
    gaps = [max(Fraction(0), x - y) for x, y in zip(p, q)]
    law = [rejected * gap / sum(gaps) for gap in gaps]
    law[0] += accepted[0]
    law[3] += accepted[1]
    assert law[0] > 0
    return [{"acceptance": sum(accepted), "law": law, "tv": sum(abs(x - y) for x, y in zip(law, p)) / 2}]
