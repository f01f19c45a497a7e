"""Hook of MkDocs: takes pages from outside of docs/ into the site, and lets links follow them.

Links in the pages lead to files of the repository, as they must where these are read as they lie.
In the site a link leads to the page of that file, to the reference of a module, or to a copy of
the file.
"""

import posixpath
import re
from functools import partial
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[1]
DOCS: Final = ROOT / "docs"

# Files outside of docs/ that are pages, and where in the site.
PAGES: Final = {"README.md": "index.md", "castle_env/RULES.md": "rules.md",
                "CHANGELOG.md": "changelog.md"}
SOURCES: Final = {page: source for source, page in PAGES.items()}

LINK: Final = re.compile(r"(\]\()([^)\s]+)(?=\))")
REFERENCE: Final = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from outside of docs/."""
    for source, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page with links that lead to places in the site."""
    return LINK.sub(partial(_link, page.file.src_uri, config, files), markdown)


def _link(page: str, config: MkDocsConfig, files: Files, match: re.Match[str]) -> str:
    opening, target = match.groups()
    if "://" in target or target.startswith("#"):
        return match.group()
    path, mark, anchor = target.partition("#")
    source = posixpath.normpath(
        posixpath.join(posixpath.dirname(SOURCES.get(page, f"docs/{page}")), path))
    place = _place(source, config, files)
    if "#" in place:
        mark = anchor = ""
    return opening + posixpath.relpath(place, posixpath.dirname(page) or ".") + mark + anchor


def _place(source: str, config: MkDocsConfig, files: Files) -> str:
    """Where in the site a file of the repository is; it is added if it is not there yet."""
    if source in PAGES:
        return PAGES[source]
    if source.startswith("docs/"):
        return source.removeprefix("docs/")
    module = source.removesuffix(".py").replace("/", ".")
    if module in _references():
        return f"{_references()[module]}#{module}"
    place = f"files/{source}"
    if files.get_file_from_path(place) is None and (ROOT / source).is_file():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))
    return place


def _references() -> dict[str, str]:
    """Modules of the reference and their pages."""
    return {module: page.relative_to(DOCS).as_posix()
            for page in sorted((DOCS / "reference").glob("*.md"))
            for module in REFERENCE.findall(page.read_text(encoding="utf-8"))}
