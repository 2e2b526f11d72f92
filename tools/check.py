"""`python -m tools.check [part ...]`: all that a change has to pass, as CI checks it.

Parts: lint (ruff), types (pyright), site (`tools.site`, where its packages are installed), tests (pytest, with the figures
of `tools.house`), caps (`tools.caps`: of what depends on the instruction set a third, as older processors compute it). Without a part:
all of them, the quickest first. Parts that use one core run two at a time, and the last of them while the next part
begins. Goes on after a part that fails, and exits with 1 in the end.
"""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

PARTS = {
    "lint": [["ruff", "check", "."], ["ruff", "format", "--check", "."]],
    "types": [["pyright"]],
    "site": [[sys.executable, "-m", "tools.site", "--if-installed"]],
    "tests": [["pytest"]],
    "caps": [[sys.executable, "-m", "tools.caps"]],
}
ON_ONE_CORE = ("lint", "types", "site")


def _run(name: str) -> list[str]:
    """Run a part's commands, and print what they print: at its end where another part runs meanwhile. Those that failed."""
    start, failed = time.perf_counter(), []
    for command in PARTS[name]:
        title = f"--- {' '.join(command)}"
        if name in ON_ONE_CORE:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            print(f"{title}\n{done.stdout}", end="", flush=True)
        else:
            print(title, flush=True)
            done = subprocess.run(command)
        if done.returncode:
            failed.append(" ".join(command))
    print(f"--- {name}: {time.perf_counter() - start:.0f} s", flush=True)
    return failed


def main(names: list[str]) -> int:
    """Run the parts; 1 if one failed, 2 for a name that is none of them."""
    if unknown := set(names) - set(PARTS):
        print(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    chosen = names or list(PARTS)
    with ThreadPoolExecutor(2) as pool:
        quick = [pool.submit(_run, name) for name in chosen if name in ON_ONE_CORE]
        running: set[Future[list[str]]] = set(quick)
        while len(running) > 1:
            running = wait(running, return_when=FIRST_COMPLETED).not_done
        results = [_run(name) for name in chosen if name not in ON_ONE_CORE]
    failed = [command for part in [*(each.result() for each in quick), *results] for command in part]
    print("failed: " + "; ".join(failed) if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
