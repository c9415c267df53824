"""Tables of a comparison of methods on a model, and sentences with its numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup

from reports.data.models import Compared
from reports.pages.elements import Table
from reports.site.html import number

TESTS = {  # and what each is about
    "ranks": "ranks of tokens under the target's rows",
    "likelihood": "likelihoods of images",
    "features": "the classifier's features of images",
    "accuracy": "how often the classifier sees the label",
}


def calls(found: Compared) -> Table:
    """What each method is, and the calls it takes."""
    batches = [entry["batch"] for entry in found.methods[0]["timing"]]
    columns = [
        "method",
        "decoder x rule",
        "drafts by",
        "",
        "drafts a call",
        "steps",
        "tokens a call",
        "accepted a call",
    ]
    rows = [
        [
            row["method"],
            " x ".join(filter(None, (row["decoder"], row["rule"]))),
            {None: "–" if row["nodes"] == 0 else "itself", "head": "the head"}.get(row["drafter"], "the draft model"),
            "lossless" if row["lossless"] else "lossy",
            str(row["nodes"]),
            _with_error(row["steps"], 1),
            _with_error(row["compression"], 3),
            number(row["accepted"]["mean"], 2),
            *(_times(entry["speedup"]) for entry in row["timing"]),
        ]
        for row in found.methods
    ]
    note = "Means of images, ± one standard error. Speedup: seconds an image of ar, over those of the method."
    return Table("Calls", [*columns, *(f"speedup, batch {batch}" for batch in batches)], rows, note, words=4)


def time(found: Compared) -> Table:
    """Where the time of a step goes."""
    memory = any(entry["peak_bytes"] is not None for row in found.methods for entry in row["timing"])
    rows = [
        [
            row["method"],
            str(entry["batch"]),
            f"{entry['seconds']:.4g}",
            *(number(entry[part], 2) for part in ("step_ms", "target_ms", "draft_ms", "overhead_ms")),
            f"{entry['overhead_ms'] / entry['step_ms']:.0%}",
            *([f"{entry['peak_bytes'] / 2**20:.0f}" if entry["peak_bytes"] is not None else "–"] if memory else []),
        ]
        for row in found.methods
        for entry in row["timing"]
    ]
    columns = ["method", "batch", "s an image", "step, ms", "target, ms", "drafter, ms", "overhead, ms", "overhead"]
    return Table("Time", [*columns, *(["peak, MiB"] if memory else [])], rows)


def quality(found: Compared) -> Table:
    """What comes out: how good it is, and whether it is what the target says."""
    held_out = any(row["quality"]["frechet_to_held_out"] is not None for row in found.methods)
    rows = []
    for row in found.methods:
        own, far = row["quality"], row["distortion"]
        rows.append(
            [
                row["method"],
                verdict(row),
                _pair(own["bits_per_token"], own["bits_per_token_error"], 3),
                _pair(own["accuracy"], own["accuracy_error"], 3),
                number(own["frechet_to_ar"]),
                *([number(own["frechet_to_held_out"])] if held_out else []),
                *(_pair(far[key], far[f"{key}_error"], 3) if far else "–" for key in ("tv", "wasserstein")),
            ]
        )
    columns = ["method", "verdict", "bits a token", "accuracy", "Fréchet to ar", "TV", "Wasserstein-1"]
    if held_out:
        columns.insert(5, "Fréchet to held-out")
    note = (
        "Fréchet: distance on features of simlab's classifier, to images of ar with other random numbers, or to "
        "held-out ones; no number on other features compares with it. TV and Wasserstein-1: of the law of a "
        f"committed token from the target's row, exact; a code is {found.document['nearest_codes']:.3g} from its "
        "nearest neighbour in the mean. A tree of drafts is not measured so."
    )
    return Table("Quality", columns, rows, note, words=2)


def replayed(document: dict[str, Any]) -> Table:
    """What every rule does in the contexts of a recorded run."""
    measured = "acceptance", "gained", "tv", "wasted", "wasserstein", "kept"
    rows = [[row["rule"], row["parameters"], *(number(row[name], 4) for name in measured)] for row in document["rules"]]
    columns = ["rule", "parameters", "acceptance", "gained", "TV", "wasted", "Wasserstein-1", "accepted of a window"]
    note = "Gained: acceptance beyond the lossless rule's. Wasted: TV beyond what is gained."
    return Table("Rules", columns, rows, note, words=2)


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
    rows = []
    for row in found.methods:
        cells = [_p_value(row["checks"][name]) for name in TESTS] if row["checks"] else None
        rows += [[row["method"], *cells]] if cells else []
    return Table("Tests", ["method", *TESTS], rows)


def _p_value(check: dict[str, Any]) -> str:
    text = f"{check['p_value']:.2g}"
    return text if check["passes"] else _red(text)


def _red(text: str) -> Markup:
    return Markup('<strong class="refuted" style="color: var(--tone)">{}</strong>').format(text)


def _times(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f} ×"


def _with_error(found: dict[str, float], digits: int) -> str:
    return _pair(found["mean"], found["error"], digits)


def _pair(mean: float | None, error: float | None, digits: int) -> str:
    return number(mean, digits) if mean is None or error is None else f"{mean:.{digits}f} ± {error:.{digits}f}"


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
        f"deviation of at least: {'; '.join(seen)}. Smaller ones can stay unseen."
    )


def _detects(check: dict[str, Any]) -> str:
    return f"(TV {check['detects']:.2g})" if check["detects"] is not None else "(none for certain)"


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
