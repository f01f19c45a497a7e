"""Run folders and files: whole or not at all, never over another run."""

import errno
import json
import os
import re
import stat
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents import runs as files
from agents.locks import locked
from agents.runs import (
    RunError,
    atomic_path,
    clear,
    create_run_folder,
    environment_info,
    unique_run_folder,
    write_bytes_atomic,
    write_json_atomic,
    write_text_atomic,
)
from castle_env.errors import CastleError
from experiments.measure.intervals import Interval


def disk_full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_writers_write_and_replace(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_bytes_atomic(path, b"\0\1")
    assert path.read_bytes() == b"\0\1"
    write_text_atomic(path, "Zinne ♜\n")
    assert path.read_bytes() == "Zinne ♜\n".encode()
    write_json_atomic(path, {"n": np.int64(3), "a": np.arange(2), "p": tmp_path,
                             "i": Interval(0.5, 0.25, 0.75), "ß": None})
    assert json.loads(path.read_text(encoding="utf-8")) == {
        "n": 3, "a": [0, 1], "p": str(tmp_path), "ß": None,
        "i": {"estimate": 0.5, "low": 0.25, "high": 0.75}}
    assert list(tmp_path.iterdir()) == [path]


def test_files_have_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    write_text_atomic(tmp_path / "ours", "")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("usual", "ours")}
    assert len(modes) == 1


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_full_disk_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    path = tmp_path / "results.json"
    write_text_atomic(path, "old")
    monkeypatch.setattr(f"agents.runs.os.{failing}", disk_full)
    with pytest.raises(RunError, match=r"cannot write .*results\.json.*No space left"):
        write_text_atomic(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_fails_or_is_interrupted_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_text("old")

    def half_written(error: Any) -> None:
        with atomic_path(path) as temporary:
            assert temporary.parent == tmp_path
            assert temporary.suffix == ".png"
            temporary.write_text("half")
            raise error

    for error in (KeyboardInterrupt(), ZeroDivisionError()):
        with pytest.raises(type(error)):
            half_written(error)
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("data", [float("nan"), [float("inf")], {"x": object()}])
def test_what_has_no_json_form_writes_nothing(
    tmp_path: Path, data: dict[str, Any] | float | list[float]
) -> None:
    with pytest.raises((ValueError, TypeError)):
        write_json_atomic(tmp_path / "x.json", data)
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "missing" / "x", tmp_path / "file" / "x", tmp_path / "folder"):
        with pytest.raises(RunError, match=f"cannot write '{re.escape(str(path))}'"):
            write_text_atomic(path, "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
    assert issubclass(RunError, CastleError)


def test_run_folder_is_never_an_existing_one(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path / "runs", "first")
    assert folder == tmp_path / "runs" / "first"
    (folder / "report.md").write_text("kept")
    with pytest.raises(RunError, match=f"'{re.escape(str(folder))}' exists already"):
        create_run_folder(tmp_path / "runs", "first")
    assert (folder / "report.md").read_text() == "kept"
    (tmp_path / "runs" / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(RunError, match="exists already"):
        create_run_folder(tmp_path / "runs", "dangling")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/a", "a\\b", "a\0b"])
def test_run_name_is_one_folder_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(RunError, match="run name"):
        create_run_folder(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_run_folder_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "runs").touch()
    with pytest.raises(RunError, match="cannot make folder"):
        create_run_folder(tmp_path / "runs", "first")
    with pytest.raises(RunError, match="cannot make folder"):
        create_run_folder(tmp_path, "x" * 5000)


def test_unique_run_folders_differ(tmp_path: Path) -> None:
    folders = {unique_run_folder(tmp_path, "demo") for _ in range(3)}
    assert len(folders) == 3
    for folder in folders:
        assert re.fullmatch(r"demo-\d{8}-\d{6}(-\d)?", folder.name)
        assert folder.is_dir()


def test_environment_info_is_plain_and_complete() -> None:
    info = environment_info()
    assert json.loads(json.dumps(info)) == info
    assert info["packages"]["numpy"] == np.__version__
    assert info["packages"]["storm-the-castle"]
    assert info["machine"]["cores"] >= 1
    assert info["machine"]["processor"]
    assert info["git_commit"] is None or re.fullmatch(r"[0-9a-f]{40}(-dirty)?", info["git_commit"])


def test_package_that_is_not_installed_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PACKAGES", ("numpy", "there-is-no-such-package"))
    assert environment_info()["packages"]["there-is-no-such-package"] is None


def test_git_commit_of_a_checkout_and_of_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    (project / "inner").mkdir(parents=True)
    assert files._git_commit(project) is None

    def git(*arguments: Any) -> None:
        identity = ("-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false")
        subprocess.run(["git", "-C", str(project), *identity, *arguments], check=True,
                       capture_output=True)

    git("init")
    (project / "file").write_text("one")
    git("add", "file")
    git("commit", "-m", "one")
    commit = files._git_commit(project)
    assert commit is not None
    assert re.fullmatch("[0-9a-f]{40}", commit)
    git("tag", "-a", "v1", "-m", "v1")
    (project / "file").write_text("two")
    assert files._git_commit(project) == commit + "-dirty"
    assert files._git_commit(project / "inner") is None
    monkeypatch.setenv("PATH", "")
    assert files._git_commit(project) is None


# Folders that a kill left


def test_a_folder_without_anything_to_keep_is_used_again(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path, "run")
    leftovers = ("tensorboard/events.out.tfevents.1.host", ".results.0123abcd.json", ".lock",
                 "study.toml", "checkpoints/step-0000000000.pt")
    for name in leftovers:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("half")
    (folder / "cells.jsonl").touch()
    assert create_run_folder(tmp_path, "run") == folder
    with locked(folder):
        clear(folder)
        assert [path.name for path in folder.iterdir()] == [".lock"]


@pytest.mark.parametrize("kept", [
    ("results.json",), ("cells.jsonl", "study.toml"), ("study.toml",), ("notes.txt",),
    ("checkpoints/step-0000000000.pt", "checkpoints/step-0000000000.json"), (".env",),
    ("games.castle",), ("games.castle.part",)])
def test_a_folder_with_something_to_keep_is_left_as_it_is(
    tmp_path: Path, kept: tuple[str, ...]
) -> None:
    folder = create_run_folder(tmp_path, "run")
    for name in kept:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("whole")
    with pytest.raises(RunError, match="exists already"):
        create_run_folder(tmp_path, "run")
    with pytest.raises(RunError, match="exists already"):
        clear(folder)
    assert all((folder / name).read_text() == "whole" for name in kept)


def test_a_made_up_name_is_never_that_of_another_run(tmp_path: Path) -> None:
    assert len({unique_run_folder(tmp_path, "run") for _ in range(5)}) == 5
