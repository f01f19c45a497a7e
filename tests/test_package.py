"""What the package says about itself, and what goes into it."""

import re
import tomllib

from places import ROOT

import castle_env

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_one_version_everywhere() -> None:
    assert f"\nversion: {castle_env.__version__}\n" in text("CITATION.cff")
    newest = re.search(r"^## (.+)$", text("CHANGELOG.md"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == castle_env.__version__


def test_the_page_of_a_package_index_has_no_relative_links() -> None:
    targets = re.findall(r"\]\(([^)\s]+)", text(PROJECT["project"]["readme"]))
    assert not [target for target in targets if "://" not in target]


def test_every_file_of_the_packages_that_is_no_module_is_installed() -> None:
    """Setuptools installs what `package-data` names, and leaves out the rest in silence."""
    data = PROJECT["tool"]["setuptools"]["package-data"]
    named = {file for package, patterns in data.items() for pattern in patterns
             for file in (ROOT / package.replace(".", "/")).glob(pattern)}
    present = {file for package in ("castle_env", "agents", "experiments")
               for file in (ROOT / package).rglob("*")
               if file.is_file() and file.suffix != ".py" and "__pycache__" not in file.parts}
    assert present == named


def test_every_folder_with_modules_is_a_package() -> None:
    for package in ("castle_env", "agents", "experiments"):
        for file in (ROOT / package).rglob("*.py"):
            assert (file.parent / "__init__.py").exists(), file


def test_bounds_are_the_versions_of_the_oldest_environment() -> None:
    """`.ci/oldest.txt` holds each lower bound of the core and of the extras that users install."""
    oldest = dict(re.findall(r"^([\w.-]+)==([\w.]+)$", text(".ci/oldest.txt"), re.MULTILINE))
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    needs = [*project["dependencies"], *extras["train"], *extras["play"], *extras["report"],
             *extras["ray"]]
    bounds = dict(re.findall(r"^([\w-]+)(?:\[\w+\])?>=([\w.]+)$", "\n".join(needs), re.MULTILINE))
    assert len(bounds) == sum(not need.startswith("storm-the-castle[") for need in needs)
    assert {name: oldest[name].removesuffix(".0") for name in bounds} == bounds
