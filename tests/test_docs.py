"""The pages that answer a researcher's questions: their commands work as printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ["your-agent", "your-network", "your-rules", "comparing-agents", "how-sure", "reproducing"]
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_page(page: str, tmp_path: Path) -> None:
    blocks = BLOCK.findall((DOCS / f"{page}.md").read_text(encoding="utf-8"))
    assert blocks
    programs = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                                "PYTHONPATH": str(tmp_path)}
    for language, text in blocks:
        done = subprocess.run([*programs[language], text], cwd=tmp_path, env=environment,
                              capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_readme_leads_to_every_question() -> None:
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert all(f"docs/{page}.md" in readme for page in PAGES)
