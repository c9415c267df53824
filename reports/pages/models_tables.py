"""Tables of a comparison of methods on a model, and sentences with its numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup

from reports.data.models import PARTS, Compared
from reports.pages.elements import Table
from reports.site.html import number, with_error

TESTS = {  # and what each is about
    "ranks": "ranks of tokens under the target's rows",
    "likelihood": "likelihoods of images",
    "features": "the classifier's features of images",
    "accuracy": "how often the classifier sees the label",
}


def calls(found: Compared) -> Table:
    """What each method is, and the calls it takes."""
    drafters = {None: "itself", "head": "the head"}
    records = [
        {
            "method": row["method"],
            "decoder x rule": " x ".join(filter(None, (row["decoder"], row["rule"]))),
            "drafts by": drafters.get(row["drafter"], "the draft model") if row["nodes"] or row["drafter"] else "–",
            "": "lossless" if row["lossless"] else "lossy",
            "drafts a call": str(row["nodes"]),
            "rows a call": str(row["rows"]),
            "steps": with_error(row["steps"]["mean"], row["steps"]["error"], 1),
            "tokens a call": with_error(row["compression"]["mean"], row["compression"]["error"]),
            "accepted a call": number(row["accepted"]["mean"], 2),
        }
        for row in found.methods
    ]
    note = "Means of images, ± one standard error. Rows: of each image, that one call of the target asks for."
    return Table.of("Calls", records, note, words=4)


def speed(found: Compared) -> Table:
    """What the calls are worth: tokens a call beside the speedup, predicted and measured."""
    records = []
    for row in found.methods:
        records.append({"method": row["method"], "tokens a call": f"{row['compression']['pooled']:.2f}"})
        for entry in row["timing"]:
            records[-1] |= {
                f"predicted, batch {entry['batch']}": _times(entry["predicted"]),
                f"measured, batch {entry['batch']}": _times(entry["speedup"], entry["speedup_error"]),
                f"s an image, batch {entry['batch']}": f"{entry['seconds']:.4g}",
            }
    note = (
        "Tokens a call: all tokens over all calls. Measured: seconds an image of ar over those of the method, "
        "± one standard error between rounds that draw the same labels by every method. Predicted: tokens a call times "
        "the time of a call for one row of each image, over that of one for all rows and of drafting."
    )
    return Table.of("Speed", records, note)


def elsewhere(document: dict[str, Any]) -> tuple[str, str, Table]:
    """A comparison that comes along: on what, what has to be known of it, and its speedups."""
    machine, versions = document["machine"], document["versions"]
    processor = f"{machine['processor']}, {_of(machine['cores'], 'core')}, "
    name = (
        document["device"] if document["device"] != "CPU" else f"CPU: {processor}{_of(document['threads'], 'thread')}"
    )
    drafts = f", {document['drafts']} drafts a call where there is a window" if "drafts" in document else ""
    said = f"{document['n']} images of each method{drafts}, simlab {versions['simlab']}, torch {versions['torch']}."
    if machine["load_before"] is not None and machine["load_before"] > machine["cores"] / 2:
        said += f" The machine was not idle: its load was {machine['load_before']:.1f} when this began."
    return name, said, speed(Compared(document, {}))


def _of(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def time(found: Compared) -> Table:
    """Where the time of a step goes."""
    memory = any(entry["peak_bytes"] is not None for row in found.methods for entry in row["timing"])
    records = []
    for row in found.methods:
        for entry in row["timing"]:
            besides = entry["ms"]["verification"] + entry["ms"]["cache"]
            peak = "–" if entry["peak_bytes"] is None else f"{entry['peak_bytes'] / 2**20:.0f}"
            records.append(
                {"method": row["method"], "batch": str(entry["batch"]), "step, ms": number(entry["step_ms"], 2)}
                | {f"{part}, ms": number(entry["ms"][part], 2) for part in PARTS}
                | {"verification and cache": f"{besides / entry['step_ms']:.1%}"}
                | ({"peak, MiB": peak} if memory else {})
            )
    note = (
        "Verification is all that is neither the model, from logits to rows, the cache nor another model's drafts: "
        "coins, acceptance, residuals, and drafts that a decoder makes of the target's own rows."
    )
    return Table.of("Time", records, note)


def quality(found: Compared) -> Table:
    """What comes out: how good it is, and whether it is what the target says."""
    held_out = any(row["quality"]["frechet_to_held_out"] is not None for row in found.methods)
    records = []
    for row in found.methods:
        own, far = row["quality"], row["distortion"]
        records.append(
            {
                "method": row["method"],
                "verdict": verdict(row),
                "bits a token": with_error(own["bits_per_token"], own["bits_per_token_error"]),
                "accuracy": with_error(own["accuracy"], own["accuracy_error"]),
                "Fréchet to ar": number(own["frechet_to_ar"]),
                **({"Fréchet to held-out": number(own["frechet_to_held_out"])} if held_out else {}),
                "TV": with_error(far["tv"], far["tv_error"]) if far else "–",
                "Wasserstein-1": with_error(far["wasserstein"], far["wasserstein_error"]) if far else "–",
            }
        )
    note = (
        "Fréchet: distance on features of simlab's classifier, to images of ar with other random numbers, or to "
        "held-out ones; no number on other features compares with it. TV and Wasserstein-1: of the law of a "
        f"committed token from the target's row, exact; a code is {found.document['nearest_codes']:.3g} from its "
        "nearest neighbour in the mean. A tree of drafts is not measured so."
    )
    return Table.of("Quality", records, note, words=2)


def replayed(document: dict[str, Any]) -> Table:
    """What every rule does in the contexts of a recorded run."""
    measured = {
        "acceptance": "acceptance", "gained": "gained", "TV": "tv", "wasted": "wasted", "KL": "kl",
        "Wasserstein-1": "wasserstein", "accepted of a window": "kept",
    }  # fmt: skip
    records = [
        {name: row[name] for name in ("rule", "parameters")}
        | {column: number(row.get(name), 4) for column, name in measured.items()}
        for row in document["rules"]
    ]
    note = "Gained: acceptance beyond the lossless rule's. Wasted: TV beyond what is gained."
    return Table.of("Rules", records, note, words=2)


def verdict(row: dict[str, Any]) -> str:
    """What the tests, or the distortion, say of a method; red where a lossless one fails."""
    if not row["lossless"]:
        return "lossy" if row["distortion"] else "lossy, distortion not measured"
    failed = [name for name, check in row["checks"].items() if not check["passes"]]
    if failed:
        return _red(f"distinguished from ar by {', '.join(failed)}")
    found = [f"{name} {c['detects']:.2g}" for name, c in row["checks"].items() if c["detects"] is not None]
    return "indistinguishable" + (f"; detects TV ≥ {', '.join(found)}" if found else "")


def tests(found: Compared) -> Table:
    """The p-value of every test of every lossless method, and the smallest deviation it detects."""
    records = [
        {"method": row["method"]} | {name: _p_value(row["checks"][name]) for name in TESTS}
        for row in found.methods
        if row["checks"]
    ]
    return Table.of("Tests", records)


def _p_value(check: dict[str, Any]) -> str:
    text = f"{check['p_value']:.2g}"
    return text if check["passes"] else _red(text)


def _red(text: str) -> Markup:
    return Markup('<strong class="refuted" style="color: var(--tone)">{}</strong>').format(text)


def _times(value: float | None, error: float | None = None) -> str:
    return "–" if value is None else f"{value:.2f}{'' if error is None else f' ± {error:.2f}'} ×"


# What the data say ------------------------------------------------------------------------------------------------


def sentences(found: Compared) -> dict[str, str]:
    """Sentences made of the numbers, by what they stand beside."""
    return {"calls": _fastest(found.methods), "time": _walltime(found.methods), "tests": _tested(found)} | {
        "locality": _reach(found)
    }


def _fastest(rows: list[dict[str, Any]]) -> str:
    parts = []
    for lossless, text in ((True, "lossless"), (False, "lossy")):
        own = [row for row in rows if row["lossless"] == lossless]
        if own:
            best = max(own, key=lambda row: row["compression"]["mean"])
            parts.append(f"of the {text} methods {best['method']}, with {best['compression']['mean']:.2f}")
    return f"Most tokens a call: {'; '.join(parts)}."


def _walltime(rows: list[dict[str, Any]]) -> str:
    if not rows[0]["timing"]:
        return "The first table of a comparison has no times."
    parts = []
    for place, entry in enumerate(rows[0]["timing"]):
        own = {row["method"]: row["timing"][place]["speedup"] for row in rows if row["method"] != "ar"}
        known = {name: value for name, value in own.items() if value is not None}
        if known:
            best = max(known, key=lambda name: known[name])
            slower = sum(value < 1 for value in known.values())
            text = f"{slower} of {len(known)} methods are slower than ar" if slower else "none is slower than ar"
            parts.append(f"At batch {entry['batch']} {best} is fastest, {known[best]:.2f} times as fast as ar; {text}.")
    return " ".join(parts)


def _tested(found: Compared) -> str:
    """How many methods pass, and what that is worth."""
    own = [row for row in found.methods if row["checks"]]
    if not own:
        return "No lossless method was compared."
    testing, failed = found.document["testing"], []
    for row in own:
        failed += [row["method"]] if not all(check["passes"] for check in row["checks"].values()) else []
    passed = f"{len(own) - len(failed)} of {len(own)} lossless methods are indistinguishable from ar"
    seen = [f"{text} {_detects(own[0]['checks'][name])}" for name, text in TESTS.items()]
    return (
        f"{passed}{': all but ' + ', '.join(failed) if failed else ''}. Each is tested in four ways, the last three "
        f"against {testing['against']}; all {testing['tests']} tests together raise a false alarm with probability at "
        f"most {testing['false_alarms']:g}. With probability {own[0]['checks']['ranks']['power']:g} a test sees a "
        f"deviation of at least: {'; '.join(seen)}. Smaller ones, and "
        "finer ones than the cells, can stay unseen."
    )


def _detects(check: dict[str, Any]) -> str:
    return (
        f"(TV {check['detects']:.2g} over {check['cells']} cells)"
        if check["detects"] is not None
        else "(none for certain)"
    )


def _reach(found: Compared) -> str:
    near, columns = found.document["locality"], found.document["shape"][1]
    at = dict(zip(near["offsets"], near["tv"], strict=True))
    named = {1: "right behind it", columns: "right below it", 2 * columns: "two rows below it"}
    parts = [f"{at[place]:.3f} {text}" for place, text in named.items() if place in at]
    between = [value for place, value in at.items() if place % columns and place > 1]
    rest = f", and {np.median(between):.3f} in the median of the other places" if between else ""
    return (
        f"Replacing a token changes the rows of later ones by TV {', '.join(parts)}{rest} "
        f"({near['places']} tokens in each of {near['images']} images, one at a time)."
    )
