"""Build the site; see the package's docstring."""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path

from . import sources

NEEDED = ("sphinx", "furo", "myst_parser")


def build(target: Path) -> int:
    """Write the sources to `target`/source and the pages to `target`/html; Sphinx's exit status."""
    from sphinx.cmd.build import build_main  # an optional package

    source = target / "source"
    sources.write(source)
    conf = Path(__file__).parent
    options = ["-W", "--keep-going", "-q", "-j", "auto", "-b", "html", "-c", str(conf), "-d", str(target / "doctrees")]
    return build_main([*options, str(source), str(target / "html")])


def main(arguments: list[str]) -> int:
    """Build into the folder that is named, or into build/site; 2 where the packages are missing (`--if-installed`: 0)."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    optional = "--if-installed" in arguments
    arguments = [argument for argument in arguments if argument != "--if-installed"]
    if missing:
        print(f"missing: {', '.join(missing)}; install them by: pip install -e '.[docs]'", file=sys.stderr)
        return 0 if optional else 2
    target = Path(arguments[0] if arguments else "build/site").resolve()
    start = time.perf_counter()
    status = build(target)
    print(f"{target / 'html' / 'index.html'}: {'failed' if status else 'built'} in {time.perf_counter() - start:.0f} s")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
