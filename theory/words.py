"""Entries by words: an index of what is said of each claim, and the one score by which questions find entries in it.

An entry counts a word by BM25 over fields (Robertson, Zaragoza and Taylor, 2004): of its id, its paper, its headline,
its statement, the sentence it quotes. That is done once, in :func:`index`, and rounded to whole numbers. What is left
for a question, :func:`found`, is to look words up and to add: ``reports/templates/search.js`` does the same on pages,
and a test binds the two. So the index has with it whatever makes words of a text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import Any

from theory.papers import PAPERS, Paper

Index = dict[str, Any]

# Words of a text -------------------------------------------------------------------------------------------------

COMMON = """
a about after al all also am an and any are as at be been being but by can could did do does each et every for from
give given has have how i if in into is it its large larger let me more most of on one only or other out over same
should so some still than that the their them then there these they this those to too two under up us was we what
when where which while who why will with would you your
"""
STOP = COMMON.split()
PHRASES = {  # of several words, as one
    "speculative jacobi decoding": "sjd",
    "speculative jacobi": "sjd",
    "grouped speculative decoding": "gsd",
    "group speculative decoding": "gsd",
    "continuous speculative decoding": "cspd",
    "hierarchical speculative decoding": "hsd",
    "speculative coupled decoding": "scd",
    "speculative sampling": "speculative decoding",
    "sjd pac": "sjdpac",
    "sjd pp": "sjdpp",
    "mc sjd": "scd",
    "eagle 2": "eagle2",
    "k seq": "kseq",
    "proactive drafting": "pd",
    "pac drafting": "pac pd",
    "adaptive continuation": "ac",
    "pac continuation": "pac ac",
    "too large": "exceed",
    "too high": "exceed",
    "too good": "exceed",
    "total variation": "tv",
    "kullback leibler": "kl",
    "jensen shannon": "jsd",
    "published code": "code",
    "reference code": "code",
    "state of the art": "sota",
    "acceptance rate": "acceptance",
    "pre fill": "prefill",
    "pre filling": "prefill",
    "pre filled": "prefill",
    "top k": "topk",
    "top p": "topp",
    "zero probability": "support",
    "never ends": "termination",
    "for free": "no cost",
    "batch size": "batch",
    "wall time": "speed",
    "wall clock": "speed",
    "et al": "",
}
SYNONYMS = {  # what they count as
    "lossless": "exact exactly losslessly losslessness correct preserve recover unchanged maintain distribution law",
    "refuted": "wrong false incorrect broken flawed flaw bug error mistake fail misprint refute counterexample",
    "bias": "biased unbiased unbiasedness",
    "distort": "distortion deviation deviate drift far",
    "speed": "fast faster slow slower speedup accelerate acceleration latency quick time walltime",
    "optimal": "best beat beaten better maximum largest optimum frontier",
    "mend": "mended fix fixed repair remedy instead corrected",
    "quality": "fid clip score",
    "neighbour": "neighbor nearest near",
    "initialise": "initialize initialisation initialization init initial start",
    "retain": "keep kept",
    "differ": "different difference disagree inconsistent mismatch",
    "group": "cluster partition grouped",
    "zero": "0",
    "acceptance": "accept accepted accepts alpha",
    "window": "length inputs",
    "prefill": "prefilling prefilled",
    "align": "alignment aligned",
    "ours": "derived",
    "formula": "expected",
    "baseline": "baselines",
}  # fmt: skip
SUFFIXES = (  # what a word may end in, what is put there, and how many letters are left at least
    ("eed", "eed", 1),
    ("isation", "ise", 3), ("ization", "ise", 3), ("ations", "at", 4), ("ation", "at", 4), ("nesses", "", 4),
    ("ness", "", 4), ("ities", "", 4), ("ances", "", 4), ("ance", "", 4), ("ings", "", 4), ("ing", "", 4),
    ("ies", "y", 3), ("ions", "", 4), ("ion", "", 4), ("edly", "", 4), ("ed", "", 4), ("ly", "", 4), ("es", "", 4),
    ("s", "", 3), ("e", "", 4),
)  # fmt: skip


def stem(word: str) -> str:
    """A word without its ending."""
    for suffix, instead, least in SUFFIXES:
        if word.endswith(suffix) and not word.endswith("ss") and len(word) - len(suffix) >= least:
            return word[: -len(suffix)] + instead
    return word


MEANT = {stem(each): stem(word) for word, others in SYNONYMS.items() for each in others.split()}


def plain(text: str) -> str:
    """Small letters and digits, and spaces between them."""
    return " ".join(re.findall("[a-z0-9]+", text.lower()))


def words(text: str) -> list[str]:
    """The words of a text that count, without endings; of what means the same one word."""
    padded = f" {plain(text)} "
    for phrase, instead in PHRASES.items():
        padded = padded.replace(f" {phrase} ", f" {instead} ")
    kept = (word for word in padded.split() if word not in STOP and (len(word) > 1 or word.isdigit()))
    return [MEANT.get(each, each) for each in map(stem, kept)]


# Entries ---------------------------------------------------------------------------------------------------------

FIELDS = {  # how much a word counts in each, and how much the length of the field takes from it
    "id": (8.0, 0.9),
    "paper": (7.0, 0.0),
    "says": (10.0, 0.2),
    "verdict": (4.0, 0.0),
    "kind": (1.5, 0.0),
    "why": (1.2, 0.6),
    "statement": (1.2, 0.6),
    "quote": (2.0, 0.8),
    "where": (2.0, 0.3),
    "note": (1.0, 0.8),
    "authors": (4.0, 0.0),
    "title": (0.5, 0.0),
}
SATURATION = 13.0
HEADLINE, PART = 1.03, 0.8  # entries that a reader asks about first, and those that are parts of others
SCALE, LEAST = 5, 4  # of weights, which are whole numbers, and that of one that counts


def index(
    entries: Iterable[Mapping[str, Any]], headlines: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]
) -> Index:
    """The index of entries and of what stands on top of them, as ``verdicts.json`` has them.

    Returns
    -------
    dict
        ``ids``; ``weights``, by word the numbers of entries and what the word counts there, one after the other; and
        what makes words of a question.
    """
    listed = list(entries)
    texts = [fields(entry, headlines, results) for entry in listed]
    counted = [{name: Counter(words(text)) for name, text in each.items()} for each in texts]
    mean = {name: sum(each[name].total() for each in counted) / max(1, len(counted)) or 1.0 for name in FIELDS}
    among = Counter(word for each in counted for word in {word for field in each.values() for word in field})
    top = {each["claim"] for each in (*headlines, *results)}
    weights: dict[str, list[int]] = {}
    for number, (entry, each) in enumerate(zip(listed, counted, strict=True)):
        part = entry["id"].count(".") > 1 or entry["source"] == "code"
        factor = HEADLINE if entry["id"] in top else PART if part else 1.0
        for word in sorted({word for field in each.values() for word in field}):
            much = sum(
                boost * each[name][word] / (1 - shortened + shortened * each[name].total() / mean[name])
                for name, (boost, shortened) in FIELDS.items()
            )
            rare = log(1 + (len(listed) - among[word] + 0.5) / (among[word] + 0.5))
            weight = round(SCALE * factor * rare * much * (SATURATION + 1) / (much + SATURATION))
            if weight >= LEAST:
                weights.setdefault(word, []).extend((number, weight))
    return {
        "ids": [entry["id"] for entry in listed],
        "weights": weights,
        "meant": MEANT,
        "phrases": PHRASES,
        "stop": STOP,
        "suffixes": SUFFIXES,
        "begun": BEGUN,
        "mistyped": MISTYPED,
        "long": LONG,
    }


def fields(
    entry: Mapping[str, Any], headlines: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """What is said of an entry, by field."""
    paper = PAPERS.get(entry["paper"], Paper(entry["paper"], entry["paper"]))
    own = [each for each in headlines if each["claim"] == entry["id"]]
    taken = [each for each in results if each["claim"] == entry["id"]]
    return {
        "id": entry["id"],
        "paper": paper.short,
        "says": " ".join([each["says"] for each in own] + [each["title"] for each in taken]),
        "verdict": " ".join(each["verdict"] for each in own),
        "kind": f"{entry['kind']} {entry['source']}",
        "why": " ".join([f"{each['why']} {each['mend']}" for each in own] + [each["text"] for each in taken]),
        "statement": entry["statement"],
        "quote": entry["quote"],
        "where": entry["where"],
        "note": entry["note"],
        "authors": f"{paper.authors} {paper.arxiv}",
        "title": f"{paper.name} {paper.title}",
    }


# Questions -------------------------------------------------------------------------------------------------------

BEGUN, MISTYPED = 70, (100, 60, 40)  # what a word counts, in hundredths, that is begun, or some letters off
LONG = (4, 8)  # letters of words that may be one letter off, and two


def found(index: Index, question: str) -> list[tuple[str, int]]:
    """The entries that answer a question, best first, with their scores; ties in the order of the index.

    A word that is nowhere is one that it begins, or else one that is mistyped. What an entry's words count is added,
    and counts as often as words of the question are there.
    """
    scores: Counter[int] = Counter()
    there: Counter[int] = Counter()
    for word in dict.fromkeys(words(spelled(index, question))):
        best: Counter[int] = Counter()
        for other, share in alike(index, word).items():
            listed = index["weights"].get(other, [])
            for number, weight in zip(listed[::2], listed[1::2], strict=True):
                best[number] = max(best[number], share * weight)
        scores.update(best)
        there.update(best.keys())
    ranked = sorted(scores, key=lambda number: (-scores[number] * there[number], number))
    return [(index["ids"][number], scores[number] * there[number]) for number in ranked]


def spelled(index: Index, question: str) -> str:
    """A question whose words, where nobody knows them, are spelled as those of phrases."""
    phrased = dict.fromkeys(word for phrase in PHRASES for word in phrase.split())
    known = {*phrased, *STOP, *index["weights"], *MEANT}
    return " ".join(
        word if word in known or stem(word) in known else next((each for each in phrased if off(word, each)), word)
        for word in plain(question).split()
    )


def alike(index: Index, word: str) -> dict[str, int]:
    """The words of the index that a word of a question stands for, and what each counts in hundredths."""
    known = index["weights"]
    if word in known:
        return {word: 100}
    begun = [each for each in known if len(word) > 2 and each.startswith(word)]
    if begun:
        return dict.fromkeys(begun, BEGUN)
    near = {each: letters for each in (*known, *MEANT) if (letters := off(word, each))}
    least = min(near.values(), default=0)
    return {MEANT.get(each, each): MISTYPED[least] for each, letters in near.items() if letters == least}


def off(word: str, other: str) -> int:
    """By how many letters a word is another mistyped; 0 if it is none."""
    most = sum(len(word) >= least for least in LONG)
    letters = distance(word, other) if abs(len(other) - len(word)) <= most else most + 1
    return letters if letters <= most else 0


def distance(one: str, other: str) -> int:
    """How many letters are to be put in, left out, changed or swapped with the next (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        last, before, row = before, row, [i]
        for j, each in enumerate(other, 1):
            steps = [before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != each)]
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == each:
                steps.append(last[j - 2] + 1)
            row.append(min(steps))
    return row[-1]
