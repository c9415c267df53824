"""Two servers asked the same, round by round, and the evidence that their completions follow different laws.

In a round each prompt is asked of both equally often. Those of the engine go out shuffled, several at a time, so that
requests of different prompts run together; then those of the reference. The i-th answers to a prompt are a pair: which
answers are compared does not depend on what they are, nor on how long they took.

Counted are, for each prompt, the token at each place and neighbouring tokens, each by a test of its own
(:class:`~simlab.statistics.Paired`), and for each place all prompts together, whose stakes multiply since answers to
different prompts are independent. Half of the stake is on the former, half on the latter: a false alarm has probability
``FALSE_ALARMS`` at most, however long one goes on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import inf, log
from typing import Any

import numpy as np
import scipy

from simlab.certify.certificate import LISTED, Certificate, Failure, Line
from simlab.certify.engine.evidence import FALSE_ALARMS
from simlab.certify.servers.client import ENDED, Dropped, Endpoint, Outcome, Prompt, Request, Unanswered
from simlab.certify.servers.logprobs import ReportedLogprobs, compared_logprobs, counted_logprobs
from simlab.messages import shown
from simlab.statistics import Paired

ATTEMPTS = 5  # times that a request is made whose connection is dropped
PAUSE = 0.1  # seconds before the second attempt; each later one waits twice as long
TURN = 1.0  # seconds of a round
SEEDS = 1 << 31
MIXED = 0.9  # of the evidence that has to be explained by tokens of other prompts

Answers = list[tuple[Outcome, ...]]


@dataclass(frozen=True)
class Round:
    """Answers of both servers: ``engine[j][i]`` and ``reference[j][i]`` to prompt j. Dropped ones were asked again."""

    engine: list[Answers]
    reference: list[Answers]
    dropped: int = 0


@dataclass
class Comparison:
    """The evidence of all rounds so far."""

    prompts: Sequence[Prompt]  # what is asked
    request: Request  # how
    asked: int = 0
    dropped: int = 0
    highest: float = 0.0

    def __post_init__(self) -> None:
        places = range(self.request.tokens)
        self.events = [(i,) for i in places] + [(i, i + 1) for i in places[:-1]]
        self.tests = [[Paired() for _ in self.events] for _ in self.prompts]

    def add(self, found: Round) -> None:
        """Take in a round."""
        for j, (engine, reference) in enumerate(zip(found.engine, found.reference, strict=True)):
            for k, places in enumerate(self.events):
                pairs = (
                    (tuple(one[i] for i in places), tuple(other[i] for i in places))
                    for one, other in zip(engine, reference, strict=True)
                )
                self.tests[j][k].update(pairs)
            self.asked += 2 * len(engine)
        self.dropped += found.dropped
        self.highest = max(self.highest, self.log_e_value)

    @property
    def log_e_value(self) -> float:
        """The log of the mean stake: half of it on single tests, half on all prompts together."""
        single = np.array([[test.log_e_value for test in row] for row in self.tests])
        halves = (
            scipy.special.logsumexp(single) - log(single.size),
            (scipy.special.logsumexp(single.sum(axis=0)) - log(single.shape[1])),
        )
        return float(np.logaddexp(*halves) - log(2))

    @property
    def deviates(self) -> bool:
        """Whether the two laws are not equal."""
        return self.highest >= -log(FALSE_ALARMS)

    # What is said of it --------------------------------------------------------------------------------------

    def bounds(self, confidence: float) -> list[list[float]]:
        """Upper limits on the TV of each prompt and event, all at once with this confidence."""
        each = 1 - (1 - confidence) / sum(map(len, self.tests))
        return [[test.tv_upper(each) for test in row] for row in self.tests]

    def detectable(self) -> list[list[float]]:
        """The smallest TV of each that would have raised an alarm by itself, with power 0.999."""
        level = FALSE_ALARMS / (2 * sum(map(len, self.tests)))
        return [[_detectable(test, level) for test in row] for row in self.tests]

    def certificate(
        self, engine: str, reference: str, epsilon: float, confidence: float, seed: int, seconds: float, fault: str
    ) -> Certificate:
        """The certificate; ``fault`` says what the engine did instead of answering, if it did."""
        bounds, detectable = self.bounds(confidence), self.detectable()
        worst = max(map(max, bounds))
        passed = (
            f"no deviation found in {self.asked} completions of {len(self.prompts)} prompts: TV from the reference, "
            f"of each token and of neighbours, is at most {worst:.3g} at each prompt, at confidence {confidence:g}"
        )
        failure = _broken(fault) if fault else self._failure() if self.deviates else None
        if failure is None:
            verdict = "lossless" if worst <= epsilon else "inconclusive"
            summary = passed if verdict == "lossless" else f"{passed}; {epsilon:g} was asked for"
        else:
            verdict = "breaks" if fault else "lossy"
            summary = "; ".join(filter(None, (failure.told, failure.diagnosis)))
        return Certificate(
            subject=engine,
            contract="completions",
            verdict=verdict,
            summary=summary,
            epsilon=epsilon,
            confidence=confidence,
            false_alarms=FALSE_ALARMS,
            seed=seed,
            seconds=seconds,
            calls=self.asked,
            seconds_to_finding=seconds if failure else None,
            calls_to_finding=self.asked if failure else None,
            lines=tuple(
                Line(
                    f"prompt {shown(prompt)}",
                    _named(places),
                    test.n,
                    bounds[j][k],
                    detectable[j][k],
                    test.highest / log(10),
                    self.deviates and test.highest >= log(2 * sum(map(len, self.tests)) / FALSE_ALARMS),
                )
                for j, prompt in enumerate(self.prompts)
                for k, (places, test) in enumerate(zip(self.events, self.tests[j], strict=True))
            ),
            failure=failure,
            notes=tuple(self._notes(reference)),
            exact="not possible: a server",
            forced="not possible: a server",
        )

    def logprobs(self, engine: ReportedLogprobs, reference: ReportedLogprobs) -> list[str]:
        """What is to be said of the log-probabilities that both servers have told."""
        found = [compared_logprobs(engine, reference)]
        if engine.spans and reference.spans and self.request.plain:
            firsts = dict(zip(self.prompts, (row[0] for row in self.tests), strict=True))
            for name, told, side in (("engine", engine, "first"), ("reference", reference, "second")):
                counts = {prompt: getattr(test, side) for prompt, test in firsts.items()}
                found.append(counted_logprobs(name, told, counts))
        return found

    def _notes(self, reference: str) -> list[str]:
        notes = [f"the reference is {reference}"]
        if self.dropped:
            notes.append(f"{self.dropped} connections were dropped; these requests were made again")
        constant = all(len(test.first) == len(test.second) == 1 for row in self.tests for test in row)
        if self.asked > 2 * len(self.prompts) and constant:  # of one completion each there is nothing to be the same
            notes.append("all completions of a prompt are the same: drawn greedily, or with a seed that is not taken")
        return notes

    def _failure(self) -> Failure:
        strength = [(test.log_e_value, j, k) for j, row in enumerate(self.tests) for k, test in enumerate(row)]
        _, j, k = max(strength)
        test = self.tests[j][k]
        what, prompt = _named(self.events[k]), shown(self.prompts[j])
        return Failure(
            kind="law",
            found_in=f"prompt {prompt}",
            told=f"TV of the samples is {test.tv:.2g} in {what} after prompt {prompt}, where "
            f"two of one law have about {_by_chance(test):.2g}",
            case=f"{what} after prompt {prompt}",
            arguments={"prompt": self.prompts[j], "tokens": what},
            calls=test.n,
            tv_measured=test.tv,
            outcomes=_listed(test),
            diagnosis=self._mixed(j, k),
        )

    def _mixed(self, j: int, k: int) -> str:
        """Whether what comes out too often is what other prompts have: a share of draws from wrong rows."""
        test, others = self.tests[j][k], [row[k] for i, row in enumerate(self.tests) if i != j]
        if not others:
            return ""
        seen = sorted({*test.first, *test.second, *(one for other in others for one in other.second)}, key=repr)
        x, own = (np.array([side[one] for one in seen], float) for side in (test.first, test.second))
        else_ = np.array([sum(other.second[one] for other in others) for one in seen], float)
        own, else_ = ((law + 0.5 / len(seen)) / (law.sum() + 0.5) for law in (own, else_))
        shares = np.linspace(0, 1, 201)
        gains = np.array([x @ np.log((1 - w) * own + w * else_) for w in shares])
        best = (x + 0.5 / len(seen)) / (x.sum() + 0.5)
        most = x @ np.log(best) - gains[0] - (len(seen) - 1) / 2  # what so many free shares fit of chance
        w = shares[int(gains.argmax())]
        if w == 0 or gains.max() - gains[0] < MIXED * most:
            return ""
        return f"looks like: about {100 * w:.2g} % of draws from the rows of other prompts"


def _named(places: tuple[int, ...]) -> str:
    return f"token {places[0] + 1}" if len(places) == 1 else f"tokens {places[0] + 1} and {places[1] + 1}"


def _detectable(test: Paired, level: float) -> float:
    """By what came again. Other tokens in the place of those that came once show nothing, whatever their share is."""
    if not test.n:
        return inf
    again = [outcome for outcome in {*test.first, *test.second} if test.first[outcome] + test.second[outcome] > 1]
    rare = 1 - sum(test.second[outcome] for outcome in again) / test.n
    found = rare + Paired(max(2, len(again) + (rare > 0))).detectable(test.n, level)
    return found if found <= 1 else inf


def _by_chance(test: Paired) -> float:
    """About what the TV of both samples is where their laws are equal: each outcome came of either by a fair coin."""
    seen = np.array([test.first[outcome] + test.second[outcome] for outcome in {*test.first, *test.second}])
    half = (seen + 1) // 2  # the mean of |2 B - m|, where B of m coins are heads, is 2 h C(m, h) / 2^m
    heads = scipy.special.gammaln([seen + 1, half + 1, seen - half + 1])
    apart = 2 * half * np.exp(heads[0] - heads[1] - heads[2] - seen * log(2))
    return float((apart * np.sqrt(1 - seen / (2 * test.n))).sum() / (2 * test.n))  # less what both have in a pair


def _listed(test: Paired) -> list[dict[str, Any]]:
    """Outcomes that are off by most."""
    seen = sorted({*test.first, *test.second}, key=lambda one: -abs(test.first[one] - test.second[one]))[:LISTED]
    return [
        {
            "outcome": ", ".join(map(str, one)) if isinstance(one, tuple) else str(one),
            "target": test.second[one] / test.n,
            "measured": test.first[one] / test.n,
            "exact": None,
        }
        for one in seen
    ]


def _broken(fault: str) -> Failure:
    where = "a completion"
    return Failure("broken", f"it {fault}", where, found_in=where)


# Asking ---------------------------------------------------------------------------------------------------------


class Asker:
    """A server that is asked, so many requests at a time and not more than ``rate`` a second."""

    def __init__(self, endpoint: Endpoint, request: Request, concurrency: int, rate: float) -> None:
        self.endpoint, self.request, self.rate = endpoint, request, rate
        self.pool = ThreadPoolExecutor(concurrency)
        self.own = threading.local()
        self.lock, self.next, self.dropped = threading.Lock(), 0.0, 0
        self.told = ReportedLogprobs()

    def answers(self, work: Sequence[tuple[Prompt, int]]) -> Answers:
        """The completions of prompts with their seeds, in their order.

        Raises :class:`Unanswered` for an answer that is none, also where connections are dropped again and again.
        """
        return list(self.pool.map(lambda one: self._answer(*one), work))

    def _answer(self, prompt: Prompt, seed: int) -> tuple[Outcome, ...]:
        for attempt in range(ATTEMPTS):
            self._wait()
            if not hasattr(self.own, "connection"):
                self.own.connection = self.endpoint.connect()
            try:
                found = self.endpoint.complete(self.own.connection, self.request, prompt, seed)
            except Dropped as error:
                why = str(error)
                with self.lock:
                    self.dropped += 1
                time.sleep(PAUSE * 2**attempt)
            else:
                with self.lock:
                    self.told.add(prompt, found)
                return found.tokens
        raise Unanswered(f"does not answer, {ATTEMPTS} times in turn: {why}")

    def _wait(self) -> None:
        with self.lock:
            now = time.monotonic()
            begin = self.next = max(now, self.next + 1 / self.rate)
        time.sleep(max(0.0, begin - now))

    def close(self) -> None:
        """Begin nothing more."""
        self.pool.shutdown(wait=False, cancel_futures=True)


class Faulty(Exception):
    """Which of the two servers does not answer as it has to, and what it does instead."""

    def __init__(self, engine: bool, message: str) -> None:
        super().__init__(message)
        self.engine = engine


def asked(engine: Asker, reference: Asker, prompts: Sequence[Prompt], each: int, rng: np.random.Generator) -> Round:
    """A round: each prompt asked ``each`` times of either server.

    Raises :class:`Faulty` for a server that does not answer as it has to, or not in the way of the other one.
    """
    before = engine.dropped + reference.dropped
    sides = []
    for server in (engine, reference):
        order = rng.permutation(len(prompts) * each)
        work = [
            (prompts[i % len(prompts)], int(seed))
            for i, seed in zip(order, rng.integers(SEEDS, size=len(order)), strict=True)
        ]
        try:
            answers = server.answers(work)
        except Unanswered as error:
            raise Faulty(server is engine, str(error)) from None
        found: list[Answers] = [[] for _ in prompts]
        for i, answer in zip(order, answers, strict=True):
            found[i % len(prompts)].append(answer)
        sides.append(found)
    ways = [{_said(one) for answers in side for answer in answers for one in answer if one != ENDED} for side in sides]
    if all(ways) and not ways[0] & ways[1]:
        own, other = (" and ".join(sorted(way)) for way in reversed(ways))
        raise Faulty(False, f"answers with {own}, the engine with {other}; both have to say tokens in the same way")
    return Round(sides[0], sides[1], engine.dropped + reference.dropped - before)


def _said(token: Outcome) -> str:
    """How a server says a token."""
    if isinstance(token, int):
        return "token ids"
    return "texts such as token_id:1" if token.startswith("token_id:") else "texts"


def compared(
    comparison: Comparison,
    engine: Asker,
    reference: Asker,
    *,
    budget: float,
    most: int,
    rng: np.random.Generator,
    keep: Callable[[Round], None],
    progress: Callable[[float], None],
) -> None:
    """Rounds until the servers deviate, the seconds are over or ``most`` requests were made; ``keep`` gets each.

    Raises :class:`Faulty` for a server that does not answer as it has to.
    """
    start, each = time.monotonic(), 1
    while not comparison.deviates and (spent := time.monotonic() - start) < budget:
        each = min(each, (most - comparison.asked) // (2 * len(comparison.prompts)))
        if each < 1:
            return
        progress(spent / budget)
        began = time.monotonic()
        found = asked(engine, reference, comparison.prompts, each, rng)
        keep(found)
        comparison.add(found)
        seconds = max(1e-3, time.monotonic() - began)
        each = max(1, min(4 * each, int(each * TURN / seconds)))
