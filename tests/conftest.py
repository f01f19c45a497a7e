"""One thread for PyTorch, and all cores for the whole suite."""

import gc
import os
from collections.abc import Iterator

import pytest

# The files that take longest: last, one of them would keep a process busy while others have ended.
LONGEST = ("test_docs.py", "training/test_run.py", "test_notebooks.py", "commands/test_bench.py",
           "test_compiled.py", "test_backend.py", "test_static_study.py", "training/test_ppo.py",
           "training/test_az.py", "test_book.py", "test_examples.py", "test_site.py")

# Small networks gain nothing from more threads, and lose on a busy machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """With pytest-xdist, all tests run in a process for each core, unless `-n` says otherwise.

    Tests of one file stay together, since they share what is dear to make.
    """
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    parallel = config.pluginmanager.hasplugin("xdist") and not config.option.collectonly
    worker = hasattr(config, "workerinput")
    if whole and parallel and not worker and config.option.numprocesses is None:
        config.option.numprocesses = os.cpu_count()
        config.option.dist = "loadfile"
        config.option.loadscopereorder = False  # else files with many tests come first


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Nothing that is imported is garbage: to look for some takes a sixth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of files that take long come first; all others stay where they are."""
    def rank(item: pytest.Item) -> int:
        file = item.path.as_posix()
        return next((place for place, end in enumerate(LONGEST) if file.endswith(f"/{end}")),
                    len(LONGEST))

    items.sort(key=rank)
