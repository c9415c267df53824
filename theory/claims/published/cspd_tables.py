"""Claims about CSpD's printed numbers between its tables: acceptance rates, likelihood ratios, times and scores."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from theory.acceptance import expected_tokens
from theory.claims.base import Claims, Finding
from theory.claims.published.comparisons import Comparison, judged, not_so, together
from theory.claims.published.repeated_rows import same, twice
from theory.claims.sources import derived, said
from theory.draft_length import Column, columns
from theory.published.ledger import Interval, Ledger, Row, published

CLAIMS = Claims("published")

GAMMAS = ("4", "8", "16", "32")
PREFILLS = ("0", "5", "15")  # percent
PAIR = {"paper": "cspd", "target": "MAR-H", "draft": "MAR-B"}


def _rate(ledger: Ledger, table: str, gamma: str, **params: str) -> Row:
    """An acceptance rate of MAR-B for MAR-H."""
    return ledger.one({"gamma": gamma, **params}, **PAIR, table=table, method="cspd", metric="alpha")


# Acceptance rates ----------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "published.cspd-alpha.ablations",
    derived("CSpD Tables 4 to 6"),
    "The acceptance rates of CSpD's Table 4 with alignment are those of Table 5 at 5 % pre-filling, and those of "
    r"Table 6 are the rates of Table 4 at $\gamma = 4$.",
)
def ablations(seed: int) -> Finding:
    r"""Four rates of aligned trajectories stand in Tables 4 and 5, and two rates at $\gamma = 4$ in Tables 4 and 6. All
    six are the same in both places: the ablations are of one setting.
    """
    ledger = published()
    row = _rate(ledger, "5", "8", prefill_percent="5")
    return judged(
        _ablations,
        ("rates printed twice", "are the same both times", "are not the same both times"),
        {"Table 5 with 0.33 for 0.31 at gamma = 8": ledger.altered({row.line: 0.33})},
    )


def _ablations(ledger: Ledger) -> list[Comparison]:
    found = [
        twice(
            f"MAR-B for MAR-H, gamma {gamma}, aligned",
            _rate(ledger, "4", gamma, align="yes"),
            _rate(ledger, "5", gamma, prefill_percent="5"),
        )
        for gamma in GAMMAS
    ]
    for align, method in (("no", "two_path_unaligned"), ("yes", "two_path_aligned")):
        ratio = ledger.one(**PAIR, table="6", method=method, metric="alpha")
        found.append(
            twice(f"MAR-B for MAR-H, gamma 4, {method.replace('_', ' ')}", _rate(ledger, "4", "4", align=align), ratio)
        )
    return found


@CLAIMS.claim(
    "published.cspd-alpha",
    derived(
        "CSpD Tables 1, 5",
        "No sentence says that these tables are of one setting; guidance, temperature and images of each are not "
        "given. The paper sets pre-filling apart in Table 5 and does not say how much of it Table 1 has; any share is "
        "allowed.",
    ),
    r"For $\gamma = 4, 8, 16, 32$ the acceptance rate of CSpD's Table 1 for MAR-B drafting for MAR-H is one of the "
    "three that its Table 5 prints, for 0, 5 and 15 % of pre-filled tokens, and where the two tables print one speedup "
    "they print one acceptance rate.",
)
def main_rates(seed: int) -> Finding:
    r"""Both tables are about MAR-B for MAR-H at $\gamma = 4$ to 32. Table 1 has 0.30, 0.27, 0.26, 0.19: less than every
    rate of Table 5 at the same $\gamma$, with or without pre-filling. The paper's Fig. 10 shows that $\alpha$ depends
    on the guidance scale and on the temperature, and neither table says which it used: other settings, or other images,
    would explain the difference.

    At every $\gamma$ one speedup of Table 5 is also in Table 1: that of 15 % pre-filling, which is Table 1's at batch
    8. If these are the same runs, Table 1 has an $\alpha$ of 0.19 to 0.30 where Table 5 has 0.33 or 0.34. Table 5 does
    not say which batch size it is for, and the two columns of a table may be from different runs: either would explain
    it, and so would chance.
    """
    ledger = published()
    fifth = {_rate(ledger, "1", g).line: float(_rate(ledger, "5", g, prefill_percent="5").value) for g in GAMMAS}
    equal = {row.line: float(other.value) for row, other, _, _ in _same_speed(ledger)}
    return together(
        judged(
            _main_rates,
            ("rates of Table 1", "are in Table 5", "are not in Table 5"),
            {"the rates of Table 5 at 5 % in Table 1": ledger.altered(fifth)},
        ),
        judged(
            _by_speed,
            ("pairs of rows with one speedup", "have one alpha", "do not have one alpha"),
            {"the rates of Table 5 at 15 % in Table 1": ledger.altered(equal)},
        ),
    )


def _main_rates(ledger: Ledger) -> Iterator[Comparison]:
    for gamma in GAMMAS:
        rate = _rate(ledger, "1", gamma)
        others = {share: _rate(ledger, "5", gamma, prefill_percent=share) for share in PREFILLS}
        yield Comparison(
            f"MAR-B for MAR-H, gamma {gamma}",
            {"Table 1": rate} | {f"Table 5, {share} %": row for share, row in others.items()},
            any(same(rate, row) for row in others.values()),
        )


def _same_speed(ledger: Ledger) -> list[tuple[Row, Row, Row, Row]]:
    """Rates of Tables 1 and 5 whose speedups, also given, are the same."""
    found = []
    for fast in ledger.select(**PAIR, table="1", metric="speedup"):
        for other in ledger.select({"gamma": fast.params["gamma"]}, **PAIR, table="5", metric="speedup"):
            if fast.value == other.value:
                gamma = fast.params["gamma"]
                rate = _rate(ledger, "5", gamma, prefill_percent=other.params["prefill_percent"])
                found.append((_rate(ledger, "1", gamma), rate, fast, other))
    return found


def _by_speed(ledger: Ledger) -> Iterator[Comparison]:
    for rate, other_rate, fast, other in _same_speed(ledger):
        gamma, batch, share = fast.params["gamma"], fast.params["batch"], other.params["prefill_percent"]
        yield Comparison(
            f"gamma {gamma}, Table 1 at batch {batch}, Table 5 at {share} %",
            {
                "speedup in Table 1": fast,
                "speedup in Table 5": other,
                "alpha in Table 1": rate,
                "alpha in Table 5": other_rate,
            },
            same(rate, other_rate),
        )


@CLAIMS.claim(
    "published.cspd-ratio",
    derived("CSpD Table 6, A.1.1", "The paper gives means over 10,000 samples, and does not say whether of the same."),
    r"No acceptance rate of CSpD's Table 6 exceeds the mean likelihood ratio beside it, up to rounding.",
)
def ratio(seed: int) -> Finding:
    r"""A draft is accepted with probability $\min(1, R)$, $R$ its likelihood ratio, and $\min(1, R) \le R$: over one
    set of drafts the mean acceptance is at most the mean ratio. The row without alignment has a mean ratio of 0.067 and
    an acceptance of 14 %. Means over different drafts would explain it: acceptance over those that were looked at,
    which end with the first rejection, and the ratio over all of a block.
    """
    ledger = published()
    row = ledger.one(**PAIR, table="6", method="two_path_unaligned", metric="alpha")
    return judged(
        _ratios,
        ("rates", "are at most the mean ratio", "exceed the mean ratio beyond rounding"),
        {"an acceptance of 6 % without alignment": ledger.altered({row.line: 0.06})},
    )


def _ratios(ledger: Ledger) -> Iterator[Comparison]:
    for mean in ledger.select(**PAIR, table="6", metric="mean_likelihood_ratio"):
        rate = ledger.one(**PAIR, table="6", method=mean.method, metric="alpha")
        name = mean.method.replace("_", " ")
        yield Comparison(name, {"mean ratio": mean, "acceptance": rate}, not rate.interval.exceeds(mean.interval))


@CLAIMS.claim(
    "published.cspd-near-zero",
    said(
        "CSpD 3.2; Table 4",
        "Under the acceptance criterion given by Equation 4, the acceptance rate α is extremely small (nearly 0%).",
        "formalised",
        "Of noise that is not shared, for which section 3.1 cites Table 4 (“an extremely low acceptance rate emerges, "
        "as shown in Table 4”). Nearly 0 % is read as at most 5 %, the rate that section 3.2 calls very low.",
    ),
    "No acceptance rate that CSpD's Tables 4 and 6 print for the two-path ratio without alignment exceeds 5 %, up to "
    "rounding.",
)
def near_zero(seed: int) -> Finding:
    r"""The rates are 7, 7, 13 and 14 % in Table 4, and 14 % in Table 6. What is nearly 0 is the rate of the ratio of
    one trajectory, eq. 2, for which Table 6 prints 0.0 %. With alignment Table 4 has the rates of Table 5 at 5 % of
    pre-filled tokens, so that the rates without it may be of pre-filling, too, which raises rates by section 3.2. By
    Table 5 those with alignment go from 31 to 32 % at gamma 4, from 33 to 31 at 8, from 32 to 33 at 16 and from 25 to
    30 at 32. If those without go as far, 14 and 13 % at gamma 4 and 8 are above 5 % before it as well, and the rates of
    7 % at 16 and 32 say nothing.

    Nor does the criterion need rates to be near 0: as drafts approach the target it accepts up to 0.510 of them with
    independent noise (cspd.alignment-helps).
    """
    ledger = published()
    lower = {row.line: 0.05 for row in _unaligned(ledger)}
    return judged(
        _near_zero,
        ("rates without alignment", "are at most 5 %", "exceed 5 % beyond rounding"),
        {"all of them 5 %": ledger.altered(lower)},
    )


def _unaligned(ledger: Ledger) -> list[Row]:
    """Acceptance rates of eq. 4 without alignment."""
    rows = ledger.select({"align": "no"}, **PAIR, table="4", metric="alpha")
    return [*rows, ledger.one(**PAIR, table="6", method="two_path_unaligned", metric="alpha")]


def _near_zero(ledger: Ledger) -> list[Comparison]:
    return [
        Comparison(
            f"Table {row.table}, gamma {row.params['gamma']}", {"alpha": row}, row.interval.low <= Fraction(1, 20)
        )
        for row in _unaligned(ledger)
    ]


@CLAIMS.claim(
    "published.cspd-longer-drafts",
    said(
        "CSpD 4.3, Fig. 8",
        "As the length of the draft increases, the acceptance rate tends to decline.",
        "formalised",
        "Tends to is read as in most columns, of the shortest and the longest drafts; Figure 8 prints no numbers. That "
        "longer drafts deviate more from the target's law, as 4.3 concludes, is judged in cspd.draft-length.bounds.",
    ),
    r"In most of the ten columns in which CSpD's Tables 1, 2, 4, 5 and 7 print acceptance rates by draft length, the "
    r"rate at $\gamma = 32$ is below that at $\gamma = 4$, beyond rounding.",
)
def longer_drafts(seed: int) -> Finding:
    r"""It is in nine; with 15 % of pre-filled tokens Table 5 prints 0.34 and 0.33. Two columns are of one setting,
    Table 4 with alignment and Table 5 at 5 %. Not so at every step: there the rate rises beyond rounding from $\gamma =
    8$ to 16, and without pre-filling from 4 to 8.
    """
    ledger = published()
    even = {row.line: float(column.rows[0].value) for column in _by_length(ledger) for row in column.rows[1:]}
    return judged(
        _longer_drafts,
        ("counts of columns that fall", "are of more than half", "are of half or less"),
        {"the rates of gamma = 4 at every gamma": ledger.altered(even)},
    )


def _by_length(ledger: Ledger) -> list[Column]:
    return columns(ledger, "1", "2", "4", "5", "7")


def _longer_drafts(ledger: Ledger) -> list[Comparison]:
    found = _by_length(ledger)
    fall = [column.rows[0].interval.exceeds(column.rows[-1].interval) for column in found]
    ends = {column.name: f"{column.rows[0].printed} to {column.rows[-1].printed}" for column in found}
    return [
        Comparison(
            "rates from gamma = 4 to 32",
            {**ends, "columns that fall": f"{sum(fall)} of {len(fall)}"},
            2 * sum(fall) > len(fall),
            beside=[row for column in found for row in (column.rows[0], column.rows[-1])],
        )
    ]


# Times and scores ----------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "published.cspd-speed",
    said(
        "CSpD abstract; 1; Tables 1, 2",
        "Extensive experiments demonstrate that our proposed continuous speculative decoding achieves over 2 × speedup "
        "on off-the-shelf models, while maintaining the generation quality.",
        "formalised",
        "The speedup alone; over 2 is read as reached in some setting, by each of the three models.",
    ),
    "For each of MAR, xAR and Harmon some speedup that CSpD's Tables 1 and 2 print is above 2, beyond rounding.",
)
def speed(seed: int) -> Finding:
    r"""The largest are 2.33, 2.72 and 2.54, at the longest drafts and the largest batches. Not in every setting: 19 of
    the 64 printed speedups are above 2, of those at batch size 1 none of 16, the largest 1.77. What speedups follow
    from the printed acceptance rates is another question (published.cspd-walltime).
    """
    ledger = published()
    (fastest, *_) = _fastest(ledger)
    slow = {row.line: 1.99 for row in ledger.select(paper="cspd", target=fastest.target, metric="speedup")}
    return judged(
        _speeds,
        ("models", "have a speedup above 2", "have no speedup above 2"),
        {f"no speedup of {fastest.target} above 1.99": ledger.altered(slow)},
    )


def _fastest(ledger: Ledger) -> list[Row]:
    """The largest speedup of each target in Tables 1 and 2."""
    rows = [row for table in ("1", "2") for row in ledger.select(paper="cspd", table=table, metric="speedup")]
    targets = dict.fromkeys(row.target for row in rows)
    return [max((row for row in rows if row.target == target), key=lambda row: row.value) for target in targets]


def _speeds(ledger: Ledger) -> list[Comparison]:
    return [Comparison(row.target, {"largest": row}, row.interval.low > 2) for row in _fastest(ledger)]


@CLAIMS.claim(
    "published.cspd-residual-time",
    derived("CSpD Tables 1, 8; eq. 51", "The paper uses the times to show that they are small, which they are."),
    r"The times of rejection sampling in CSpD's Table 8 change with $\gamma$ in proportion to "
    r"$(1 - \alpha^\gamma) / (1 + \alpha + \alpha^2 + ... + \alpha^\gamma)$ at the $\alpha$ of Table 1, the number of "
    "rejections per token where a block ends at the first of them, up to rounding.",
)
def residual_time(seed: int) -> Finding:
    r"""A block has $1 + \alpha + ... + \alpha^\gamma$ tokens in the mean (eq. 51) and resamples with probability $1 -
    \alpha^\gamma$: their quotient is the number of resamplings per token. With Table 1's $\alpha$ this rises a little
    with $\gamma$, since $\alpha$ falls. The printed times halve whenever $\gamma$ doubles: times $\gamma$ they are
    0.150 to 0.152 s in every row, as if there were one resampling for every $\gamma$ tokens (see
    published.full-blocks-harmon). The time of one resampling may depend on $\gamma$, but would have to fall to a ninth
    from $\gamma = 4$ to 32; or the times are means over tokens, not of an image.
    """
    ledger = published()
    base, *times = _times(ledger)
    follows = {row.line: Fraction(base.value) * _resamplings(ledger, row) / _resamplings(ledger, base) for row in times}
    return judged(
        _residual_times,
        ("times", "change as the number of blocks", "do not change as the number of blocks, beyond rounding"),
        {"times that follow from the first and eq. 51": ledger.altered(follows)},
    )


def _times(ledger: Ledger) -> list[Row]:
    return ledger.select(**PAIR, table="8", metric="residual_sampling_seconds")


def _resamplings(ledger: Ledger, row: Row) -> Fraction:
    """Resamplings a token, for the printed alpha."""
    gamma = row.params["gamma"]
    return _per_token(Fraction(_rate(ledger, "1", gamma).value), int(gamma))


def _per_token(alpha: Fraction, gamma: int) -> Fraction:
    return (1 - alpha**gamma) / Fraction(expected_tokens(alpha, gamma))


def _residual_times(ledger: Ledger) -> Iterator[Comparison]:
    base, *times = _times(ledger)
    for row in times:
        rates = [_rate(ledger, "1", r.params["gamma"]) for r in (base, row)]
        few, many = (_between(rate.interval, int(rate.params["gamma"])) for rate in rates)
        follows, printed = many / few, row.interval / base.interval
        gamma, first = row.params["gamma"], base.params["gamma"]
        yield Comparison(
            f"gamma {gamma} against {first}",
            {
                f"seconds at gamma {first}": base,
                "seconds": row,
                "seconds times gamma": f"{float(row.value) * int(gamma):.4f}",
                "ratio printed": printed,
                "ratio of blocks": follows,
            },
            follows.meets(printed),
            beside=rates,
        )


def _between(alpha: Interval, gamma: int) -> Interval:
    """Resamplings a token: they fall with alpha."""
    return Interval(_per_token(alpha.high, gamma), _per_token(alpha.low, gamma))


@CLAIMS.claim(
    "published.cspd-scores",
    said(
        "CSpD Table 3",
        "Our method achieves acceleration while maintaining performance within a reasonable interval.",
        "formalised",
        "A reasonable interval is read as two of the standard deviations that are printed with the scores. Scores of "
        "images do not decide which law the tokens have.",
    ),
    "Every FID and IS of CSpD's Table 3 is within two of the standard deviations printed with it of the target "
    "model's.",
)
def scores(seed: int) -> Finding:
    """All twelve are within two of the deviations printed
    with them; IS of MAR-L with guidance is furthest (303.7 with deviation 4.3, the target has 296.0: 1.8). If the
    deviation is that of one run of the ten the paper averages, their mean is known three times better than that; the
    target's own value has no deviation. What is emitted is not decided by this.
    """
    ledger = published()
    row = ledger.one({"cfg": "yes"}, paper="cspd", table="3", target="MAR-L", draft="MAR-B", metric="IS")
    return judged(
        _scores,
        ("scores", "are within two deviations", "are not within two deviations"),
        {"IS of MAR-L with guidance 306.7": ledger.altered({row.line: 306.7})},
    )


def _scores(ledger: Ledger) -> Iterator[Comparison]:
    for row in ledger.select(paper="cspd", table="3", method="cspd"):
        base = ledger.one(row.params, paper="cspd", table="3", method="ar", target=row.target, metric=row.metric)
        if row.std is None:
            raise ValueError(f"line {row.line} has no std; expected one")
        away = (row.value - base.value) / row.std
        name = f"{row.draft} for {row.target}, guidance {row.params['cfg']}, {row.metric}"
        yield Comparison(
            name, {"target": base, "printed": row, "deviation": row.std, "deviations": f"{away:.2f}"}, abs(away) <= 2
        )


@CLAIMS.claim(
    "published.cspd-masked",
    said(
        "CSpD G.5, Table 9",
        "[While masked] generation can achieve a higher acceleration ratio (up to 10× when the number of masks reaches "
        "[32]), it cannot maintain performance, as shown in Table 9.",
        "formalised",
        "A higher ratio is read as above those of CSpD, performance as FID, and maintained as for "
        "published.cspd-scores: within two of the deviations that are printed with CSpD's. Table 9 does not print its "
        "guidance; FID 1.56 is that with it.",
    ),
    "Wherever CSpD's Table 9 prints a speedup of masked generation above those that its Table 1 prints for MAR-H at "
    "the same batch size, the FID beside it exceeds that of MAR-H in Table 3 by more than two of the standard "
    "deviations printed there.",
)
def masked(seed: int) -> Finding:
    r"""Table 1 has speedups of 1.62 to 2.33 at batch size 256; masked generation has 3.49 and more from four masks on,
    with an FID of 2.37 and more for 1.55.

    Not so at every speedup, as "the cost of acceleration comes with a noticeable performance loss" can be read: with
    two masks Table 9 has 1.99 with an FID of 1.56, which is within 0.01 of MAR-H, and not above CSpD's own 1.60 and
    1.57. So at about the speedup of speculative decoding the tables show no loss of either.
    """
    ledger = published()
    lowest, second, *_ = _masked_scores(ledger)
    words = "numbers of masks", "have an FID that is higher", "have an FID that is not higher"
    every = judged(
        lambda table: _masked(table, faster=False),
        words,
        {"FID 1.70 with two masks": ledger.altered({lowest.line: 1.7})},
    )
    return judged(
        _masked,
        words,
        {"FID 1.60 with four masks": ledger.altered({second.line: 1.6})},
        not_so("at every speedup", every),
    )


def _masked_scores(ledger: Ledger) -> list[Row]:
    return ledger.select(paper="cspd", table="9", metric="FID")


def _masked(ledger: Ledger, faster: bool = True) -> Iterator[Comparison]:
    guided = {"cfg": "yes"}
    base = ledger.one(guided, paper="cspd", table="3", method="ar", target="MAR-H", metric="FID")
    own = ledger.select(guided, paper="cspd", table="3", method="cspd", target="MAR-H", metric="FID")
    apart = 2 * max(Fraction(row.std) for row in own if row.std is not None)
    for row in _masked_scores(ledger):
        speed = ledger.one(row.params, paper="cspd", table="9", metric="speedup")
        batch = {"batch": row.params["batch"]}
        speeds = ledger.select(batch, paper="cspd", table="1", target="MAR-H", metric="speedup")
        fastest = max(speeds, key=lambda each: each.value)
        if speed.interval.exceeds(fastest.interval) or not faster:
            yield Comparison(
                f"{row.params['masks']} masks",
                {"speedup": speed, "CSpD's at most": fastest, "FID": row, "MAR-H": base, "two deviations": float(apart)}
                | {f"CSpD with {each.draft}": each for each in own},
                row.interval.low > base.interval.high + apart,
            )
