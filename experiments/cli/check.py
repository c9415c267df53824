"""``simlab model check``: say what a model of the user's own lacks to be decoded."""

from __future__ import annotations

from typing import Annotated

import typer

from experiments.cli.options import Device
from experiments.terminal import output, plain_table, print_text, wrong_usage

COLOURS = {"passes": "green", "fails": "red"}


def check_command(
    spec: Annotated[str, typer.Argument(metavar="MODULE:NAME", help="where the model is", show_default=False)],
    device: Device = "cpu",
) -> int:
    """Check a model of your own, before decoders run it.

    NAME is a function without arguments that makes a model, or a model; the module may be a file: path/to/file.py.
    Tries each part of it on a few tokens, and whether rows depend on earlier tokens only, and are the same with keys
    and values kept or not, alone or in a batch. Exit status 1 if anything is missing or wrong. Needs torch.
    """
    from rich.text import Text

    from experiments.models.own import made
    from experiments.models.session import check_device
    from simlab.models.check import CHECKS, check_model

    with wrong_usage():
        model = made(spec, check_device(device))
    findings = check_model(model)
    rows = []
    for finding in findings:
        outcome = "passes" if finding.problem is None else "fails"
        rows.append((finding.check, Text(outcome, style=COLOURS[outcome]), ""))
    console = output()
    console.print(plain_table(console, (spec, "", ""), rows))
    problems = [finding for finding in findings if finding.problem is not None]
    for finding in problems:
        print_text(console, f"{finding.check}: {finding.problem}", "bold")
    left = list(CHECKS)[len(findings) :]
    if left:
        print_text(console, f"not checked, as they stand on what fails: {', '.join(left)}")
    if not problems:
        print_text(console, f"nothing is missing: simlab generate --model {spec}")
    return 1 if problems else 0
