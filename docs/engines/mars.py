"""MARS without its relaxation: the law of one token, exactly."""

from fractions import Fraction as F

P, Q = (F(1, 3), F(1, 3), F(1, 3)), (F(2, 3), F(1, 3), F(0))


def law(children):  # tried in turn
    out, row, left = [F(0)] * 3, list(P), F(1)
    for x in children:
        kept = min(F(1), row[x] / Q[x])
        out[x] += left * kept
        left *= 1 - kept
        row[x] = max(F(0), row[x] - Q[x])  # of the row nothing else is taken off
        row = [share / sum(row) for share in row]
        if not left:
            return out
    return [share + left * other for share, other in zip(out, row, strict=True)]


print("one child, the draft's likeliest:", *law([0]))
drawn = [F(0)] * 3  # one child, drawn of the draft
for x in (0, 1):
    drawn = [share + Q[x] * one for share, one in zip(drawn, law([x]), strict=True)]
print("one child, drawn of the draft:   ", *drawn)
print("should:                          ", *P)
