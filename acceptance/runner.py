"""Runs one program under one backend in a process of its own, and says what came of it."""

import contextlib
import importlib.util
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

from acceptance.workspace import prepare

_HERE = Path(__file__).parent
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_VARIED_TAKES = 4  # times as long: these runs go without oneDNN's kernels


def run(entry, backend, python, clones, work, threads=1, variation=None, keep=0):
    """Carry out a `manifest.Run`: its commands one after another in a fresh copy of the program under `work`.

    `variation`: one of patches.VARIATIONS. `keep`: of how many steps to keep the gradients.

    Returns a dict: status ("ok", "fails", "timeout"), steps, seconds and cpu_s (recording taken off), records (one list of steps
    for all commands), out and err (the printed text), error (the last lines of a traceback); with `keep`, kept (for each
    of these steps of the first command the list of gradients, float64).
    """
    work, program = Path(work), entry.program
    try:
        cwd = prepare(program, clones, work / "program")
    except (OSError, ValueError) as error:
        return _outcome("fails", error=f"harness: {error}")
    result = _outcome("ok")
    for number, command in enumerate(entry.commands):
        part = _run_command(program, shlex.split(command), backend, python, work, cwd, threads, number, variation, keep)
        _append(result, part)
        if part["status"] != "ok":
            result["command"] = command
            break
    return {**result, "kept": list(_kept(work, keep))} if keep else result


def _kept(work, count):
    import numpy

    for number in range(1, count + 1):
        path = work / f"record0.{number}.npz"
        if path.exists():
            with numpy.load(path) as arrays:
                yield [arrays[name] for name in arrays.files]


def _outcome(status, **values):
    empty = {
        "status": status,
        "steps": 0,
        "seconds": 0.0,
        "cpu_s": 0.0,
        "peak_mb": 0,
        "records": [],
        "out": "",
        "err": "",
    }
    return {**empty, "error": "", **values}


def _append(result, part):
    shift = len(result["out"].encode())
    for record in part["records"]:
        record["out"] += shift
    result["records"] += part["records"]
    for key in ("steps", "seconds", "cpu_s", "out", "err"):
        result[key] += part[key]
    result["peak_mb"] = max(result["peak_mb"], part["peak_mb"])
    result["status"], result["error"] = part["status"], part["error"]


def _run_command(program, command, backend, python, work, cwd, threads, number, variation, keep):
    record, out, err = (work / f"{name}{number}" for name in ("record", "out", "err"))
    job = {
        "backend": backend,
        "command": command,
        "seed": program.seed,
        "steps": program.steps,
        "backwards": program.backwards,
        "patches": (*program.patches, *filter(None, [variation])),
        "record": str(record),
        "keep": keep,
        "shows": program.shows if number + 1 == len(program.commands) else (),
        "started": time.time(),
    }
    (work / "job.json").write_text(json.dumps(job))
    record.write_text("")
    begun = time.perf_counter()
    with out.open("wb") as out_file, err.open("wb") as err_file, _stdin("terminal" in program.patches) as stdin:
        process = subprocess.Popen(
            [python, str(_HERE / "child.py"), str(work / "job.json")],
            cwd=cwd,
            env=_environment(program, work / "program", threads, backend),
            stdin=stdin,
            stdout=out_file,
            stderr=err_file,
            start_new_session=True,
        )
        limit_s = program.timeout_s * (_VARIED_TAKES if variation else 1)
        code = _wait(process, limit_s)
    seconds = time.perf_counter() - begun
    return _read(record, out, err, code, seconds, limit_s)


def _environment(program, root, threads, backend):
    paths = [str(root / path) for path in program.paths]
    paths += [str(_HERE / "shims" / name) for name in program.shims]
    if backend == "torch":
        paths.append(str(_HERE / "shims" / "reference"))
    elif (spec := importlib.util.find_spec("rushlight")) and spec.origin:
        paths.append(str(Path(spec.origin).parent.parent))  # also where it is not installed
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHASHSEED")}
    return {
        **environment,
        **dict.fromkeys(_THREADS, str(threads)),
        "MPLBACKEND": "Agg",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "",
        "RUSHLIGHT_TRACEBACK": "full",
        "PYTHONPATH": os.pathsep.join(paths),
        **{key: value.replace("{root}", str(root)) for key, value in program.environment.items()},
    }


class _stdin:
    """/dev/null, or a terminal of 24 lines and 80 columns for programs that ask for its size."""

    def __init__(self, terminal):
        self.terminal = terminal

    def __enter__(self):
        if not self.terminal:
            self.ends = [os.open(os.devnull, os.O_RDONLY)]
            return self.ends[0]
        import fcntl
        import pty
        import struct
        import termios

        self.ends = list(pty.openpty())
        fcntl.ioctl(self.ends[1], termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        return self.ends[1]

    def __exit__(self, *error):
        for end in self.ends:
            os.close(end)


def _wait(process, timeout_s):
    """The exit code, or None if the time was up; no process of the program's session is left."""
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _read(record, out, err, code, seconds, timeout_s):
    lines = [json.loads(line) for line in record.read_text().splitlines() if line.endswith("}")]
    steps = [line for line in lines if "step" in line]
    end = next((line for line in lines if "end" in line), {})
    errors = err.read_text(errors="replace")
    status = "timeout" if code is None else "ok" if code == 0 and end else "fails"
    error = "" if status == "ok" else f"stopped after {timeout_s} s" if code is None else last_lines(errors, code)
    return _outcome(
        status,
        steps=len(steps),
        seconds=seconds - end.get("overhead_s", 0.0),
        cpu_s=end.get("cpu_s", 0.0),
        peak_mb=end.get("peak_mb", 0),
        records=steps,
        out=out.read_text(errors="replace"),
        err=errors,
        error=error,
    )


def last_lines(text, code, count=4):
    """The end of what was written to stderr: where the error is named."""
    lines = [line for line in text.replace("\r", "\n").splitlines() if line.strip()]
    return "\n".join(lines[-count:]) or f"exit status {code}"


def interpreter():
    """The Python that runs Rushlight: this one."""
    return sys.executable
