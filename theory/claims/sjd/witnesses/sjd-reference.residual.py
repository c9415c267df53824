"""Rows are filtered by sorting; the law of a tempered residual is summed over the drafts."""


def recompute(examples):
    tied, tempered = examples

    def filtered(row, k):
        least = sorted(row, reverse=True)[k - 1]
        left = [x if x >= least - 1e-12 else 0.0 for x in row]
        return [x / sum(left) for x in left]

    def rest(p, q):
        part = [max(a - b, 0.0) for a, b in zip(p, q)]
        return [x / sum(part) for x in part]

    k = tied["k"]
    residual = rest(filtered(tied["p"], k), filtered(tied["q"], k))
    again = filtered(residual, k)
    assert max(abs(a - b) for a, b in zip(residual, again)) > 0.05
    top_p, top_q = filtered(tied["p"], k), filtered(tied["q"], k)
    kept = [min(a, b) for a, b in zip(top_p, top_q)]
    tied_law = [a + (1 - sum(kept)) * b for a, b in zip(kept, again)]
    tied_apart = sum(abs(a - b) for a, b in zip(tied_law, top_p)) / 2

    p, q = tempered["p"], tempered["q"]
    squares = [x * x for x in rest(p, q)]
    law = [min(a, b) for a, b in zip(p, q)]
    left = 1 - sum(law)
    law = [x + left * y / sum(squares) for x, y in zip(law, squares)]
    apart = max(abs(a - b) for a, b in zip(law, p))  # of two tokens, so this is the TV
    return [{"residual": residual, "again": again, "law": tied_law, "tv": tied_apart}, {"law": law, "tv": apart}]
