"""One thread for PyTorch, and all cores for the whole suite."""

import os

import pytest

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
