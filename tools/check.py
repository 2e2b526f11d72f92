"""`python -m tools.check [part ...]`: all that a change has to pass, as CI checks it.

Parts: lint (ruff), types (pyright), site (`tools.site`, where its packages are installed), tests (pytest, with the figures
of `tools.house`), caps (`tools.caps`: what depends on the instruction set, as older processors compute it). Without a part: all of them, the quickest first. Goes on after a
part that fails, and exits with 1 in the end.
"""

from __future__ import annotations

import subprocess
import sys
import time

PARTS = {
    "lint": [["ruff", "check", "."], ["ruff", "format", "--check", "."]],
    "types": [["pyright"]],
    "site": [[sys.executable, "-m", "tools.site", "--if-installed"]],
    "tests": [["pytest"]],
    "caps": [[sys.executable, "-m", "tools.caps"]],
}


def main(names: list[str]) -> int:
    """Run the parts; 1 if one failed, 2 for a name that is none of them."""
    if unknown := set(names) - set(PARTS):
        print(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    failed = []
    for name in names or PARTS:
        start = time.perf_counter()
        for command in PARTS[name]:
            print(f"--- {' '.join(command)}", flush=True)
            if subprocess.run(command).returncode:
                failed.append(" ".join(command))
        print(f"--- {name}: {time.perf_counter() - start:.0f} s", flush=True)
    print("failed: " + "; ".join(failed) if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
