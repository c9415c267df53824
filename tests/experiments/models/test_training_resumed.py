"""A training that goes on from what was saved, or says why it cannot; and data that is cut off on its way."""

from __future__ import annotations

from http.client import IncompleteRead
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
import torch

from experiments.training import data, loop
from experiments.training.autoencoder import AutoencoderTask
from experiments.training.loop import Plan, train
from simlab.continuous.networks.autoencoder import Autoencoder, AutoencoderConfig
from tests.support.refusals import refused

pytestmark = pytest.mark.exact

IMAGES = torch.rand(24, 1, 8, 8, generator=torch.Generator().manual_seed(0))


class Killed(Exception):
    pass


def trained(state: Path, steps: int, last: int | None = None) -> Autoencoder:
    """An autoencoder after ``steps``; killed after the ``last`` of them, if there is one."""

    def notify(step: int, text: str) -> None:
        if step == last:
            raise Killed

    task = AutoencoderTask(IMAGES, AutoencoderConfig(8, 4, 8), 0, steps)
    train(task, Plan(steps, 8, 1e-3, 0.0, 0), state, torch.device("cpu"), notify)
    return task.model


def test_more_steps_after_the_last_measure_tokens_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is saved at the end has tokens of mean 0 already; those of the network itself are measured again."""
    monkeypatch.setattr(loop, "SAVE_EVERY", 2)
    trained(tmp_path / "state", 4)
    further = trained(tmp_path / "state", 6)
    with torch.no_grad():
        laws = further.encode(IMAGES)
    assert laws.mean.mean((0, 1)).abs().max() < 1e-5
    assert (laws.mean.var((0, 1)) + laws.sd.square().mean((0, 1)) - 1).abs().max() < 1e-5


@pytest.mark.parametrize("steps", [1, 2])
def test_no_fewer_steps_than_were_taken(steps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What belongs to the last step would be left out."""
    monkeypatch.setattr(loop, "SAVE_EVERY", 2)
    with pytest.raises(Killed):
        trained(tmp_path / "state", 4, last=3)
    refused(lambda: trained(tmp_path / "state", steps), "has taken 2 steps", f"more than {steps}")
    assert float(trained(tmp_path / "state", 3).spread.std()) > 0


NUMBERS = dict.fromkeys((*loop.Progress._fields, "plan"), 3)


@pytest.mark.parametrize("content", [torch.ones(3), [1], {"plan": 3}, NUMBERS])
def test_a_state_of_something_else_is_refused(content: Any, tmp_path: Path) -> None:
    torch.save(content, tmp_path / "state")
    refused(lambda: trained(tmp_path / "state", 2), str(tmp_path / "state"), "saved state")


def test_a_state_of_a_model_with_other_parts_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SAVE_EVERY", 2)
    with pytest.raises(Killed):
        trained(tmp_path / "state", 4, last=3)
    saved = torch.load(tmp_path / "state", weights_only=True)
    for part, other in (("weights", {}), ("weights", dict.fromkeys(saved["weights"], IMAGES)), ("optimiser", {})):
        torch.save({**saved, part: other}, tmp_path / "state")
        refused(lambda: trained(tmp_path / "state", 4), str(tmp_path / "state"), "saved state of such a model")


def test_a_download_that_is_cut_off_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(address: str, timeout: float) -> Any:
        raise IncompleteRead(b"", 5)

    monkeypatch.setattr(data, "urlopen", cut)
    refused(lambda: data._download("https://there"), "https://there", "IncompleteRead")
