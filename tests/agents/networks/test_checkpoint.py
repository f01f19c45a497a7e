"""Checkpoints: whole or absent, without code in them, and refused with one clear message."""

import errno
import hashlib
import io
import json
import os
import pickle
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import torch
from small_runs import ROLLOUT, checkpoint_steps, config, run, same

from agents.networks.checkpoint import (
    ENCODING,
    CheckpointError,
    load_checkpoint,
    newest_checkpoint,
    save_checkpoint,
)
from agents.runs import RunError
from castle_env import CastleError, Game, load_ruleset, make_agent

STORM = Game(load_ruleset("storm"))
NEWEST = "step-0000000512"
# What whoever saves a checkpoint has to say about it.
OTHER_KEYS: dict[str, Any] = {"config": {}, "network": {}, "reward": "margin"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    run(STORM, config(), folder)
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """A copy of a run with checkpoints at 0, 256 and 512 steps, to be damaged."""
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


def newest(folder: Path) -> Path:
    return folder / "checkpoints" / f"{NEWEST}.pt"


def edit_card(path: Path, **changes: Any) -> None:
    card = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    path.with_suffix(".json").write_text(json.dumps(card | changes), encoding="utf-8")


def put(path: Path, data: bytes) -> None:
    """Replace the tensors and make the card vouch for it."""
    path.write_bytes(data)
    edit_card(path, sha256=hashlib.sha256(data).hexdigest())


def saved(value: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("hello.txt", "hello")
    return buffer.getvalue()


def check(error: CheckpointError, *mentioned: object) -> None:
    assert isinstance(error, CastleError)
    assert "\n" not in str(error)
    for text in mentioned:
        assert str(text) in str(error)


# What is read


def test_a_checkpoint_holds_tensors_and_plain_values_and_its_card_says_the_rest(
    folder: Path
) -> None:
    checkpoint = load_checkpoint(folder, STORM)
    assert checkpoint.path == newest(folder) == newest_checkpoint(folder)
    assert same(dict(checkpoint.tensors), dict(torch.load(newest(folder), weights_only=True)))
    card = json.loads(newest(folder).with_suffix(".json").read_text(encoding="utf-8"))
    assert card == checkpoint.card
    assert card["encoding"] == ENCODING
    assert card["ruleset"] == STORM.rules.to_dict()
    assert card["ruleset_digest"] == STORM.rules.digest
    assert (card["steps"], card["seed"], card["config"]["hidden"]) == (512, 0, 8)
    assert card["network"] == {"kind": "lanes", "channels": 4, "blocks": 1, "hidden": 8}
    assert (card["algorithm"], card["reward"], card["device"]) == ("ppo", "outcome", "cpu")
    assert card["environment"]["packages"]["torch"]
    assert [row["steps"] for row in card["results"]["evaluations"]] == [0, 512]
    assert plain(checkpoint.tensors)


def plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(plain, value)) and all(map(plain, value.values()))
    if isinstance(value, list | tuple):
        return all(map(plain, value))
    return value is None or isinstance(value, torch.Tensor | str | int | float | bool)


def test_the_newest_checkpoint_is_the_one_with_the_most_steps(folder: Path) -> None:
    old = folder / "checkpoints" / "step-0000000256.pt"
    for path in (old, old.with_suffix(".json")):
        os.utime(path, (2**31, 2**31))
    assert newest_checkpoint(folder) == newest(folder)
    newest(folder).with_suffix(".json").unlink()
    assert newest_checkpoint(folder) == old
    assert make_agent(f"ppo:{old}", STORM).name == f"ppo:{old}"


def test_checkpoints_of_a_gpu_load_on_the_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file says "cuda:0" as if it had been written there."""
    with monkeypatch.context() as patch:
        patch.setattr(torch.serialization, "location_tag", lambda storage: "cuda:0")
        save_checkpoint(tmp_path / "step-1.pt", {"policy": {"a": torch.arange(3)}}, STORM,
                        OTHER_KEYS)
    tensors = load_checkpoint(tmp_path / "step-1.pt").tensors
    assert tensors["policy"]["a"].device == torch.device("cpu")
    assert tensors["policy"]["a"].tolist() == [0, 1, 2]
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="CUDA"):
            torch.load(tmp_path / "step-1.pt", weights_only=True)


# What is refused


Damage: TypeAlias = Callable[[Path], object]


def lose(*suffixes: str) -> Damage:
    def remove(path: Path) -> None:
        for suffix in suffixes:
            path.with_suffix(suffix).unlink()
    return remove


def truncate(suffix: str, share: float) -> Damage:
    def cut(path: Path) -> None:
        file = path.with_suffix(suffix)
        file.write_bytes(file.read_bytes()[:int(file.stat().st_size * share)])
    return cut


def card_is(text: str) -> Damage:
    return lambda path: path.with_suffix(".json").write_text(text, encoding="utf-8")


def card_has(**changes: Any) -> Damage:
    return lambda path: edit_card(path, **changes)


def tensors_are(data: bytes) -> Damage:
    return lambda path: put(path, data)


DAMAGE: dict[str, tuple[Damage, list[str]]] = {
    "missing": (lose(".pt", ".json"), ["no checkpoint", "No such file"]),
    "card without tensors": (lose(".pt"), ["cannot be read", "No such file"]),
    "tensors without card": (lose(".json"), ["no checkpoint", "its card", ".json", "No such file"]),
    "truncated tensors": (truncate(".pt", 0.5), ["is damaged", "SHA-256"]),
    "empty tensors": (truncate(".pt", 0), ["is damaged", "SHA-256"]),
    "truncated card": (truncate(".json", 0.5), [".json", "damaged or no card"]),
    "empty card": (truncate(".json", 0), [".json", "damaged or no card"]),
    "card in another encoding": (lambda path: path.with_suffix(".json").write_bytes(b"\xff\xfe{"),
                                 [".json", "damaged or no card"]),
    "deep card": (card_is("[" * 100_000), [".json", "damaged or no card"]),
    "card that is a list": (card_is("[]"), [".json", "damaged or no card"]),
    "card that is a number": (card_is("3"), [".json", "damaged or no card"]),
    "card of something else": (card_is('{"name": "x"}'), [
        "no card of a checkpoint", "ruleset, ruleset_digest, sha256, config, network, reward"]),
    "card with wrong types": (card_has(ruleset="storm", config=None, network=[], reward=1), [
        "no card of a checkpoint", "ruleset, config, network, reward"]),
    "another observation": (card_has(encoding="planes-3-v0"), ["'planes-3-v0'", repr(ENCODING)]),
    "no encoding": (card_has(encoding=None), ["None", repr(ENCODING)]),
    "another ruleset": (card_has(ruleset=load_ruleset("sudden-death").to_dict(),
                                 ruleset_digest=load_ruleset("sudden-death").digest),
                        ["'sudden-death'", load_ruleset("sudden-death").digest, "'storm'",
                         STORM.rules.digest, "allowed here"]),
    "random bytes": (tensors_are(bytes(range(256)) * 9), ["no file of tensors and plain values"]),
    "text": (tensors_are(b"hello\n"), ["no file of tensors and plain values"]),
    "a zip": (tensors_are(zipped()), ["no file of tensors and plain values"]),
    "a pickle": (tensors_are(pickle.dumps({1})), ["no file of tensors and plain values"]),
    "a truncated pickle": (tensors_are(b"\x80\x02}q\x00X"), ["no file of tensors and plain"]),
    "pickle of a module": (tensors_are(saved(torch.nn.ReLU())), ["no file of tensors and plain"]),
    "one tensor": (tensors_are(saved(torch.zeros(3, 2))), ["holds a Tensor", "allowed: a dict"]),
    "nothing": (tensors_are(saved(None)), ["holds a NoneType", "allowed: a dict"]),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_what_is_no_usable_checkpoint_is_refused(folder: Path, kind: str) -> None:
    damage, mentioned = DAMAGE[kind]
    damage(newest(folder))
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for attempt in (lambda: load_checkpoint(newest(folder), STORM),
                    lambda: make_agent(f"ppo:{newest(folder)}", STORM),
                    lambda: make_agent(f"ppo:{newest(folder)}:sample", STORM)):
        with pytest.raises(CheckpointError) as caught:
            attempt()
        check(caught.value, newest(folder).with_suffix(""), *mentioned)
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def network_is(**changes: Any) -> Damage:
    """The card describes a network like that of `finished` but for some changes."""
    same_kind = {"kind": "lanes", "channels": 4, "blocks": 1, "hidden": 8}
    return card_has(network=same_kind | changes)


@pytest.mark.parametrize("damage", [
    card_has(network={}), card_has(network={"kind": "lanes", "hats": 3}), network_is(channels=8),
    network_is(hidden="wide"), network_is(channels=0), network_is(channels=-1),
    network_is(blocks=2), network_is(blocks=None), network_is(kind="dense"),
    network_is(kind="hats"), network_is(kind=[]), network_is(kind="nowhere:network"),
    network_is(kind="builtins:repr"), network_is(kind="small_runs:ROLLOUT"),
    tensors_are(saved({"policy": {}})), tensors_are(saved({"policy": torch.zeros(2)})),
    tensors_are(saved({"policy": {1: 2}})), tensors_are(saved({}))])
def test_a_network_that_the_card_does_not_describe_is_refused(
    folder: Path, damage: Callable[..., Any]
) -> None:
    damage(newest(folder))
    with pytest.raises(CheckpointError) as caught:
        make_agent(f"ppo:{folder}", STORM)
    check(caught.value, newest(folder), "does not hold the network that its card describes")


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_are_refused(folder: Path, number: float) -> None:
    tensors = load_checkpoint(folder).tensors
    tensors["policy"]["policy.weight"][0, 0] = number
    put(newest(folder), saved(tensors))
    with pytest.raises(CheckpointError) as caught:
        make_agent(f"ppo:{folder}", STORM)
    check(caught.value, newest(folder), "holds weights that are not finite numbers")


@pytest.mark.parametrize("wrap", [pickle.dumps, saved])
def test_code_in_a_file_is_not_run(folder: Path, wrap: Callable[..., Any]) -> None:
    put(newest(folder), wrap(Trap(folder / "sprung")))
    with pytest.raises(CheckpointError, match="no file of tensors and plain values"):
        load_checkpoint(folder)
    assert not (folder / "sprung").exists()
    pickle.loads(pickle.dumps(Trap(folder / "sprung")))
    assert (folder / "sprung").exists()


class Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self._path),)


@pytest.mark.parametrize("make", [
    lambda path: path.mkdir(), lambda path: (path / "checkpoints").mkdir(parents=True),
    lambda path: None, lambda path: path.touch()])
def test_a_folder_without_checkpoints_is_refused(tmp_path: Path, make: Callable[..., Any]) -> None:
    make(tmp_path / "run")
    with pytest.raises(CheckpointError) as caught:
        newest_checkpoint(tmp_path / "run")
    check(caught.value, f"no checkpoint in '{tmp_path / 'run'}'", "allowed: the folder of a")
    if (tmp_path / "run").is_dir():
        with pytest.raises(CheckpointError, match="no checkpoint in"):
            make_agent(f"ppo:{tmp_path / 'run'}", STORM)


@pytest.mark.parametrize("path", ["x" * 5000, "a/b/c", "run\nrun", "\0", "ppo.json", "é.pt"])
def test_paths_that_lead_nowhere(path: str) -> None:
    with pytest.raises(CheckpointError, match=r"no checkpoint|no card") as caught:
        load_checkpoint(path)
    check(caught.value)


# What is written


def save(path: Path, number: int) -> None:
    save_checkpoint(path, {"policy": {"a": torch.full((2,), number)}}, STORM,
                    {**OTHER_KEYS, "number": number})


def test_an_old_checkpoint_is_replaced_as_a_whole(tmp_path: Path) -> None:
    for number in (1, 2):
        save(tmp_path / "step-1.pt", number)
        checkpoint = load_checkpoint(tmp_path / "step-1.pt")
        assert checkpoint.card["number"] == number
        assert checkpoint.tensors["policy"]["a"].tolist() == [number] * 2
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("writes", [0, 1])
def test_killed_between_tensors_and_card_there_is_no_checkpoint(
    folder: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    """Neither a new one nor the old one in whose place it was to come; the run has the ones before.
    """
    for path in (newest(folder), newest(folder).with_stem("step-0000000640")):
        with monkeypatch.context() as patch:
            kill_at_replace(patch, writes)
            with pytest.raises(Killed):
                save(path, 1)
        with pytest.raises(CheckpointError, match="no checkpoint"):
            load_checkpoint(path)
    assert newest_checkpoint(folder).stem == "step-0000000256"
    assert checkpoint_steps(folder) == [0, 256]


class Killed(BaseException):
    """Stands for a process that is no more."""


def kill_at_replace(patch: pytest.MonkeyPatch, number: int) -> None:
    """End in the moment when the file with that number, from 0 on, would take its place."""
    replace, calls = os.replace, []

    def replace_or_die(*paths: Path) -> None:
        calls.append(paths)
        if len(calls) > number:
            raise Killed
        replace(*paths)

    patch.setattr("agents.runs.os.replace", replace_or_die)


def test_a_full_disk_is_one_message_and_leaves_the_other_checkpoints(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("agents.runs.os.fsync", full)
    path = folder / "checkpoints" / "step-0000000640.pt"
    with pytest.raises(RunError, match=r"cannot write .*step-0000000640\.pt.*No space left"):
        save(path, 1)
    assert checkpoint_steps(folder) == [0, 256, 512]
    assert not [path for path in folder.rglob("*") if path.name.startswith(".")]


def test_a_full_disk_leaves_the_checkpoint_that_was_to_be_replaced(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, before = newest(folder), load_checkpoint(newest(folder))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("agents.runs.os.fsync", full)
    with pytest.raises(RunError):
        save(path, 1)
    assert load_checkpoint(path).card == before.card


def test_what_a_killed_run_left_half_written_is_cleared_away(folder: Path) -> None:
    leftover = folder / "checkpoints" / ".step-0000000640.0123abcd.pt"
    leftover.write_bytes(b"half")
    assert load_checkpoint(folder).card["steps"] == 512
    run(STORM, config(steps=512 + ROLLOUT), folder, load_checkpoint(folder))
    assert not leftover.exists()
    assert checkpoint_steps(folder) == [0, 256, 512, 640]


def test_a_checkpoint_loads_in_a_process_that_knows_only_torch(folder: Path) -> None:
    """Nothing of ours is pickled into it."""
    code = ("import sys, torch; torch.load(sys.argv[1], weights_only=True); "
            "sys.exit('agents' in sys.modules or 'castle_env' in sys.modules)")
    subprocess.run([sys.executable, "-I", "-c", code, newest(folder)], check=True)
