"""``simlab model device``: time the parts of a decoding step on a device, as JSON and as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from experiments.cli.options import DISCRETE, GUIDANCE, Model, Models, Small
from experiments.options import file_option, option
from experiments.terminal import UsageError, advancing, check_copy, error_output, output, plain_table, print_text


def device_command(
    device: Annotated[str | None, option("cuda, or cpu with --small; cpu with the options below", "NAME")] = None,
    small: Small = False,
    curve: Annotated[bool, option("what a call of a model costs by its rows", name="--curve")] = False,
    compression: Annotated[bool, option("tokens a step by method and window", name="--compression")] = False,
    payoff: Annotated[bool, option("speedup by batch and window, predicted and measured", name="--map")] = False,
    batches: Annotated[list[int] | None, option("images at once (repeatable)", "N", "--batch", min=1)] = None,
    model: Model = "fashion",
    models: Models = None,
    guidance: Annotated[float | None, GUIDANCE] = None,
    out: Annotated[Path | None, file_option("--out", "where to write")] = None,
) -> int:
    """Measure what a step costs on a device.

    Times the parts of a step over models of official size with random weights, verification over vocabularies of
    thousands, and the cache, with warm-up and synchronised; written to out/device.json after each part. Parts are kept
    beside it until all are there, and the same command goes on from them. Needs torch.

    With --curve the calls of a model by their rows instead (out/curve.json, which simlab generate takes), with
    --compression the tokens that methods commit a step (out/compression.json), with --map how fast methods are at
    several batches, predicted and measured (out/map.json, drawn on the page of models).
    """
    if curve + compression + payoff > 1:
        raise UsageError("--curve, --compression and --map measure different things; expected one of them")
    if model != DISCRETE and not curve:
        raise UsageError(f"--model {model}: is for --curve; expected {DISCRETE}, whose methods are known")
    _check_used("--models", models, curve or compression or payoff, "--curve, --compression or --map")
    _check_used("--batch", batches, curve or payoff, "--curve or --map")
    _check_used("--guidance", guidance, curve or payoff, "--curve or --map")
    _check_used("--small", small or None, not (curve or compression or payoff), "the parts of a step")
    if not (curve or compression or payoff):
        return _parts(device or "cuda", small, out or Path("out/device.json"))
    from experiments.cli import curve as kinds

    place, scale = device or "cpu", 1.0 if guidance is None else guidance
    if curve:
        return kinds.curve(model, models, place, scale, batches, out or Path("out/curve.json"))
    if compression:
        return kinds.compression(models, place, out or Path("out/compression.json"))
    return kinds.payoff(models, place, scale, batches, out or Path("out/map.json"))


def _check_used(option: str, value: Any, used: bool, where: str) -> None:
    if value is not None and not used:
        raise UsageError(f"{option}: is for {where}; expected none")


def _parts(device: str, small: bool, out: Path) -> int:
    """The parts of a step over models of official size."""
    import torch

    from experiments.models.device import measure, plan_for
    from experiments.models.session import OutOfMemory, check_device, memory
    from experiments.results import write_json

    try:
        check_device(device)
    except ValueError as error:
        raise UsageError(f"--device {error}, and --small sizes") from None
    if torch.device(device).type == "cpu" and not small:
        raise UsageError("--device cpu: models of official size need a CUDA device; expected --small sizes")
    check_copy("--out", out)
    try:
        with advancing("device") as tell, memory():
            parts = out.with_suffix(".parts")
            for found in measure(plan_for(device, small), parts, lambda what: tell(description=what)):
                write_json(out, found)
    except OutOfMemory as error:
        print_text(error_output(), f"simlab: --device {device}: {error}")
        return 1
    _print(found, out)
    return 0


def _print(found: dict[str, Any], out: Path) -> None:
    console = output()
    print_text(console, f"{found['device']}, torch {found['versions']['torch']}", "bold")
    rows = [
        (model, part, *_times(entry)) for model, parts in found["breakdown"].items() for part, entry in _each(parts)
    ]
    for entry in found["verification"]:
        name = f"{entry['decoder']}, V = {entry['vocabulary']}, L = {entry['window']}"
        rows += [
            ("verification", f"{name}, {way}", *_times(own)) for way, own in entry.items() if isinstance(own, dict)
        ]
    console.print(plain_table(console, ("of", "part", "ms", "on the device", ""), rows))
    print_text(console, f"written   {out}")


def _each(parts: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The entries with a time, those of parts and the cache among them, or the one that says why there is none."""
    if "not_measured" in parts:
        return [("", parts)]
    within = {f"step: {part}": entry for part, entry in parts["parts"].items()}
    flat = {key: entry for key, entry in parts.items() if key not in ("sizes", "cache", "parts")}
    flat |= {"a copy of the cache": parts["cache"]["copy_of_all"]} | within
    return [(key.replace("_", " "), entry) for key, entry in flat.items()]


def _times(entry: dict[str, Any]) -> tuple[str, str, str]:
    """The times of an entry and, where there are none, why."""
    if "not_measured" in entry:
        return "", "", f"not measured: {entry['not_measured']}"
    device = f"{entry['device_ms']:.3f}" if "device_ms" in entry else ""
    return f"{entry['ms']:.3f}", device, ""
