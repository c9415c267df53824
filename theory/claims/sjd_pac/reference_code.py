"""Claims about SJD-PAC as its published code runs it on Lumina-mGPT."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from simlab.decoders import SjdPac
from simlab.decoders.tree import make_tree
from simlab.mutants.published_pac import PublishedPac
from simlab.processes import TableProcess
from simlab.rules import Speculative
from theory.claims.base import Claims, Finding
from theory.claims.evidence import control, counterexample, enumeration, refuted_if, rejects_mutants, require
from theory.claims.format import fmt, numbers
from theory.claims.sjd.losslessness import deviation
from theory.claims.sjd_pac.speed import BEST, OTHERS, published_nodes
from theory.claims.sources import Repository
from theory.exact import sequence_law, target_law

CLAIMS = Claims("sjd-pac")
CODE = Repository("KangJialiang/SJD-PAC", "4fbc099f7f765b6b363a767da317c0fb8ad4a980")
FILE = "scheduler/sjd_pac_iteration_lumina_mgpt.py"
NODES = 64  # the paper's L, and the code's max_num_new_tokens

MENDED: dict[str, Any] = {
    "siblings": "declared",
    "path": "in-turn",
    "redrawn": "own",
    "after": "row",
    "first": "shared",
}
HALF = Fraction(1, 2)
Rows = dict[str, Sequence[Fraction | int]]  # by prefix
FROM_FIRST: Rows = {"": (1, 0, 0), "0": (HALF / 2, 0, 1 - HALF / 2), "1": (0, HALF, HALF), "2": (0, HALF, HALF)}


class Case(NamedTuple):
    """A process at which one departure of the code shows, and in which words."""

    departure: str
    depth: int  # positions with two candidates; the code counts one more
    window: int  # drafts of the chain
    rows: Rows
    words: str
    beside: tuple[str, ...] = ()  # departures that would show, too, and are mended here

    @property
    def process(self) -> TableProcess:
        length = 1 + max(map(len, self.rows))
        return TableProcess(len(self.rows[""]), length, lambda prefix: self.rows["".join(map(str, prefix))])

    def decoder(self, *mended: str) -> PublishedPac:
        changed = {one: MENDED[one] for one in (*self.beside, *mended)}
        return PublishedPac(self.window, depth=self.depth, **({"first": self.first} | changed))

    @property
    def first(self) -> str:
        """The candidates of the first call, which are the code's where nothing else departs."""
        return "independent" if self.departure == "first" else "shared"

    @property
    def nodes(self) -> int:
        """Of the smallest tree of the code with this chain."""
        return 1 + make_tree("full", self.window, 2, self.depth).nodes


CASES = (
    Case("first", 1, 2, {"": (Fraction(3, 5), Fraction(2, 5), 0)}, "a single token with (3/5, 2/5, 0)"),
    Case(
        "siblings",
        1,
        2,
        FROM_FIRST,
        "the first token is 0, the second has (1/4, 0, 3/4) behind it and (0, 1/2, 1/2) behind another",
    ),
    Case(
        "path",
        2,
        3,
        {
            "": (HALF / 2, 1 - HALF / 2, 0),
            "0": (0, HALF / 2, 1 - HALF / 2),
            "1": (1 - HALF / 2, HALF / 2, 0),
            "2": (1 - HALF / 2, HALF / 2, 0),
        },
        "the first token has (1/4, 3/4, 0), the second (0, 1/4, 3/4) behind a 0 and (3/4, 1/4, 0) behind another",
    ),
    Case(
        "redrawn",
        2,
        3,
        {"": (1, 0, 0)} | dict.fromkeys("012", (0, Fraction(2, 5), Fraction(3, 5))),
        "the first token is 0, the second has (0, 2/5, 3/5) whatever the first is",
    ),
    Case(
        "redrawn",
        2,
        3,
        FROM_FIRST,
        "the rows of the second example, with siblings from the declared row: the last of them leaves nothing",
        ("siblings",),
    ),
    Case(
        "after",
        1,
        2,
        dict.fromkeys(["", "0", "1"], (HALF, HALF)) | dict.fromkeys(["00", "01", "10", "11"], (0, 1)),
        "two tokens with (1/2, 1/2), then a 1",
    ),
)


@CLAIMS.claim(
    "sjd-pac-reference.lossless",
    CODE.function(
        FILE,
        "SJDPACSpeculativeSampler.__call__",
        "The candidates beside a draft are drawn from the residual [p - q]+ of the call that has left the draft "
        "(lines 197, 208 to 214), and scored as drawn from its row p without those before (153 to 155, 220). A path "
        "is taken if its own coins come up, whether or not a candidate before it is accepted too, the longest of all "
        "(174 to 176). A draft of the tree behind the first rejection is redrawn from the residual after the last of "
        "its siblings (187 to 195), which is token 0 where nothing is left (198), and declared with p. A window "
        "accepted as a whole is followed by a uniform token (199 to 206). In the first call every node has a uniform "
        "token of its own (get_multi_token_for_preparation, called at 762), scored as if no sibling could repeat.",
    ),
    "For every target, number of candidates, depth and window, sequences decoded with the published loop of SJD-PAC "
    "have the autoregressive law.",
)
def reference_lossless(seed: int) -> Finding:
    r"""The first call changes the law, and each of four departures does; the paper's proofs have none of them. All laws
    but that of the first example are of the loop with its first call mended: there, too, nodes of a position share
    candidates, which are drawn without replacement.

    *First call.* Siblings that are drawn independently may repeat. With two candidates for the first token, whose row
    is (3/5, 2/5, 0), a 0 comes with 28/45; with (1/2, 1/2, 0) a 2 beside a 2 leaves nothing, and with 1/9 the code's
    token 0 comes, which is no token of an image. Of 8,192 tokens, the four candidates behind a node repeat one with
    about 6/8192, in the first call of an image alone.

    *Siblings.* Given a draft that has stayed, App. A.3 asks for candidates from $q$ without it, where $q$ is its row of
    the last call. The code draws them from the residual that it would have been replaced from, and scores them as if
    they came from $q$. With the draft rejected and $q = (0, 1/2, 1/2)$, $p = (1/4, 0, 3/4)$ the sibling of a 1 is
    always 2 by $q$; the code draws the 1 again for half of the drafts that have stayed, and then emits a 0.

    *Path.* A candidate may be accepted only if those before it are rejected (App. A.3, eq. 8). The code has a coin for
    each and looks at all paths: where two candidates of the first position come up, the one with an accepted child
    wins, so that what is emitted there depends on what can follow it. From depth 3 on, as the code counts.

    *Redrawn.* Behind the first rejection a draft of the tree is verified alone; if it is rejected, $[p - q]_+$ is what
    completes $p$, and the residual after siblings that nobody has tried is another row. From depth 3 on. It may be
    empty, as $[p - q]_+$ of a rejected draft cannot be: then 0 comes, on which the code puts $10^{-20}$ everywhere. Its
    row may not have it, and then the next call accepts it wherever the target has it at all.

    *After.* If all drafts are accepted, the next token is the first of the padding, which is uniform, and is committed.
    With 64 nodes, K = 4 and D = 3 that takes 45 accepted drafts.

    With all of this mended it is SJD-PAC with a full tree whose nodes share candidates, the left token first and a
    bonus token (pac.combined, pac.readings.shared): siblings from the declared row without the draft, a path found in
    turn, the own residual, and a token from the row behind the window.
    """
    found: list[dict[str, Any]] = []
    for case in CASES:
        process, mended = case.process, SjdPac(case.window, candidates=2, depth=case.depth, tree="full", shared=True)
        without = case.decoder(case.departure)
        require(deviation(without, process) == 0, f"something else than {case.departure} shows, too")
        require(deviation(mended, process) == 0, "mended it is not lossless")
        same = (sequence_law(loop, process, Speculative()) for loop in (case.decoder(*MENDED), mended))
        require(next(same) == next(same), "mended it is not sjd-pac")
        law = sequence_law(case.decoder(), process, Speculative())[0]
        found.append({"law": law, "target": target_law(process), "tv": deviation(case.decoder(), process)})
    return refuted_if(
        all(each["tv"] > 0 for each in found),
        *(
            counterexample(
                f"{case.departure}: two candidates, depth {case.depth + 1} with the root, {case.nodes} nodes; "
                f"{case.words}: TV {fmt(each['tv'])} from the target's law",
                numbers(
                    candidates=2,
                    depth=case.depth + 1,
                    nodes=case.nodes,
                    first=case.first,
                    mended=case.beside,
                    rows=case.rows,
                    **each,
                ),
            )
            for case, each in zip(CASES, found, strict=True)
        ),
        enumeration(
            "with the first call mended but in the first example; without its departure the law of each is the "
            "target's, and without all five the loop has the laws of sequences and of calls of sjd-pac with a full "
            "tree, shared candidates and a bonus, on the same processes"
        ),
        control("the same check finds no difference where a departure is mended, nor for sjd-pac itself"),
    )


# The tree --------------------------------------------------------------------------------------------------------


@CLAIMS.claim(
    "sjd-pac-reference.tree",
    CODE.function(
        FILE,
        "generate_tree_mask_and_retrieve",
        "A full tree of (K^D - 1)/(K - 1) nodes, whose root is the last committed token, and a chain below its first "
        "path with what is left of L nodes. The nodes of a position have the same K candidates. Defaults are K = 3, "
        "D = 3 and L = 64; where the tree needs more than L nodes, the function raises.",
        "ours",
    ),
    "For each K and D of the paper's Table 3 the published code makes a tree within the L = 64 nodes that the table is "
    "about.",
)
def reference_tree(seed: int) -> Finding:
    """K = 4 and D = 4 need 1 + 4 + 16 + 64 = 85 nodes, and the code stops with "Tree too large for sequence length":
    that row is of other code, or of another window. The five other rows fit. With K = 4 and D = 3 there are 21 nodes
    and a chain of 45 drafts, and two positions have candidates. The text (section 4.1) has K candidates at the D
    positions behind the resampled token, one more than the code: a full tree of K = 4, D = 3 has 85 nodes then, one of
    K = 5 has 156, and neither fits.
    """
    shapes = (BEST, *OTHERS)
    nodes = {shape: published_nodes(*shape) for shape in shapes}
    by_text = {(k, d): published_nodes(k, d + 1) for k, d in shapes}
    left = {shape: NODES - count for shape, count in nodes.items()}
    require(
        all(make_tree("full", d - 1, k, d - 1).nodes + 1 == nodes[k, d] for k, d in shapes), "nodes are counted wrong"
    )
    wide, deep = largest = min(shapes, key=left.__getitem__)
    k, d = BEST
    chain = left[BEST] + d - 1
    built = make_tree("full", chain, k, d - 1, shared=True)
    require(built.nodes + 1 == NODES, "the tree of the best row does not fill the window")
    return refuted_if(
        min(left.values()) < 0,
        counterexample(
            f"K = {wide}, D = {deep}: {nodes[largest]} nodes, {-left[largest]} more than there are",
            numbers(candidates=wide, depth=deep, window=NODES, nodes=nodes[largest], over=-left[largest]),
        ),
        enumeration(
            "nodes of the tree by the code, and by the text: "
            + "; ".join(f"K = {k}, D = {d}: {nodes[k, d]}, {by_text[k, d]}" for k, d in shapes)
            + f". With K = {k} and D = {d} the chain has {chain} drafts, and candidates are at {d - 1} positions"
        ),
        rejects_mutants(
            {f"without the row of K = {wide}, D = {deep}": [shape for shape in shapes if shape != largest]},
            lambda rows: int(all(left[row] >= 0 for row in rows)),
            "trees that fit",
        ),
    )
