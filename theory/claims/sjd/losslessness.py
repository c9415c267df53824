"""Claims of speculative Jacobi decoding (SJD), and of its reference code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from simlab import mutants
from simlab.decoders import Decoder, Jacobi, Sjd, SjdUnrefined, make_decoder
from simlab.decoders.initial import INITIALS
from simlab.mutants.decoders import TriesAgain
from simlab.processes import Process, TableProcess
from simlab.randomness.enumerator import Path
from simlab.rules import Rule, Speculative
from theory.claims.base import Claims, Evidence, Finding
from theory.claims.evidence import enumeration, example, holds_if, rejects_mutants, require_found
from theory.claims.format import fmt, numbers
from theory.claims.proven import proven
from theory.claims.sources import derived, said
from theory.distances import tv
from theory.exact import laws as exact
from theory.exact import mean, merged_unfinished, sequence_law, target_law, transitions
from theory.example_processes import greedy_process, random_process
from theory.search import Pmf, pairs, smallest_violation

CLAIMS = Claims("sjd")
LOSSLESS = Speculative()
Weights = defaultdict[Any, Fraction]


def random_tables(seed: int, small: bool = False) -> list[TableProcess]:
    """Random context-dependent tables, with and without zeros, in one row and on a grid."""
    shapes: list[tuple[int, int, tuple[int, int] | None]] = [(2, 4, None), (2, 4, (2, 2)), (3, 3, None)]
    if not small:
        shapes += [(2, 6, (2, 3)), (2, 5, None)]
    return [
        random_process(seed + k, v, n, shape, zeros) for k, (v, n, shape) in enumerate(shapes) for zeros in (0.0, 0.35)
    ]


def deviation(decoder: Decoder, process: TableProcess, rule: Rule = LOSSLESS) -> Fraction:
    """TV between the law of finished sequences and the target's."""
    return Fraction(exact.deviation(decoder, process, rule))


def sequences(tried: Sequence[tuple[Decoder, TableProcess]], where: str) -> tuple[Fraction, Evidence]:
    """The largest TV between the law of finished sequences and the target's over pairs, and what was enumerated."""
    worst = max(deviation(*case) for case in tried)
    return worst, enumeration(
        f"{where}: the joint law of finished sequences equals the target's in rationals for {len(tried)} pairs of "
        f"decoder and process; largest TV {fmt(worst)}"
    )


def mean_steps(decoder: Decoder, process: Process, rule: Rule = LOSSLESS) -> Fraction:
    """Exact mean number of calls of the target."""
    return Fraction(mean(sequence_law(decoder, process, rule)[1]))


# Theorem 1 -----------------------------------------------------------------------------------------------------

THEOREM_1 = (
    "The token sampled in each speculative Jacobi iteration satisfies p_θ(x|x_{1:i-1}^{(j)}), where x denotes a token, "
    "j denotes the index of iteration, i denotes the token index, and θ denotes the auto-regressive model parameters."
)
CONDITIONS = (
    "What is declared for new drafts the paper does not say (sjd.initialisation); that draws are independent is its "
    "equation 6 (sjd.independence)."
)

CLAIMS.summary(
    "sjd.theorem-1",
    said(
        "A, Theorem 1",
        THEOREM_1,
        "formalised",
        f"The part on finished sequences is what SJD-PAC says of SJD. {CONDITIONS}",
    ),
    r"For every target, window and number of calls, SJD that draws all tokens and coins independently, and whose new "
    r"drafts follow their declared $q$, samples each token from the target given the tokens to its left in that call, "
    r"and gives finished sequences of the autoregressive law.",
    ["sjd.theorem-1.token", "sjd.theorem-1.sequence"],
)


@CLAIMS.claim(
    "sjd.theorem-1.sequence",
    said(
        "SJD-PAC, 1",
        "It is both training-free and lossless, rigorously preserving the target model's output distribution.",
        "formalised",
        "It is SJD. The output distribution is read as the joint law of a finished sequence, for sampling without "
        f"rounding. {CONDITIONS}",
    ),
    r"For every target, window and initialisation whose drafts follow their declared $q$, sequences decoded with SJD "
    r"that draws all tokens and coins independently have the autoregressive law.",
)
def theorem_1_sequence(seed: int) -> Finding:
    r"""Look at position $i$ of a window, and let $J$ be the tokens to its left. The draft $x_i$ was drawn in an earlier
    call, with its own randomness, from a row that was known then and is declared as its $q$; those of $J$ that came
    later were drawn without looking at it. So given $J$ and that row, $x_i$ follows $q$. (A copied draft is a function
    of $J$, and $q$ is the point mass on its value.) This call computes $p = p(\cdot | J)$. Whether the scan reaches $i$
    depends on $J$ and the coins before $i$, not on $x_i$; if it does, $J$ is final, $x_i$ is accepted or replaced by
    the lossless rule for $(p, q)$, and as for one block (leviathan.lossless) the result follows $p(\cdot | J)$, the
    target given a final prefix. The bonus token follows its row by construction. By induction over positions the
    finished sequence has the autoregressive law.
    """
    tried = [
        (Sjd(w, initial, bonus), process)  # type: ignore[arg-type]
        for process in random_tables(seed)
        for w, initial, bonus in ((1, "random", True), (2, "sample-above", False), (4, "random", True))
    ]
    worst, enumerated = sequences(
        tried,
        "beyond the proof, V = 2 with length 4 to 6, V = 3 with length 3, 1, 2, 4 drafts, of which two start from the "
        "row above",
    )
    return holds_if(proven("sjd.theorem-1.sequence") and worst == 0, enumerated)


@CLAIMS.claim(
    "sjd.theorem-1.token",
    said("A, Theorem 1", THEOREM_1, "formalised", CONDITIONS),
    r"For every target, window and call, each token that SJD samples follows the target given the tokens that stand to "
    r"its left among the inputs of that call, if it draws all tokens and coins independently and new drafts follow "
    r"their declared $q$.",
)
def theorem_1_token(seed: int) -> Finding:
    r"""A token that is accepted, or that replaces the first rejected draft, has final tokens to its left, which stand
    there in this call: this is the argument of sjd.theorem-1.sequence. A token behind the first rejection is drawn
    from the row that this call computes, which is $p$ given the drafts to its left among the inputs. That row is
    declared as its $q$; and it follows $q$ given also the new tokens to its left, because they are drawn independently
    of it.
    """
    small = random_tables(seed, small=True)
    tried = [(make_decoder("sjd", window=2, initial=initial), process) for process in small for initial in INITIALS]
    worst = max(honesty_gap(decoder, process) for decoder, process in tried)
    recalled = max(recall_gap(Sjd(w), process) for process in small for w in (2, 3))
    wrong = {
        "tail reused, q relabelled": mutants.TailRelabelled(3),
        "tail drawn again, q stale": mutants.TailStale(3),
        "neighbour scored with uniform q": mutants.NeighbourScoredUniform(3, "repeat-left"),
    }
    return holds_if(
        worst == recalled == 0,
        enumeration(
            f"at the start and after every step, in every state, each draft follows its declared q given all "
            f"tokens to its left: in rationals for {len(tried)} pairs of process and decoder, all five "
            f"initialisations (largest difference {fmt(worst)})",
        ),
        enumeration(
            f"the q declared for a token behind the first rejection is the target's row given the tokens "
            f"that stood to its left in that call (largest TV {fmt(recalled)}); for accepted and replaced tokens see "
            f"sjd.theorem-1.sequence",
        ),
        rejects_mutants(
            {"tail uniform, and declared so": mutants.FlatTail(3)},
            lambda d: max(recall_gap(d, process) for process in small),
            "the rows of the tail",
        ),
        rejects_mutants(
            wrong,
            lambda d: max(honesty_gap(d, process) for process in small),
            "the law of the drafts",
        ),
    )


def recall_gap(decoder: Sjd, process: TableProcess) -> Fraction:
    """How far the q declared for the tokens behind a rejection is from the target's rows in that call, over all steps.

    Those rows are p given the tokens that stood to the left when the call was made.
    """
    worst = Fraction(0)
    start, *steps = transitions(decoder, process, LOSSLESS)
    states = merged_unfinished(start, process)
    for outcomes in steps:
        for after, paths in outcomes:
            for length, rows, path in zip(after.length.tolist(), after.q, paths, strict=True):
                tokens, first = states.tokens[path.row].tolist(), int(states.length[path.row])
                for place in range(length, min(first + decoder.window, process.length)):
                    worst = max(worst, tv(rows[place - length], process.row(tuple(tokens[:place]))))
        states = merged_unfinished(outcomes, process)
    return worst


def before_step(path: Path, rows: Sequence[Any]) -> Any:
    """Known of a draft, for :func:`honesty_gap`: the whole state before the step."""
    return path.row


def declared_left(path: Path, rows: Sequence[Any]) -> Any:
    """Known of a draft, over all histories: the rows that are declared for the tokens to its left, and for it.

    Given the whole state before the step, one that was verified behind a rejection, and kept, would be known itself.
    """
    return tuple(map(tuple, rows))


def honesty_gap(
    decoder: Decoder,
    process: TableProcess,
    rule: Rule = LOSSLESS,
    known: Callable[[Path, Sequence[Any]], Any] = before_step,
) -> Fraction:
    """Largest difference between a declared q and the law of its draft given the tokens to its left, and what is known.

    At the start and over all steps; a position counts while it is inside the sequence. ``known`` says what, of a path
    and the rows declared up to the draft.
    """
    worst = Fraction(0)
    for outcomes in transitions(decoder, process, rule):
        drafts: dict[Any, list[Fraction]] = {}
        for states, paths in outcomes:
            for tokens, length, rows, path in zip(
                states.tokens.tolist(), states.length.tolist(), states.q, paths, strict=True
            ):
                for j, row in enumerate(rows[: process.length - length]):
                    place = length + j
                    key = known(path, rows[: j + 1]), length, tuple(tokens[:place]), tuple(row)
                    drafts.setdefault(key, [Fraction(0)] * process.vocabulary)[tokens[place]] += path.weight
        for (*_, row), masses in drafts.items():
            total = sum(masses)
            worst = max(worst, *(abs(m / total - q) for m, q in zip(masses, row, strict=True)))
    return worst


INDEPENDENT = "independent uniforms: all tokens and coins of a call are drawn with uniforms independent of each other"


@CLAIMS.claim(
    "sjd.independence",
    said(
        "A, eq. 6",
        "we make an assumption that J_j and x are conditionally independent given J_{j-1}",
        "formalised",
        "The paper argues that the assumption is reasonable; this says when it is true of the algorithm as run. Its x "
        "is a token sampled in the iteration before, with p(x | J_{j-1}): a new draft that was copied, or drawn from "
        "a neighbour's row, is none.",
    ),
    r"For every target and window, $p(J_j | x, J_{j-1}) = p(J_j | J_{j-1})$: given the inputs $J_{j-1}$ of a call, a "
    r"draft $x$ that it draws from its row at the place of $x$, or from the uniform row, is independent of the tokens "
    r"$J_j$ that stand to its left in the next call.",
    assumptions=[INDEPENDENT],
)
def independence(seed: int) -> Finding:
    r"""The row that $x$ is drawn from, the call's own at that place or the uniform one, is a function of $J_{j-1}$: all
    inputs of the call, for those to the left of $x$ do not tell whether $x$ is new. By independent uniforms the uniform
    that $x$ is drawn with is independent of all others, of this call and of earlier ones. All else that $J_j$ depends
    on is determined by these others: the tokens to the left of $x$, the coins that decide what is committed, and the
    token that replaces a rejected draft, whose row $[p - q]^+$ has the $q$ of a call before. So given $J_{j-1}$, $x$ is
    independent of $J_j$, which is the equation. One uniform for all draws of a call breaks it, and with it the output
    law.

    Of new drafts that are not uniform it can be false. A copied draft is not independent of the token that it copies.
    One that is drawn from a neighbour's row (horizontal or vertical sample) is drawn from the nearest row that is
    known: which one that is may depend on whether the window was accepted whole and a bonus token followed, and so on
    $J_j$; without bonus tokens it does not. Either follows its declared q given the tokens to its left, a point mass or
    that row, which is all that sjd.theorem-1 needs: sequences follow the target all the same.
    """
    small = random_tables(seed, small=True)
    tried = [(Sjd(w, bonus=bonus), process) for process in small for w in (2, 3) for bonus in (True, False)]
    worst = max(dependence(decoder, process) for decoder, process in tried)
    broken = mutants.WithRandomness(Sjd(2), mutants.OneUniform)
    wrong = {
        "one uniform for all draws of a call": broken,
        "a copy of the token to the left": Sjd(2, "repeat-left"),
        "a draft from the row to the left, with a bonus token": Sjd(2, "sample-left"),
    }
    first, then = require_found(
        smallest_violation(pairs, lambda e: deviation(broken, two_tokens(*e)) > 0, seed, levels=((2, 1), (2, 4))),
        "one uniform for all draws of a call does not change the law",
    )
    return holds_if(
        proven("sjd.independence") and worst == 0,
        enumeration(
            f"beyond the proof, V = 2 with length 4, V = 3 with length 3, 2 and 3 drafts: over all calls, inputs and "
            f"drafts of {len(tried)} pairs of decoder and process, P(x, J_j) is P(x) P(J_j) given the inputs "
            f"(largest difference {fmt(worst)})"
        ),
        rejects_mutants(wrong, lambda d: max(dependence(d, process) for process in small), "the equation"),
        example(
            f"two tokens, two drafts, all draws of a call from one uniform: the law of the sequence is off by TV "
            f"{fmt(deviation(broken, two_tokens(first, then)))}",
            on_two_tokens(broken, first, then, window=2),
        ),
    )


def dependence(decoder: Decoder, process: TableProcess) -> Fraction:
    """The largest |P(x, J_j) - P(x) P(J_j)| over all calls and the drafts x that they leave.

    Given J_{j-1}, the inputs of the call; J_j are the tokens to the left of x in the next one.
    """
    worst = Fraction(0)
    start, *steps = transitions(decoder, process, LOSSLESS)
    states = merged_unfinished(start, process)
    for outcomes in steps:
        laws: defaultdict[Any, Weights] = defaultdict(lambda: Weights(Fraction))
        for after, paths in outcomes:
            for tokens, length, path in zip(after.tokens.tolist(), after.length.tolist(), paths, strict=True):
                inputs = states.tokens[path.row, : states.length[path.row] + states.q.shape[1]].tolist()
                for place in range(length, min(length + states.q.shape[1], process.length)):
                    laws[place, tuple(inputs)][tokens[place], tuple(tokens[:place])] += Fraction(path.weight)
        for law in laws.values():
            whole, of_x, of_left = sum(law.values()), Weights(Fraction), Weights(Fraction)
            for (x, left), weight in law.items():
                of_x[x] += weight / whole
                of_left[left] += weight / whole
            both = product(of_x, of_left)
            worst = max(worst, *(abs(law[x, left] / whole - of_x[x] * of_left[left]) for x, left in both))
        states = merged_unfinished(outcomes, process)
    return worst


def two_tokens(first: Pmf, then: Pmf) -> TableProcess:
    """Two tokens; the second follows ``then`` after a 0 and its mirror image after a 1."""
    return TableProcess(2, 2, lambda prefix: first if not prefix else then if prefix[0] == 0 else then[::-1])


def on_two_tokens(decoder: Decoder, first: Pmf, then: Pmf, window: int) -> dict[str, Any]:
    """The numbers of an example: the rows of :func:`two_tokens`, and the law that a decoder has there."""
    process = two_tokens(first, then)
    law, target = sequence_law(decoder, process, LOSSLESS)[0], target_law(process)
    rows = {"": first, "0": then, "1": then[::-1]}
    return numbers(p=rows, window=window, law=law, target=target, tv=deviation(decoder, process))


# Steps ---------------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "sjd.worst-case",
    said(
        "3.2",
        "Note that the number of forward passes in the worst case of Jacobi decoding is equal to that in the original "
        "auto-regressive case.",
        "formalised",
        "It is said of Jacobi decoding, and holds of SJD as well.",
    ),
    r"For every target with sequences of $N$ tokens and every window, SJD and Jacobi decoding take at most $N$ calls, "
    r"and for some target $N$ of them with positive probability.",
)
def worst_case(seed: int) -> Finding:
    r"""A call commits its accepted drafts and the token that replaces the first rejected one. If none is rejected it
    commits the whole window, which holds at least one position. So every call commits at least one token. Where the
    first draft of every call is rejected, it commits one, and $N$ calls are needed.
    """
    small = random_tables(seed, small=True)
    tried = [
        (decoder, process)
        for process in small
        for decoder in (Sjd(1), Sjd(3, bonus=False), Sjd(3, "sample-above"), Jacobi(3))
    ]

    def longest(decoder: Decoder, process: TableProcess) -> int:
        try:
            return max(sequence_law(decoder, process, LOSSLESS)[1])
        except ArithmeticError:  # it may go on for ever
            return 2 * process.length

    def excess(decoders: Iterable[tuple[Decoder, TableProcess]]) -> int:
        """By how many calls the longest decoding misses the length of the sequence."""
        found = [longest(decoder, process) - process.length for decoder, process in decoders]
        return abs(max(found))

    again = [(TriesAgain(2), process) for process in small]
    return holds_if(
        excess(tried) == 0,
        enumeration(
            f"exact distributions of calls for {len(tried)} pairs of process and decoder: the longest decoding takes "
            "as many calls as tokens",
        ),
        rejects_mutants(
            {"a decoder that tries again when its first draft is rejected": again}, excess, "the number of calls"
        ),
    )


@CLAIMS.claim(
    "sjd.greedy",
    derived("after 3.2 and 5.4", 'SJD, 5.4: "the Jacobi decoding can only accelerate the greedy sampling".'),
    r"For every target whose rows are point masses (top-1 sampling) and every window, SJD and Jacobi decoding both "
    r"give the argmax sequence, and without a bonus token they take the same number of calls with the same "
    r"probabilities.",
)
def greedy(seed: int) -> Finding:
    r"""A draft $x$ is accepted if it is the target's token, since then $p(x) = 1 \ge q(x)$, and otherwise rejected,
    since then $p(x) = 0$. A rejected draft is replaced from $[p - q]^+ = p$, by the target's token. So each call
    commits the leading drafts that agree with the target and the target's token after them, which is Jacobi decoding's
    criterion; the other tokens are drawn from the same rows in both. Both end in the argmax sequence.

    So a prompt has one image at top-1, and one score. SJD's Table 7 prints three HPSv2 there, 0.1976, 0.1413 and 0.1695
    for autoregression, Jacobi decoding and SJD (published.sjd-preference): its top-1 rows are no point masses, as the
    published code's are not where logits tie, or one prefix has other rows in another call, or the runs differ.
    """
    # up to a relabelling of tokens the first one is 0
    cases = [(greedy_process(choices, v, n), n - 1) for v, n in ((2, 3), (3, 2)) for choices in _choices(v, n)]

    def apart(make: Callable[[int], Decoder], processes: Iterable[tuple[TableProcess, int]]) -> int:
        """In how many cases a decoder differs from Jacobi decoding or from the target."""
        pairs = [(sequence_law(make(w), process, LOSSLESS), process, w) for process, w in processes]
        return sum(
            found != sequence_law(Jacobi(w), process, LOSSLESS) or found[0] != target_law(process)
            for found, process, w in pairs
        )

    different = apart(lambda w: Sjd(w, bonus=False), cases)
    return holds_if(
        different == 0,
        enumeration(
            f"every top-1 process with V = 2, length 3 and two drafts, or V = 3, length 2 and one, that begins with 0: "
            f"equal laws of sequences and of calls in {len(cases) - different} of {len(cases)} cases",
        ),
        rejects_mutants(
            {"with a bonus token": Sjd, "without refinement": lambda w: SjdUnrefined(w, bonus=False)},
            lambda make: apart(make, cases[:40]),
            "equality",
        ),
    )


def _choices(vocabulary: int, length: int) -> Iterator[dict[tuple[int, ...], int]]:
    """The token after each prefix, in every way that begins with 0."""
    prefixes = [prefix for k in range(length) for prefix in product(range(vocabulary), repeat=k)]
    for values in product(range(vocabulary), repeat=len(prefixes) - 1):
        yield dict(zip(prefixes, (0, *values), strict=True))


@CLAIMS.claim(
    "sjd.initialisation",
    said(
        "GSD, 2.3",
        "Since the correctness of the output distribution is ensured regardless of the choice of q, other methods with "
        "more efficient output estimation can also be used for drafting.",
        "formalised",
        "The choice of q is that of the initialisations of SJD, 4.2. The paper does not say what is declared as q for "
        "them; the published code declares a point mass for every new draft.",
    ),
    r"For every target and window, SJD with random, horizontal or vertical repeat, or horizontal or vertical sample "
    r"initialisation has the autoregressive law.",
    assumptions=[
        "declared q: each new draft is declared with the pmf that it follows given the tokens to its left, which is a "
        "point mass where it was copied",
        INDEPENDENT,
    ],
)
def initialisation(seed: int) -> Finding:
    r"""The proof of sjd.theorem-1.sequence asks of a new draft only that it follows its declared q given the tokens to
    its left, and of all draws independent uniforms. A uniform token follows the uniform row; a token drawn from any row
    that is known before follows that row; a copied token is a function of the tokens to its left, and follows the point
    mass on its value. With the uniform row declared for a copied token, the law changes.
    """
    tables = random_tables(seed, small=True)
    tried = [(make_decoder("sjd", window=3, initial=initial), process) for process in tables for initial in INITIALS]
    worst, enumerated = sequences(tried, "on one row and on grids")
    wrong = {
        "neighbour scored with uniform q, " + initial: mutants.NeighbourScoredUniform(2, initial)
        for initial in ("repeat-left", "repeat-above", "sample-left", "sample-above")
    }
    return holds_if(
        worst == 0,
        enumerated,
        rejects_mutants(wrong, lambda d: max(deviation(d, process) for process in tables), "initialisation"),
    )


@CLAIMS.claim(
    "sjd.artifacts",
    said(
        "H, Fig. 18",
        "although auto-regressive decoding can produce artifacts, SJD seems to generate continuous tokens that cause "
        "the artifacts, as highlighted by the red boxes in this figure. The pre-trained auto-regressive model is not "
        "sufficiently robust to handle such complex images. Consequently, it may mistakenly accept a sequence of draft "
        "tokens that contain artifacts.",
        "ours",
        "The paper lays it to the model, which gives artifacts without SJD too; that SJD accepts tokens with artifacts "
        "can be so. That it gives them more often, as one can read the first sentence, is not said, and would "
        "contradict Theorem 1.",
    ),
    r"For every target, window and set of sequences, such as the images with artifacts, SJD and autoregressive "
    r"decoding give a sequence of the set with the same probability.",
)
def artifacts(seed: int) -> Finding:
    r"""Finished sequences have the autoregressive law (sjd.theorem-1.sequence), so every set of them has its
    probability: the largest difference over all sets is the TV between the laws, which is 0. This is about sampling
    without rounding, and about the algorithm: filters that are applied to the residual again change the law
    (sjd-reference.residual). It says nothing of where the long runs of accepted tokens are: they may well be where the
    artifacts are.
    """
    return holds_if(proven("sjd.artifacts"))
