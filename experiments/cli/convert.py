"""``simlab model convert``: a published checkpoint of MAR as safetensors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.options import count_option, file_option
from experiments.terminal import UsageError, check_copy, output, print_text, wrong_usage


def convert_command(
    checkpoint: Annotated[
        Path, typer.Argument(metavar="FILE", help="checkpoint-last.pth or kl16.ckpt", show_default=False)
    ],
    out: Annotated[Path, file_option("--out", "where to write (.safetensors)")],
    heads: Annotated[int | None, count_option("--heads", "of attention, for a size that was not published")] = None,
) -> int:
    """Write a published checkpoint of MAR as safetensors.

    Of the transformer and its head the running average is taken, of kl16.ckpt the autoencoder; names and precision stay
    as they are. No pickle is executed. A file that misses a tensor, or has one more, or one of another shape, is
    refused by its name, and nothing is written. Needs torch.
    """
    from experiments.results import write
    from simlab.continuous.networks.mar.files import converted

    if out.suffix != ".safetensors":
        raise UsageError(f"--out {out}: expected a name that ends in .safetensors")
    check_copy("--out", out)
    with wrong_usage():
        content = converted(checkpoint, heads)
    write(out, lambda temporary: temporary.write_bytes(content))
    print_text(output(), f"weights {out}, {len(content) / 1e6:.1f} MB")
    return 0
