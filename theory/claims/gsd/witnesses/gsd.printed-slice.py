"""Where a slice begins and ends by the language's rule for negative bounds, as arithmetic; counted over all cases."""


def recompute(examples):
    (entry,) = examples

    def held(length, half, place):
        start, stop = place - half, place + half
        start = max(0, start + length) if start < 0 else start
        return start <= place < min(stop, length)

    cases = [(v, g, i) for v in range(2, 13) for g in range(1, 13) for i in range(v)]
    missing = [case for case in cases if not held(case[0], case[1] // 2, case[2])]
    assert (2, 3, 0) in missing
    p = entry["p"]  # p = q, so that the lossless rule accepts every draft; token 0 is always rejected
    places = range(len(p))
    accepted = sum(p[i] for i in places if held(len(p), entry["size"] // 2, i))
    return [
        {
            "missing": len(missing),
            "cases": len(cases),
            "acceptance": accepted,
            "acceptance_speculative": 1,
            "law": [(p[i] if i else 0) + (1 - accepted) * p[i] for i in places],  # p = q: a rejected draft gives p
        }
    ]
