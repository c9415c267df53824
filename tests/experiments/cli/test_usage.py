"""What every command must do, over all that are registered: help, wrong usage, files that cannot be written."""

from __future__ import annotations

import os
import re
import shlex
import socket
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from typer.main import get_command

from experiments.cli.main import MOVED, app, main
from experiments.locks import locked
from experiments.models.discrete.methods import METHODS
from experiments.options import run_module
from simlab.decoders import DECODERS
from simlab.registry import meant
from simlab.rules import RULES as KNOWN_RULES
from tests.support.callables import MINE, RULES
from tests.support.cli import files_of, usage_error, written
from tests.support.sweeps import MANY
from theory.claims import CLAIMS
from theory.words import distance

pytestmark = pytest.mark.cli

GUIDE = (Path(__file__).parents[3] / "docs" / "own-models.md").read_text(encoding="utf-8")
FILES = {
    "mine.py": MINE,
    "rules.py": RULES,
    "own.py": files_of(GUIDE)["mine.py"],
    "failing.py": "1 / 0",
    "needy.py": "import absent",
    "syntax.py": "def f(:\n    pass",
    "leaves.py": "raise SystemExit(5)",
    "broken.json": "[]",
    "deep.json": "[" * 100_000,
    "lists.json": '{"claims": [{"id": "gsd.speed", "verdict": ["holds"]}]}',
    "good.toml": MANY,
    "bad.toml": MANY.replace('title = "', 'title "'),
    "window0.toml": MANY.replace("window = 8", "window = 0"),
}


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with something for every command, as the current one."""
    pytest.importorskip("transformers")

    from experiments.training import commands
    from tests.support.continuous_pair import write_pair
    from tests.support.fashion import write_models
    from tests.support.published import lumina_files, vqgan_files

    folder = tmp_path_factory.mktemp("workplace")
    written(folder, FILES)
    (folder / "a-run" / "cells").mkdir(parents=True)
    (folder / "a-run" / "table.parquet").touch()
    write_models(folder / "models")
    write_models(folder / "others", codes=90)
    write_models(folder / "mixed")
    (folder / "others" / "draft.safetensors").rename(folder / "mixed" / "draft.safetensors")
    write_pair(folder / "pair", side=12)
    lumina_files(folder / "lumina", 1)
    vqgan_files(folder / "lumina" / "vqgan.ckpt")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "path", sys.path[:])
        patch.setattr("torch.cuda.is_available", lambda: False)
        patch.setattr(commands, "load_fashion", lambda folder: None)  # nothing is downloaded
        yield folder


@pytest.fixture
def nothing_written(workplace: Path) -> Iterator[None]:
    """Whatever a test asks for, no file is written, removed or changed."""

    def files() -> dict[Path, int]:
        there = (path for path in workplace.rglob("*") if path.is_file())
        own = (path for path in there if path.parent.name != "__pycache__" and path.name != ".lock")
        return {path: path.stat().st_mtime_ns for path in own}

    before = files()
    yield
    assert files() == before


def registered(group: Any, words: str = "") -> Iterator[tuple[str, Any]]:
    """Every command of a group, and of the groups in it, with the words that call it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from registered(command, f"{words}{name} ")
        else:
            yield f"{words}{name}", command


COMMANDS = dict(registered(get_command(app)))


def wrong_values() -> Iterator[tuple[str, str, str, str]]:
    """For every option with a kind or a range: the command, the option, a value of no such kind, what is expected."""
    for words, command in COMMANDS.items():
        for each in command.params:
            option, kind = each.opts[0], each.type_descriptor.annotation
            kind = get_args(kind)[0] if get_origin(kind) is list else kind
            if kind in (int, float):
                yield words, option, "many", "a whole number" if kind is int else "a number"
                if each.min is not None:
                    yield words, option, str(each.min - 1), f">= {each.min}"
                if each.max is not None:
                    yield words, option, str(each.max + 1), f"<= {each.max}"
            elif get_origin(kind) is Literal:
                yield words, option, "many", ", ".join(map(repr, get_args(kind)))


def test_all_commands_are_here() -> None:
    assert len(COMMANDS) == 17
    assert {words for words, *_ in wrong_values()} >= {"verify", "certify", "run", "generate", "compare", "model train"}


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_explains_itself_and_all_of_its_options(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words.split(), "--help"]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"Usage: simlab {words}")
    options = [name for each in COMMANDS[words].params for name in each.opts if name.startswith("--")]
    assert [name for name in options if name not in told] == []


@pytest.mark.parametrize("words", COMMANDS)
def test_an_option_that_there_is_not_is_refused_by_name(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--nothing" in usage_error([*words.split(), "--nothing"], capsys)


@pytest.mark.parametrize(("words", "option", "value", "expected"), list(wrong_values()))
def test_a_wrong_value_is_named_with_its_option_and_what_is_expected(
    words: str, option: str, value: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [option, value] if option.startswith("--") else [value]
    told = usage_error([*words.split(), *given], capsys)
    assert value in told
    assert expected in told
    assert option in told or not option.startswith("--")


@pytest.mark.parametrize("old", MOVED)
def test_a_command_that_moved_names_its_successor(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = usage_error([old, "mine.py"], capsys)
    assert f"simlab {old} is now {MOVED[old].format('mine.py')}" in told
    assert any(f"is now simlab {words} " in told for words in COMMANDS)


PAIR = "--model fashion-continuous --models pair"
LUMINA = "--model lumina --models lumina --size 32x64 --prompt a --method ar"
WRITING = {  # a command, what it is doing meanwhile, and the options that name where it writes
    "verify --claim gsd.speed": ("experiments.verification.verify.verify", "--out=folder --json=file"),
    "prove rules.py": ("experiments.judging.proving.prove_apart", "--out=folder --json=file"),
    "certify mine:good --calls 1 --processes 0": (
        "experiments.certification.certified.certified",
        "--out=folder --json=file --junit=file --sarif=file",
    ),
    "run good.toml --workers 1": ("experiments.sweeps.pools.compute", "--out=folder"),
    "run large naive": ("experiments.measurements.large_vocabulary.naive", "--out=folder"),
    "bench": ("experiments.bench.bench", "--json=file"),
    "generate --models models --method sjd": (
        "simlab.models.engine.running.processes_for",
        "--out=file --tokens=file",
    ),
    f"generate {PAIR}": ("experiments.models.continuous.kind.Continuous.draw", "--out=file --tokens=file"),
    f"generate {LUMINA}": ("simlab.models.text_to_image.draw", "--out=file --tokens=file"),
    "compare --models models --count 10": ("experiments.models.compare.compare", "--out=folder"),
    f"compare {PAIR} --count 10": ("experiments.models.compare.compare", "--out=folder"),
    "record --models models": ("experiments.models.record.record", "--out=folder.npz"),
    f"record {PAIR}": ("experiments.models.record.record", "--out=folder.npz"),
    "replay good.toml": ("experiments.models.replay.read_recording", ""),
    "model train tokenizer": ("experiments.training.commands.train_model", "--out=folder"),
    "model convert models/target.safetensors --out a.safetensors": (
        "simlab.continuous.networks.mar.files.converted",
        "--out=folder.safetensors",
    ),
    "model device --small --device cpu": ("experiments.models.device.measure", "--out=file"),
    "model device --curve --models models": ("experiments.models.curve.measure", "--out=file"),
}
PLACES = [(line, *each.split("=")) for line, (_, options) in WRITING.items() for each in options.split()]


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize(("line", "option", "kind"), PLACES)
def test_what_cannot_be_written_is_told_before_anything_is_done(
    line: str, option: str, kind: str, workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file where a folder is wanted, or a folder where a file is."""
    place = "good.toml" if kind == "folder" else f"taken{Path(kind).suffix}"
    if kind != "folder":
        (workplace / place).mkdir(exist_ok=True)
    told = usage_error([*line.split(), option, place], capsys)
    assert f"{option} " in told
    assert place in told


NOT_SHOWN = (  # of what a rule does at two rows
    *("--json a.json", "--out here", "--that frontier", "--rule speculative", "--size 2", "--positive"),
    *("--length 4", "--count 2", "--seed 0"),
)
NOT_ANSWERED = {
    "Loops": "took longer than --limit 0.5 s",
    "Leaves": "ends the process that runs it (exit status 0)",
    "Fails": "raises IndexError: no such row",
    "Raises": "accept raises RuntimeError: not today",
    "wide": "rules.py:wide: expected a rule",
}
ALONE = ("rules.py", "rules.py:Subclass", "speculative", "recursive")  # nothing is decoded
WRONG = [
    ("", "Missing command"),
    ("veryfy", "Did you mean 'verify'"),
    ("verify gsd", "unexpected extra argument"),
    ("verify --claim gsd.teorem-1", "gsd.theorem-1"),
    ("verify --paper sjdpac", "--paper sjdpac: did you mean sjd-pac? expected one of leviathan, "),
    ("verify --against missing.json", "missing.json"),
    ("verify --against broken.json", "broken.json"),
    ("verify --against deep.json", "--against deep.json: expected a verdicts.json that simlab verify wrote"),
    ("verify --against lists.json", "--against lists.json: expected a verdicts.json that simlab verify wrote"),
    ("verify --out . --json report.html", "--json report.html: has the name of a file that is written there"),
    ("verify --out . --json steps.parquet", "--json steps.parquet: has the name of a file that is written there"),
    ("verify --out . --json claims/gsd.speed.py", "gsd.speed.py: has the name of a file that is written there"),
    ("claims xyzzy", "'xyzzy'"),
    ("claims gsd.teorem-1", "did you mean gsd.theorem-1?"),
    ("claims --paper pac", "did you mean sjd-pac?"),
    ("verify gsd.dynamic", "a claim is named as --claim gsd.dynamic"),
    ("compare --model fashon", "did you mean fashion? expected one of 'fashion', "),
    ("prove sjd", "needs the parameter 'window': --set window=..."),
    ("report --out nowhere", "--out nowhere"),
    *((f"report --out . --runs{sign}. missing", "--runs missing") for sign in " ="),
    ("report --out a-run", "simlab report --runs a-run"),
    ("bench --only vrification", "did you mean verification? expected one of verification, decoders,"),
    ("bench --json /dev/null/bench.json", "--json /dev/null"),
    ("run large nave", "did you mean naive? expected one of naive, neighbours"),
    ("run large naive --vocabulary 4", "--vocabulary 4"),
    ("run large blocks --vocabulary 100000000000000", "expected a vocabulary that fits the memory"),
    ("run large neighbours --vocabulary 64", "--vocabulary 64: vocabulary is 64; expected a whole number >= 101"),
    ("run large --seed 1", "--seed, --workers and --scheduler are for specs"),
    ("run good.toml naive", "TABLE and --vocabulary are for large"),
    ("generate --out grid.xyz", "--out grid.xyz: .xyz is no format of pictures; expected a name that ends in .png"),
    ("generate --explain --method sjd", "--explain"),
    (
        "generate --tokens grid.png --out ./grid.png",
        "--tokens grid.png: is the picture of --out; expected another file",
    ),
    # run
    ("run", "SPEC or --list"),
    ("run good.toml --workers 2 --scheduler x", "--workers or --scheduler"),
    ("run good.toml --out bad.toml", "--out bad.toml"),
    ("run good.toml --out /dev/null/o --workers 1", "--out /dev/null/o: Not a directory; expected a folder that can"),
    ("run good.toml --seed 1 --seed 1", "seeds is [1, 1]"),
    ("run bad.toml", "bad.toml: is no TOML: Expected '=' after a key in a key/value pair (at line 3, column 7)"),
    ("run window0.toml", "window0.toml: [[decoder]] 1 (sjd): window is 0"),
    ("run missing.toml", "missing.toml: No such file"),
    ("run winow", "there is no spec 'winow'; did you mean window? expected a file, or one of "),
    # prove
    ("prove", "SUBJECT and --decoder"),
    ("prove rules.py --decoder sjd", "SUBJECT and --decoder"),
    ("prove rules.py --that fronteir", "did you mean frontier? expected lossless, frontier"),
    ("show grouppd", "simlab prove RULE --at P Q; did you mean grouped?"),
    ("prove rules.py --size 1", "--size 1: expected V=N, a whole number from 2 to 8"),
    ("prove rules.py --set k", "--set k: expected KEY=VALUE"),
    ("prove amplify --set k=2 --set k=3", "--set k=3: expected KEY=VALUE, each parameter once"),
    ("prove --decoder sdj", "unknown decoder 'sdj'; did you mean sjd?"),
    ("prove --decoder rules.py:Scaled", "simlab.decoders.Decoder"),
    ("prove --decoder sjd --set window=2 --size 2 --size 3", "expected one for a decoder"),
    ("prove grouped --set labels=0,0,1", "expected V = 2"),
    ("prove amplify", "rule 'amplify' needs the parameter 'k'"),
    ("prove amplify --set kk=2", "did you mean k?"),
    ("prove rules.py:Scaled --set j=1", "raises TypeError"),
    ("prove speculative --judge", "--judge"),
    ("prove rules.py --seed 2", "--seed 2: is of --judge; expected --judge as well, or no --seed"),
    ("prove rules.py --judge --count 3", "--count: is not of a rule; expected none beside --judge"),
    ("prove rules.py --judge --rule speculative", "--rule: is not of a rule; expected none beside --judge"),
    ("prove rules.py --length 2", "length is 2; expected none"),
    ("prove rules.py --count 3", "count is 3; expected none"),
    ("prove --decoder sjd --set window=2 --rule rules.py:wide", "rule is Sjd(window=2"),
    ("prove rules.py --out here --json here/answer.json", "here/answer.json: has the name of a file that is written"),
    ("prove rules.py --out here --json here/proof-2.smt2", "here/proof-2.smt2: has the name of a file that is written"),
    ("prove rules.py --out here --json here/../here/answer.json", "answer.json: has the name of a file that is"),
    ("prove speculative --at 1/2,1/3 1/2,1/2", "sums to 5/6"),
    ("prove speculative --at 1/2,x 1/2,1/2", "P 1/2,x: expected probabilities"),
    ("prove speculative --at 1/2,1/2 1/3,1/3,1/3", "expected one shape"),
    *((f"prove amplify --at 1/2,1/2 1/3,2/3 {option}", "--at only shows") for option in NOT_SHOWN),
    ("prove lantren --at 1 1", "unknown rule 'lantren'; did you mean lantern?"),
    ("prove lantern --at 1 1", "rule 'lantern' asks for neighbours, and rows have 1 token; expected two at least"),
    *((f"prove rules.py:{rule} --at 1/2,1/2 1/3,2/3 --limit 0.5", told) for rule, told in NOT_ANSWERED.items()),
    *((f"prove {rule} --size 2 --rule rules.py:Mine", "rule is 'rules.py:Mine'; expected none") for rule in ALONE),
    # what is brought
    ("prove absent:rule", "there is no module 'absent'"),
    ("prove absent.py:rule", "there is no file 'absent.py'"),
    ("prove rules:rool", "rules has no 'rool'; it has "),
    ("prove own", "a module without accept and residual"),
    ("prove rules:number", "rules:number is 3"),
    ("prove rules:only", "rules:only is namespace(accept="),
    ("prove rules:needs", "rules:needs needs k, labels"),
    ("prove rules:wrong", "rules:wrong makes 3"),
    ("prove rules:broken", "raises KeyError: 'missing'"),
    ("prove simlab.rules:Amplify", "simlab.rules:Amplify needs k"),
    ("prove failing:rule", "failing cannot be imported: ZeroDivisionError"),
    ("prove needy:rule", "needy cannot be imported: ModuleNotFoundError: No module named 'absent'"),
    ("prove syntax.py:rule", "syntax.py cannot be imported: SyntaxError:"),
    ("prove leaves:rule", "leaves cannot be imported: SystemExit: 5"),
    ("prove good.toml", "the file good.toml is there, but is no Python file"),
    ("certify good.toml", "the file good.toml is there, but is no Python file"),
    ("certify absent", "'absent' is no adapter"),
    ("certify flashspek", "did you mean flashspec?"),
    ("certify mine:", "names no function"),
    ("certify mine:number", "mine:number is 3"),
    ("certify mine:Engine", "mine:Engine is a class"),
    ("certify mine.py", "mine.py:verify"),
    # certify
    ("certify", "SPEC, --command, --url, --list or --self-test"),
    ("certify mine:good --command ./verifier", "SPEC, --command, --url, --list or --self-test"),
    ("certify --command ./verifier", "--command ./verifier: there is no such program"),
    ("certify --command ./verifier --contract decode", "--contract decode: "),
    ("certify mine:good --tokens 3", "--tokens belongs to --url"),
    ("certify mine:good --quick", "--quick belongs to --self-test"),
    ("certify --list --strict", "--strict belongs to a SPEC or --command"),
    ("certify --list --calls 3", "--calls belongs to a SPEC or --command"),
    ("certify --list --processes 0", "--processes belongs to a SPEC or --command"),
    ("certify --list --json a.json", "--json belongs to a certificate"),
    ("certify --self-test --baseline a.json", "--baseline belongs to a certificate"),
    ("certify --self-test --shape V=9", "--shape belongs to a SPEC or --command"),
    ("certify --url http://a --at-most V=9", "--at-most belongs to a SPEC or --command"),
    ("certify --url http://a --contract draft", "--contract belongs to a SPEC or --command"),
    ("certify --url http://a --arrays torch", "--arrays belongs to a SPEC or --command"),
    ("certify --url http://[::1 --reference http://a/completion", "--url http://[::1: "),
    ("certify --url http://a/completion", "--url needs --reference URL"),
    ("certify --url http://a --reference http://a/completion", "ends with /completion"),
    ("certify transformers-generate --arrays torch", "which the contract decode does not take"),
    ("certify --command true --processes 0", "--processes 0: a command is a process of its own"),
    ("certify mine:good --at-most ''", "--at-most is ''; expected sizes such as V=65536,gamma=16"),
    ("certify mine:good --json o/certificate.html --out o", "is written by --out "),
    ("certify mine:good --junit o/z --sarif o/y/../z", "is written by --junit "),
    ("certify mine:good --contract verily", "contract is 'verily'; did you mean verify? expected one of verify, "),
    ("certify transformers --contract verify_candidates", "the adapter transformers is for the contract verify"),
    ("certify mine:good --budget 0", "--budget is 0.0; expected"),
    ("certify mine:good --epsilon 1", "--epsilon is 1.0; expected a number between 0 and 1"),
    ("certify mine:good --calls 0", "--calls is 0; expected a whole number >= 1"),
    ("certify mine:good --processes -1", "--processes is -1; expected a whole number >= 0"),
    ("certify mine:good --processes 1000000", "--processes is 1000000; expected at most 256"),
    ("certify mine:good --limit 0", "--limit is 0.0; expected"),
    ("certify mine:good --baseline broken.json", "broken.json"),
    ("certify mine:good --arrays jax --contract chain_uniforms", "arrays is 'jax'; expected numpy, torch, cuda"),
    ("certify mine:good --shape V=1", "V is 1 in shape 'V=1'; expected at least 2"),
    ("certify mine:good --shape ''", "shape is ''"),
    # models that come along
    ("generate --models models --label sneeker", "'sneeker'; did you mean sneaker? expected one of t-shirt, trouser"),
    ("generate --models models --method sd", "unknown method 'sd'; did you mean sjd? expected one of ar, jacobi"),
    ("generate --models models --method sjd+groupd", "did you mean grouped? expected one of speculative, amplify"),
    ("generate --models models --method sjd --set gamma=3", "has no parameter 'gamma'; expected window"),
    ("generate --models models --method sjd --set windw=3", "did you mean window?"),
    ("generate --models models --method sjd --set window", "'window' is no setting"),
    ("generate --models models --method sjd --set window=1 --set window=2", "'window' is set twice"),
    ("generate --models models --method sjd --set 'window=a b'", "'a b' is no value"),
    ("generate --models models --method sjd --device tpu", "'tpu' is no device"),
    ("generate --models models --method sjd --device cuda", "there is no CUDA device"),
    ("generate --models models --method sjd --temperature -1", "temperature is -1.0"),
    ("generate --models models --set window=4", "--set window=4"),
    ("generate --models models --method sjd --curve nowhere.json", "--curve nowhere.json: is for --method auto"),
    ("generate --models models --curve nowhere.json", "nowhere.json"),
    ("generate --models mixed --method speculative", "(vocabulary, shape) (90, (4, 4))"),
    ("generate --models models --size 64", "--size 64: is not for --model fashion; expected none"),
    ("generate --model lumina --prompt fox --label Boot", "--label Boot: is not for --model lumina; expected none"),
    ("generate --model lumina --prompt fox --curve c.json", "--curve c.json: is not for --model lumina"),
    ("generate --models models --gamma 5", "--gamma 5: is not for --model fashion;"),
    ("compare --models models --methods ar,sdj", "unknown method 'sdj'; did you mean sjd? expected one of ar, jacobi"),
    ("compare --models models --data nowhere", "nowhere: train-images-idx3-ubyte.gz is missing"),
    ("compare --model own.py:make", "fashion"),
    ("record --models models --method ar", "expected a method that does, such as sjd"),
    ("record --models /nowhere", "/nowhere"),
    ("record --model other", "'other' is no model; expected fashion, fashion-continuous, or one's own"),
    ("record --models models --out rows.parquet", ".npz"),
    ("replay none.npz", "there is no such file"),
    ("replay /dev/null", "/dev/null: is no file"),
    ("model device --device cuda", "there is no CUDA device"),
    ("model device --device cpu", "--small"),
    ("model device-day a/b --device cpu --out . --results .", "'a/b' is no name of files"),
    ("model device-day box --step none --device cpu --out . --results .", "expected tests, device, compare"),
    ("model device --curve --map", "--curve, --compression and --map"),
    ("model device --curve --model fashion-continuous", "--model fashion-continuous: its calls have no rows"),
    ("model device --map --models own", "own/target.safetensors: there is no such file; expected a checkpoint"),
    ("model device --small --device cpu --batch 2", "--batch: is for --curve or --map; expected none"),
    ("model device --small --device cpu --guidance 2", "--guidance: is for --curve or --map; expected none"),
    ("model device --small --device cpu --models models", "--models: is for --curve, --compression or --map;"),
    ("model device --compression --batch 2", "--batch: is for --curve or --map; expected none"),
    ("model device --curve --small", "--small: is for the parts of a step; expected none"),
    ("model device --map --model own.py:make", "--model own.py:make: is for --curve; expected fashion"),
    ("model train target --out trained", "tokenizer.safetensors: there is no such file"),
    ("model train tokenizer --out trained --device cuda", "there is no CUDA device; expected cpu"),
    ("model train tokenizer --out trained --rate nan", "rate"),
    ("model convert models/target.safetensors --out a.pt", ".safetensors"),
    ("model convert models/target.safetensors --out a.safetensors", "is missing class_emb.weight"),
    # of continuous tokens
    (f"generate {PAIR} --top-k 5", "--top-k 5: is not for --model fashion-continuous"),
    (f"generate {PAIR} --method sjd", "unknown method 'sjd'; expected one of auto"),
    (f"generate {PAIR} --method lst-step", "did you mean last-step?"),
    (f"generate {PAIR} --method autoregressive --prefill 3", "--gamma and --prefill"),
    (f"generate {PAIR} --method reflection --variances learned", "covariance"),
    (f"generate {PAIR} --method last-step --variances ddim", "adds no noise"),
    (f"compare {PAIR} --top-p 0.5", "--top-p 0.5: is not for"),
    (f"compare {PAIR} --methods eagle", "unknown method 'eagle'"),
    (f"record {PAIR} --calls 3", "--calls 3: is not for --model fashion-continuous"),
    (f"record {PAIR} --method autoregressive", "verifies no drafts"),
    (f"record {PAIR} --prefill 9 --count 1", "no draft was verified"),
    # of texts
    ("generate --model fashon", "--model fashon: is no model; did you mean fashion? expected fashion, "),
    ("generate --model lumina --models lumina", "expected --prompt TEXT"),
    ("generate --model anole --prompt a", "expected --models DIR"),
    ("generate --model fashion --models lumina --prompt a", "--model fashion: draws no texts; expected one of lumina"),
    ("generate --model lumina --models lumina --prompt a --size big", "size is 'big'"),
    ("generate --model lumina --models lumina --prompt a --size 33", "expected multiples of 32"),
    ("generate --model emu3 --models lumina --prompt a", "the model is of the type 'chameleon'"),
    (f"generate {LUMINA} --method speculative", "needs a draft model"),
    ("generate --model lumina --models lumina --size 32x64 --prompt ' '", "words in each"),
    (f"generate {LUMINA} --guidance -1", "guidance is -1.0"),
    # of one's own
    ("generate --model own.py:SimpleNamespace", "is missing config, condition"),
    ("generate --model own.py:Mine.condition", "raises TypeError"),
    ("generate --model own.py:make --label bird", "unknown label 'bird'; expected one of cat, dog, or all"),
    ("generate --model own.py:make --models .", "--models ."),
    ("generate --model own.py:make --curve f", "--curve f: is not for --model own.py:make"),
    ("generate --model own.py:make --method speculative", "has no draft"),
    ("generate --model own.py:make --method eagle", "heads are made for the models that come along"),
    ("generate --model own.py:make --method gsd+grouped", "rule 'grouped' asks how near tokens are"),
    ("model check none.py:make", "there is no file 'none.py'"),
]


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize(("line", "told"), WRONG)
def test_wrong_usage_is_told_and_nothing_is_written(line: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert told in usage_error(shlex.split(line), capsys)


@pytest.mark.parametrize(
    "line",
    [
        "verify --claim gsd.speed",
        "run good.toml --workers 1",
        "compare --models models --count 10",
        "model device-day busy --device cpu --small --results results",
    ],
)
def test_a_folder_that_another_command_is_at_work_in_is_left_alone(
    line: str, workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their pieces and tables would be one heap; the file alone is no lock."""
    out = workplace / ("." if "device-day" in line else "busy")
    with locked(workplace / "busy"):
        told = usage_error([*line.split(), "--out", str(out)], capsys)
    assert f"--out {out}: {workplace / 'busy'} is in use by process {os.getpid()} on {socket.gethostname()}; " in told
    assert [path.name for path in (workplace / "busy").iterdir()] == [".lock"]


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize("line", WRITING)
def test_an_interrupt_ends_with_130_and_leaves_nothing_half_written(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What goes on where it was stopped has tests of its own."""

    def interrupted(*_: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(WRITING[line][0], interrupted)
    assert main(line.split()) == 130
    assert "simlab: interrupted" in capsys.readouterr().err


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "simlab: model device needs torch: pip install 'simlab[torch]'" in usage_error(["model", "device"], capsys)


# Names that are mistyped --------------------------------------------------------------------------------------------


def mistyped(name: str) -> set[str]:
    """A name with the letter in its middle left out, put in twice or swapped with the next, in capitals, and spelled
    as in Python."""
    k = len(name) // 2
    wrong = {
        name[:k] + name[k + 1 :],
        name[:k] + name[k] + name[k:],
        name[: k - 1] + name[k] + name[k - 1] + name[k + 1 :],
    }
    return {each for each in wrong | {name.upper(), name.replace("-", "_")} if len(each) > 3}


@pytest.mark.parametrize("known", [KNOWN_RULES, DECODERS, METHODS, CLAIMS])
def test_the_nearest_name_was_meant(known: Iterable[str]) -> None:
    known = list(known)
    some = known[:: 1 + len(known) // 40]  # forty of each table, or a little fewer
    for name, wrong in ((each, wrong) for each in some for wrong in mistyped(each) - set(known)):
        told = re.fullmatch(r"did you mean (\S+)\? ", meant(wrong, known))
        assert told, wrong
        plain = wrong.lower().replace("_", "-")
        assert distance(plain, told[1].lower().replace("_", "-")) <= distance(plain, name.lower().replace("_", "-")) + 1


def test_what_is_near_to_nothing_is_told_nothing() -> None:
    assert not meant("qqqq", KNOWN_RULES)
    assert not meant("", KNOWN_RULES)


# Commands that are modules ------------------------------------------------------------------------------------------


MODULES = {  # a module, and the options that its documents name
    "certification.self_test_drawn": ("--count", "--runs", "--budget", "--seed", "--processes", "--contract", "--out"),
    "engines.record": ("--budget", "NAME"),
    "measurements.image_methods": ("--steps", "--timed", "BESIDE"),
    "models.partly_verified": ("--images", "OUT"),
    "models.continuous.denoising": ("--images", "OUT"),
    "models.continuous.measurement": ("--images", "--seed", "--out"),
}
WRONG_OF_MODULES = {
    "--nope": "No such option: --nope",
    "--images 0": "--images 0: expected a whole number >= 1",
    "--seed x": "--seed x: expected a whole number",
    "--contract verfy": "--contract verfy: did you mean verify? expected one of verify",
}


@pytest.mark.parametrize("name", MODULES)
def test_options_are_spelled_and_errors_told_in_one_way(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if name.startswith("models"):
        pytest.importorskip("torch")
    module = import_module(f"experiments.{name}")
    command = getattr(module, f"{name.rpartition('.')[2]}_command")
    assert run_module(command, ["--help"]) == 0
    shown = capsys.readouterr().out
    assert f"python -m experiments.{name}" in shown
    assert all(each in shown for each in MODULES[name])
    wrong = [words for words in WRONG_OF_MODULES if words.split()[0] in ("--nope", *MODULES[name])]
    for words in wrong:
        assert run_module(command, ["out.json", *words.split()] if "OUT" in MODULES[name] else words.split()) == 2
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err.startswith(f"experiments.{name}: {WRONG_OF_MODULES[words]}")
