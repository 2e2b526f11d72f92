"""The pages as Sphinx reads them: the repository's own, with the generated ones and the tables of contents."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from . import api, coverage, notebooks

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md")
LESSONS = "docs/lessons/[0-9]*.md"
PARTS = {  # the sidebar
    "Learn": ["README", "docs/lessons/index", "docs/gradients", "docs/coming-from-torch"],
    "Use": [
        "docs/running-programs", "docs/sharding", "docs/libraries", "docs/data-loading", "docs/saving", "docs/reproducibility",
        "docs/mixed-precision", "docs/quantization", "docs/looking", "docs/devices", "docs/errors", "docs/performance", "docs/several-machines",
        "docs/scale", "docs/programs",
    ],
    "How it works inside": [
        "docs/index", "docs/how-a-call-flows", "docs/how-gradients-accumulate", "docs/views-and-versions",
        "docs/how-a-step-compiles", "docs/random-streams",
    ],
    "Change it": ["CONTRIBUTING", "docs/recipes/index", "docs/decisions/index", "docs/acceptance", "docs/site", "CHANGELOG"],
    "Reference": ["api/index", "coverage/index", "docs/missing-names", "docs/missing-names-used", "docs/differences"],
}  # fmt: skip
FOLDERS = {"recipes": "Recipes", "decisions": "Decisions"}  # each a list of its pages
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s]+)(\))")


def write(target: Path) -> None:
    """Make the folder of sources, from nothing."""
    shutil.rmtree(target, ignore_errors=True)
    for page in pages():
        _put(target, page.relative_to(ROOT), prepared(page, target))
    for picture in ROOT.glob("docs/lessons/pictures/*.svg"):
        _put(target, picture.relative_to(ROOT), picture.read_text())
    for lesson in lessons():
        path = lesson.relative_to(ROOT).with_suffix(".ipynb")
        _put(target, path, notebooks.text(lesson))
    for folder, title in FOLDERS.items():
        _put(target, Path("docs", folder, "index.md"), _list_of(folder, title))
    for folder, generated in (("api", api.pages()), ("coverage", coverage.pages())):
        for name, text in generated.items():
            _put(target, Path(folder, name), text)
    home = (Path(__file__).parent / "home.md").read_text()
    _put(target, Path("index.md"), home + "".join(_contents(entries, title) for title, entries in PARTS.items()))


def pages() -> list[Path]:
    """The Markdown pages of the repository that are part of the site."""
    return sorted(page for pattern in PAGES for page in ROOT.glob(pattern))


def lessons() -> list[Path]:
    """The lessons, in order."""
    return sorted(ROOT.glob(LESSONS))


def prepared(page: Path, target: Path) -> str:
    """A page with its links as they are in the site, and what only the site adds."""
    text = LINK.sub(lambda match: _link(match, page, target), page.read_text())
    if page.parent.name in FOLDERS:
        text = coverage.outside_the_sidebar(text, FOLDERS[page.parent.name])
    if page in lessons():
        title, _, rest = text.partition("\n")
        text = f"{title}\n\n{{download}}`This lesson as a notebook <{page.with_suffix('.ipynb').name}>`\n{rest}"
    if page.name == "index.md" and page.parent.name == "lessons":
        text += _contents([lesson.stem for lesson in lessons()])
    return text


def _link(match: re.Match, page: Path, target: Path) -> str:
    """A folder's link leads to its index; a file that is no page is copied, so that it can be downloaded."""
    start, path, end = match.groups()
    file = (page.parent / path.partition("#")[0]).resolve()
    if "://" in path or path.startswith("#") or file.suffix == ".md" or not file.exists():
        return match[0]
    if file.is_dir():
        index = f"{path.rstrip('/')}/index.md"
        return f"{start}{index}{end}" if file.name in FOLDERS else match[0].split("](")[0][1:]
    place = target / file.relative_to(ROOT)
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, place)
    return match[0]


def _list_of(folder: str, title: str) -> str:
    found = sorted(ROOT.glob(f"docs/{folder}/*.md"))
    lines = [f"- [{page.read_text().partition(chr(10))[0].lstrip('# ')}]({page.name})" for page in found]
    return f"# {title}\n\n" + "\n".join(lines) + "\n"


def _contents(entries: list[str], title: str = "") -> str:
    names = {"README": "Start <README>", "docs/index": "Map <docs/index>"}
    caption = f":caption: {title}\n" if title else ""
    return f"\n```{{toctree}}\n:hidden:\n{caption}\n" + "\n".join(names.get(e, e) for e in entries) + "\n```\n"


def _put(target: Path, path: Path, text: str) -> None:
    (target / path).parent.mkdir(parents=True, exist_ok=True)
    (target / path).write_text(text)
