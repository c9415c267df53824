"""1.04 is typed from SJD, Tables 1 and 2. Calls are counted for a long sequence, each token compared at most once."""


def recompute(examples):
    printed, tokens = 1.04, 10**7

    def matches(tokens_a_call, sure=0):
        """The share of comparisons that match, at least, leaving out ``sure`` tokens that always do."""
        calls = tokens / tokens_a_call  # each ends at one draw that differs
        return (tokens - calls - sure) / (tokens - sure)

    least, ends = matches(printed - 0.005), matches(printed - 0.005, sure=tokens / 49)
    assert least > ends > 0.01
    found = {"tokens_a_call": printed, "matches": matches(printed), "least": least, "least_without_ends": ends}
    return [found]
