"""Runs programs under the doctor, many in one process: `python -m tests.doctor.programs < programs.json`.

Reads [[name, source], ...] and writes {name: {"findings": [...], "error": ..., "output": ..., "mended": {check: source}}}.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path


def run_all(programs):
    from rushlight import alias

    alias.install()
    with tempfile.TemporaryDirectory() as folder:
        return {name: run(Path(folder) / f"{name.replace('/', '_')}.py", source) for name, source in programs}


def run(path, source):
    import rushlight
    from rushlight.doctor import watch
    from rushlight.doctor.report.diff import edit_of

    path.write_text(source)
    rushlight.manual_seed(0)
    output, error = io.StringIO(), None
    names = {"__name__": "__main__", "__file__": str(path)}
    with warnings.catch_warnings(), contextlib.redirect_stdout(output):
        warnings.simplefilter("ignore")
        try:
            with watch() as report:
                exec(compile(source, str(path), "exec"), names)
        except (Exception, SystemExit) as e:
            error = f"{type(e).__name__}: {e}"
    rushlight.set_grad_enabled(True)  # which a program may have left off
    names.clear()
    edits = {f.check: edit for f in report.findings if (edit := edit_of(f)) is not None}
    return {
        "findings": report.as_dict()["findings"],
        "error": error,
        "output": output.getvalue(),
        "mended": {check: "\n".join(edit.new) + "\n" for check, edit in edits.items()},
    }


def in_one_process(programs):
    """The results of `run_all` in a fresh process."""
    import subprocess

    done = subprocess.run(
        [sys.executable, "-m", "tests.doctor.programs"],
        input=json.dumps(programs), capture_output=True, text=True, check=False,
        cwd=Path(__file__).parents[2], env={**os.environ, "RUSHLIGHT_CHECK": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


if __name__ == "__main__":
    results = run_all(json.load(sys.stdin))
    json.dump(results, sys.stdout)
