"""Checkpoints: safetensors, with what the model is and how it was made beside the weights. No pickle is executed.

A file of this project holds the weights in half precision, and as metadata the kind of model, its
sizes, and the record of its training. Files of others are read by :func:`read_weights`: safetensors, or PyTorch's
own with nothing but tensors in them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

SHOWN = 6  # names of keys an error lists

Model = TypeVar("Model", bound=nn.Module)


class CheckpointError(ValueError):
    """A checkpoint that cannot be what it is said to be."""


def first_line(error: Exception) -> str:
    """What an error says, or else what it is called."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def packed(model: nn.Module, kind: str, record: Mapping[str, Any]) -> bytes:
    """The file of a ``model`` with a ``config``: its weights, ``kind``, sizes, and the ``record`` of its training.

    Raises :class:`CheckpointError` for weights that are no numbers, as after a training that came to nothing.
    """
    weights = {name: t.half() if t.is_floating_point() else t for name, t in model.state_dict().items()}
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}
    for name, tensor in weights.items():
        if not tensor.isfinite().all():
            raise CheckpointError(f"{name} of the {kind} holds NaN or infinities in {tensor.dtype}; expected numbers")
    config = asdict(model.config)  # type: ignore[call-overload]
    return save(weights, {"kind": kind, "config": json.dumps(config), "record": json.dumps(record)})


def read_description(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The sizes and the training record of a checkpoint of that ``kind``.

    Raises :class:`CheckpointError` for a file that is missing, no safetensors, or of another kind.
    """
    _check_file(path)
    try:
        with safe_open(path, "pt") as file:
            described = file.metadata() or {}
    except FileNotFoundError:
        raise CheckpointError(f"{path}: there is no such file; expected a checkpoint of a {kind}") from None
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path}: {error}; expected a safetensors file") from None
    if described.get("kind") != kind:
        raise CheckpointError(f"{path}: is of the kind {described.get('kind')!r}; expected {kind!r}")
    try:
        sizes, record = (json.loads(described[part]) for part in ("config", "record"))
    except (KeyError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: {error}; expected sizes and a record of the training as metadata") from None
    if not isinstance(sizes, dict) or not isinstance(record, dict):
        raise CheckpointError(f"{path}: sizes are {sizes!r}; expected them by name")
    return sizes, record


def _check_file(path: Path) -> None:
    """Raise :class:`CheckpointError` for what is there and no file: a pipe would be waited for."""
    if path.exists() and not path.is_file():
        raise CheckpointError(f"{path}: is no file; expected a checkpoint")


def load_plain(path: Path) -> Any:
    """What a file of torch holds, on the host. Raises ``ValueError`` for more than tensors and plain values."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except UnpicklingError:  # whose words advise to load it all the same
        raise ValueError("is no file of torch, or holds more than tensors") from None


def read_weights(path: Path, inside: tuple[str, ...] = ()) -> dict[str, Tensor]:
    """The tensors of a checkpoint: safetensors, or ``.pt``/``.pth``, there under one of the keys ``inside`` or bare.

    Raises :class:`CheckpointError` for a file that is missing, of another format, or that holds more than tensors.
    """
    if not path.is_file():
        raise CheckpointError(f"{path}: there is no such file; expected a checkpoint")
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        content = load_plain(path)
    except Exception as error:  # whatever a broken or hostile file makes of the readers
        raise CheckpointError(
            f"{path}: {first_line(error)}; expected safetensors, or a .pt file with nothing but tensors"
        ) from None
    for key in inside:
        if isinstance(content, dict) and isinstance(content.get(key), dict):
            content = content[key]
            break
    if not isinstance(content, dict) or not all(isinstance(value, Tensor) for value in content.values()):
        raise CheckpointError(f"{path}: expected named tensors{', under ' + ' or '.join(inside) if inside else ''}")
    for name, tensor in content.items():
        if not isinstance(name, str):
            raise CheckpointError(f"{path}: a tensor has the name {name!r}; expected text")
        if tensor.layout != torch.strided or tensor.is_nested or tensor.is_meta:
            raise CheckpointError(f"{path}: {name} is sparse, nested, or without numbers; expected a plain tensor")
    return content


def read_folder(folder: Path) -> dict[str, Tensor]:
    """The tensors of ``model.safetensors`` in a folder, or of all files that its index names.

    Raises :class:`CheckpointError` for what is missing, of another format, or outside of the folder.
    """
    index = folder / "model.safetensors.index.json"
    if not index.is_file():
        return read_weights(folder / "model.safetensors")
    places = read_json(index).get("weight_map")
    files = list(places.values()) if isinstance(places, dict) else []
    named = all(isinstance(file, str) for file in files)
    files = sorted(set(files)) if named else files
    if not files or not named or any(Path(file).name != file for file in files):
        raise CheckpointError(f"{index}: its weight_map names {files}; expected files beside it")
    return {name: tensor for file in files for name, tensor in read_weights(folder / file).items()}


def read_json(path: Path) -> dict[str, Any]:
    """What a JSON file says, by names. Raises :class:`CheckpointError` where it is missing or no such thing."""
    _check_file(path)
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise CheckpointError(f"{path}: there is no such file; expected what describes a model") from None
    except (ValueError, RecursionError):
        raise CheckpointError(f"{path}: is no JSON; expected what describes a model") from None
    if not isinstance(described, dict):
        raise CheckpointError(f"{path}: is no JSON object; expected what describes a model, by names")
    return described


class _Unfilled(TorchFunctionMode):
    """Weights are left without numbers: to draw those that are nowhere, torch loads its compiler, which takes
    seconds."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function.__name__ == "normal_":
            return args[0] if args else kwargs["tensor"]
        return function(*args, **(kwargs or {}))


def shapes_of(make: Callable[[], nn.Module]) -> dict[str, torch.Size]:
    """The shapes of the tensors of a model, by name: sizes are looked at before there is room for them."""
    with torch.device("meta"), _Unfilled():
        return {name: tensor.shape for name, tensor in make().state_dict().items()}


def filled(
    make: Callable[[], Model],
    weights: Mapping[str, Tensor],
    path: Path,
    dtype: torch.dtype,
    device: torch.device | str,
    ignored: tuple[str, ...] = (),
    named: Callable[[str], str] = str,
) -> Model:
    """What ``make`` builds with these ``weights``, in evaluation mode and frozen; none are drawn before.

    ``ignored``, ``named``, and what is raised: as of :func:`fill`.
    """
    with torch.device("meta"), _Unfilled():
        model = make()
    model = model.to(dtype).to_empty(device=device)
    fill(model, weights, path, ignored, named)
    return model.eval().requires_grad_(False)


def fill(
    model: nn.Module,
    weights: Mapping[str, Tensor],
    path: Path,
    ignored: tuple[str, ...] = (),
    named: Callable[[str], str] = str,
) -> None:
    """Copy ``weights`` into ``model``, each into its own name and shape; names in ``ignored`` may be there.

    ``named`` gives what the file calls a tensor of the model. Raises :class:`CheckpointError` naming what is missing,
    unexpected, of another shape, or no number.
    """
    wanted = {named(name): tensor for name, tensor in model.state_dict().items()}
    given = {name: tensor for name, tensor in weights.items() if name not in ignored}
    check_shapes(given, {name: tensor.shape for name, tensor in wanted.items()}, path, type(model).__name__)
    for name, tensor in given.items():
        if tensor.is_floating_point() != wanted[name].is_floating_point():
            raise CheckpointError(f"{path}: {name} is of {tensor.dtype}; expected {wanted[name].dtype}, or as precise")
        placed = tensor.to(wanted[name].dtype)  # in which a large number may be infinite
        if not placed.isfinite().all():
            raise CheckpointError(f"{path}: {name} holds NaN or infinities in {placed.dtype}; expected numbers")
        with torch.no_grad():
            wanted[name].copy_(placed)


def check_shapes(given: Mapping[str, Tensor], wanted: Mapping[str, torch.Size], path: Path, kind: str) -> None:
    """Raise :class:`CheckpointError` naming what a ``kind`` misses in ``given``, what is unexpected or misshapen."""
    for what, names in (("is missing", wanted.keys() - given.keys()), ("has unexpected", given.keys() - wanted.keys())):
        if names:
            raise CheckpointError(f"{path}: {what} {listed(sorted(names))}; expected the keys of {kind}")
    for name, tensor in given.items():
        if tensor.shape != wanted[name]:
            raise CheckpointError(f"{path}: {name} has the shape {tuple(tensor.shape)}; expected {tuple(wanted[name])}")


# sizes that the tensors of published files tell --------------------------------------------------------------------


def shape_of(weights: Mapping[str, Tensor], name: str, dimensions: int, path: Path, kind: str) -> tuple[int, ...]:
    """The shape of a tensor of so many dimensions. Raises :class:`CheckpointError` where a ``kind`` has none."""
    if name not in weights:
        raise CheckpointError(f"{path}: is missing {name}; expected the keys of {kind}")
    shape = tuple(weights[name].shape)
    if len(shape) != dimensions:
        raise CheckpointError(f"{path}: {name} has the shape {shape}; expected {dimensions} dimensions")
    return shape


def count_of(weights: Mapping[str, Tensor], stem: str) -> int:
    """How many numbers follow ``stem`` in names."""
    return len({name[len(stem) + 1 :].split(".")[0] for name in weights if name.startswith(f"{stem}.")})


def known_heads(sizes: Mapping[str, Any], layers: int, dim: int) -> int:
    """The heads of the one of published models, by their names, that has so many ``layers`` of width ``dim``.

    Raises ``ValueError`` where there is none.
    """
    for size in sizes.values():
        if (layers, dim) == (size.layers, size.dim):
            return int(size.heads)
    known = ", ".join(f"{name} ({size.layers} x {size.dim})" for name, size in sizes.items())
    raise ValueError(f"heads is None for {layers} layers of width {dim}; expected heads, or one of {known}")


def listed(names: list[str]) -> str:
    """The first few names."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
