"""The blocks of a sequence of certain decisions, walked through by hand."""

from fractions import Fraction


def recompute(examples):
    (entry,) = examples
    accepts, rates = entry["pattern"] * 50, {}
    for gamma in map(int, entry["rates"]):
        at = verified = accepted = 0
        while at < 40 * len(entry["pattern"]):  # whole periods
            run = 0
            while run < gamma and accepts[at + run] == "1":
                run += 1
            accepted, verified, at = accepted + run, verified + min(run + 1, gamma), at + run + 1
        rates[str(gamma)] = Fraction(accepted, verified)
    assert rates["1"] < rates["2"]  # longer drafts, a higher rate
    return [{"rates": rates}]
