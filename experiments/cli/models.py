"""The commands that drive real models: ``train``, ``generate``, ``compare``, ``record``, ``replay``, ``device``.

Their parsers, and nothing that brings torch before one of them is called.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console

from experiments.cli.terminal import UsageError, seed


def add_model_commands(commands: Any) -> None:
    """Add their parsers to the ``commands`` of the command line."""
    _add_train(commands)
    _add_generate(commands)
    _add_compare(commands)
    _add_record(commands)
    _add_replay(commands)
    _add_device(commands)


def _add_train(commands: Any) -> None:
    train = commands.add_parser(
        "train",
        help="train a small image model",
        description="Train one of the models that come with simlab on Fashion-MNIST: the tokenizer first, then what is "
        "built on it. Killed at any instant, the same command goes on from the last saved state. Needs torch.",
    )
    train.add_argument("model", choices=("tokenizer", "classifier", "target", "draft", "head"), help="which")
    train.add_argument("--out", metavar="DIR", type=Path, default=Path("out/models"), help="models (out/models)")
    train.add_argument("--data", metavar="DIR", type=Path, help="the four files (Debian's package, or a download)")
    train.add_argument("--device", metavar="NAME", default="cpu", help="cpu or cuda (cpu)")
    train.add_argument("--precision", choices=("float32", "bfloat16"), help="of the products (float32)")
    train.add_argument("--compile", dest="compiled", action="store_true", default=None, help="the model, by torch")
    train.add_argument("--steps", metavar="N", type=int, help="instead of the plan's")
    train.add_argument("--batch", metavar="N", type=int, help="examples a step, instead of the plan's")
    train.add_argument("--rate", metavar="R", type=float, help="of learning, instead of the plan's")
    train.add_argument("--seed", metavar="N", type=seed, help="of weights, order and noise (0)")
    train.set_defaults(command=_train)


def _add_generate(commands: Any) -> None:
    generate = commands.add_parser(
        "generate",
        help="generate images with a model by any method",
        description="Draw images with a model that comes with simlab, or one of simlab train, and write them as "
        "a grid. The same seed gives the same tokens, however many are drawn at a time, but for rounding. Needs torch.",
        epilog="METHOD is ar, jacobi, speculative, eagle, sjd, sjd-repeat-left, sjd-repeat-above, sjd-sample-left, "
        "sjd-sample-above, sjd-pd, sjd-ac, sjd-pac, gsd, lantern, another decoder, or one of these and a rule, as in "
        "sjd-pac+grouped.",
    )
    generate.add_argument("--method", metavar="METHOD", default="sjd-pac", help="decoder and rule (sjd-pac)")
    generate.add_argument("--label", metavar="NAME", default="all", help="of the class, or all (all)")
    generate.add_argument("--count", metavar="N", type=int, default=16, help="images (16)")
    generate.add_argument("--out", metavar="FILE", type=Path, default=Path("out/grid.png"), help="(out/grid.png)")
    generate.add_argument("--tokens", metavar="FILE", type=Path, help="write tokens, labels and steps here (.npz)")
    generate.add_argument(
        "--set", dest="settings", metavar="KEY=VALUE", action="append", default=[], help="a parameter (repeatable)"
    )
    _model_options(generate)
    generate.set_defaults(command=_generate)


def _add_compare(commands: Any) -> None:
    compare = commands.add_parser(
        "compare",
        help="compare all methods on one model",
        description="Draw the same images by every method, with the same random numbers, and write what each takes "
        "(steps, accepted lengths, time, memory) and what it gives (tests against the target's law, distances, "
        "accuracy, likelihood): compare.json, compare.npz, compare.parquet and samples.png. Needs torch.",
    )
    compare.add_argument("--methods", metavar="A,B,...", help="which, as simlab generate names them (all)")
    compare.add_argument("--count", metavar="N", type=int, default=100, help="images of each method (100)")
    compare.add_argument(
        "--timing-batch", dest="timing", metavar="N", type=int, action="append", help="time so many images (1, 16)"
    )
    compare.add_argument("--data", metavar="DIR", type=Path, help="the four files of Fashion-MNIST, if elsewhere")
    compare.add_argument("--out", metavar="DIR", type=Path, default=Path("out/compare"), help="(out/compare)")
    _model_options(compare)
    compare.set_defaults(command=_compare)


def _add_record(commands: Any) -> None:
    record = commands.add_parser(
        "record",
        help="save the rows of a run of a model",
        description="Draw images as simlab generate does, and save what was verified: for every draft in a window the "
        "target's row, the row declared for the draft, the token, and where it stood. simlab replay puts every rule "
        "through it. Needs torch.",
    )
    record.add_argument("--method", metavar="METHOD", default="sjd", help="as of simlab generate (sjd)")
    record.add_argument("--label", metavar="NAME", default="all", help="of the class, or all (all)")
    record.add_argument("--count", metavar="N", type=int, default=8, help="images (8)")
    record.add_argument("--calls", metavar="N", type=int, default=8, help="of each image, spread over it (8)")
    record.add_argument("--out", metavar="FILE", type=Path, default=Path("out/rows.npz"), help="(out/rows.npz)")
    record.add_argument(
        "--set", dest="settings", metavar="KEY=VALUE", action="append", default=[], help="a parameter (repeatable)"
    )
    _model_options(record)
    record.set_defaults(command=_record)


def _add_replay(commands: Any) -> None:
    replay = commands.add_parser(
        "replay",
        help="put every rule through saved rows",
        description="What each rule would accept and emit in the contexts of a recorded run: acceptance, TV and "
        "Wasserstein-1 of its law, computed and not sampled, and the drafts it keeps of a window.",
    )
    replay.add_argument("recording", metavar="FILE", type=Path, help="what simlab record wrote")
    replay.add_argument(
        "--out", metavar="DIR", type=Path, default=Path("out/replay"), help="where to write (out/replay)"
    )
    replay.add_argument("--rule", metavar="NAME", action="append", default=[], help="only this rule (repeatable)")
    replay.add_argument(
        "--rows", metavar="N", type=int, help="whose laws are computed, at most (256, or 32 beyond 4096 tokens)"
    )
    replay.set_defaults(command=_replay)


def _add_device(commands: Any) -> None:
    device = commands.add_parser(
        "device",
        help="measure what a step costs on a device",
        description="Time the parts of a step over models of official size with random weights, verification over "
        "vocabularies of thousands, and the cache, with warm-up and synchronised. Needs torch.",
    )
    device.add_argument("--device", metavar="NAME", default="cuda", help="cuda, or cpu with --small (cuda)")
    device.add_argument("--small", action="store_true", help="small sizes: a look at whether it runs")
    device.add_argument("--out", metavar="FILE", type=Path, default=Path("out/device.json"), help="(out/device.json)")
    device.set_defaults(command=_device)


# what they call ----------------------------------------------------------------------------------------------------


def _train(options: argparse.Namespace) -> int:
    plan = {name: getattr(options, name) for name in ("precision", "compiled", "steps", "batch", "rate", "seed")}
    return _run("train", options.model, options.out, options.data, options.device, **plan)


def _model_options(parser: argparse.ArgumentParser) -> None:
    """What commands ask that draw with a model."""
    parser.add_argument("--model", choices=("fashion",), default="fashion", help="which model (fashion)")
    parser.add_argument("--models", metavar="DIR", type=Path, help="checkpoints, instead of those that come along")
    parser.add_argument("--guidance", metavar="S", type=float, default=1.0, help="scale; 1 is none (1)")
    parser.add_argument("--temperature", metavar="T", type=float, default=1.0, help="of the rows (1)")
    parser.add_argument("--top-k", metavar="K", type=int, help="only the likeliest K tokens")
    parser.add_argument("--top-p", metavar="P", type=float, help="only the likeliest tokens, of mass P")
    parser.add_argument("--seed", metavar="N", type=seed, default=0, help="of all chance (0)")
    parser.add_argument("--device", metavar="NAME", default="cpu", help="cpu or cuda (cpu)")
    parser.add_argument("--batch", metavar="N", type=int, default=32, help="images at a time (32)")


def _model_values(options: argparse.Namespace) -> dict[str, Any]:
    names = "models", "guidance", "temperature", "top_k", "top_p", "seed", "device", "batch"
    return {name: getattr(options, name) for name in names}


def _generate(options: argparse.Namespace) -> int:
    own = {name: getattr(options, name) for name in ("method", "label", "count", "out", "settings", "tokens")}
    return _run("generate", **own, **_model_values(options))


def _compare(options: argparse.Namespace) -> int:
    own = {name: getattr(options, name) for name in ("methods", "count", "timing", "data", "out")}
    return _run("compare", **own, **_model_values(options))


def _record(options: argparse.Namespace) -> int:
    own = {name: getattr(options, name) for name in ("method", "label", "count", "calls", "out", "settings")}
    return _run("record", **own, **_model_values(options))


def _replay(options: argparse.Namespace) -> int:
    return _run("replay", options.recording, options.out, options.rule, options.rows)


def _device(options: argparse.Namespace) -> int:
    return _run("device", options.device, options.small, options.out)


def _run(command: str, *given: Any, **named: Any) -> int:
    """Run a command, whose file is loaded only now; returns the exit status."""
    try:
        module = import_module(f"experiments.cli_{command}")
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "safetensors"):
            raise
        raise UsageError(f"{command} needs {error.name}: make models, or pip install 'simlab[torch]'") from None
    try:
        status: int = getattr(module, f"{command}_command")(*given, **named)
    except KeyboardInterrupt:
        Console(stderr=True, highlight=False).print("simlab: interrupted; nothing was written")
        return 130
    return status
