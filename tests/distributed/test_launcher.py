"""`elastic_launch`: functions and programs by processes of ranks, what they return, failures, and restarts."""

import os
import signal
import subprocess
import sys
import time

import pytest

import rushlight as torch
from rushlight.distributed import launch
from rushlight.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
from rushlight.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from rushlight.distributed.launcher.api import LaunchConfig, elastic_launch

START = "fork" if sys.platform == "linux" else "spawn"


def config(**options):
    given = {"nproc_per_node": 2, "run_id": "a run", "rdzv_backend": "c10d", "start_method": START, "max_restarts": 0}
    return LaunchConfig(1, 1, **{**given, **options})


def own_words(word):
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "ROLE_NAME", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT")
    return word, [os.environ[name] for name in names]


def a_tensor():
    return torch.arange(3) * int(os.environ["RANK"])


def fails_twice():
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    if attempt < "2" and os.environ["RANK"] == "1":
        raise ValueError(f"attempt {attempt}")
    return attempt


def raises():
    if os.environ["RANK"] == "1":
        raise KeyError("what it looked for")
    time.sleep(60)  # ended by the launcher


def is_killed():
    if os.environ["RANK"] == "0":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


def test_values_by_rank():
    got = elastic_launch(config(role="trainer"), own_words)("said")
    assert got == {r: ("said", [str(r), "2", str(r), "trainer", "a run", "0"]) for r in (0, 1)}
    assert {r: t.tolist() for r, t in elastic_launch(config(), a_tensor)().items()} == {0: [0, 0, 0], 1: [0, 1, 2]}


def test_processes_that_import_the_program_again():
    assert elastic_launch(config(start_method="spawn", nproc_per_node=1), own_words)(1)[0][0] == 1


def test_restarts():
    assert elastic_launch(config(max_restarts=2), fails_twice)() == {0: "2", 1: "2"}
    with pytest.raises(ChildFailedError, match="attempt 1"):
        elastic_launch(config(max_restarts=1), fails_twice)()


def test_an_exception_is_told_with_its_traceback():
    with pytest.raises(ChildFailedError, match=r"in raises\n.*what it looked for") as caught:
        elastic_launch(config(), raises)()
    rank, failure = caught.value.get_first_failure()
    assert (caught.value.name, rank, failure.local_rank, failure.exitcode) == ("raises", 1, 1, 1)
    assert failure.message["message"] == "KeyError: 'what it looked for'"


def test_a_signal_is_told():
    with pytest.raises(ChildFailedError) as caught:
        elastic_launch(config(), is_killed)()
    (failure,) = caught.value.failures.values()
    assert (failure.exitcode, failure.signal_name()) == (-9, "SIGKILL")
    assert failure.message == f"Signal 9 (SIGKILL) received by PID {failure.pid}"


def test_programs(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import os, sys\nprint(os.environ['RANK'], sys.argv[1])\nsys.exit(int(sys.argv[2]))\n")
    logs = DefaultLogsSpecs(str(tmp_path / "logs"), Std.OUT)
    got = elastic_launch(config(logs_specs=logs), sys.executable)(str(script), "word", 0)
    assert got == {0: None, 1: None}
    assert [(tmp_path / "logs" / r / "stdout.log").read_text() for r in "01"] == ["0 word\n", "1 word\n"]
    with pytest.raises(ChildFailedError, match=r"script\.py FAILED") as caught:
        elastic_launch(config(), sys.executable)(str(script), "word", 3)
    assert {failure.exitcode for failure in caught.value.failures.values()} == {3}


def test_the_older_launcher_warns_and_gives_the_local_rank(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import sys\nopen(sys.argv[2], 'w').write(sys.argv[1])\n")
    with pytest.warns(FutureWarning, match=r"The module torch\.distributed\.launch is deprecated\nand will be removed"):
        launch.main(["--standalone", str(script), str(tmp_path / "told")])
    assert (tmp_path / "told").read_text() == "--local-rank=0"


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"rdzv_backend": "etcd"}, NotImplementedError, "etcd"),
        ({"rdzv_backend": "static"}, ValueError, "Endpoint is missing"),
        ({"rdzv_backend": "static", "rdzv_endpoint": "here"}, ValueError, "port is missing in endpoint: here"),
        ({"rdzv_backend": "other"}, ValueError, "'other' is not registered"),
        ({"start_method": "other"}, ValueError, "cannot find context"),
        ({"nproc_per_node": 0}, AssertionError, "nproc_per_node"),
        ({"shutdown_timeout": -1}, ValueError, "shutdown_timeout must be non-negative"),
        ({"logs_specs": DefaultLogsSpecs(tee=Std.ALL)}, NotImplementedError, "not redirected"),
    ],
)
def test_wrong_configurations(options, error, text):
    with pytest.raises(error, match=text):
        elastic_launch(config(**options), a_tensor)()


def test_machines_that_do_not_fit():
    with pytest.raises(ValueError, match="maximum number of rendezvous nodes"):
        elastic_launch(LaunchConfig(2, 1, 1, run_id="x", rdzv_backend="c10d"), a_tensor)()
    with pytest.raises(AssertionError):
        ChildFailedError("none", {})


def test_the_first_failure():
    early, late = (ProcessFailure(i, 1, 1, "") for i in (0, 1))
    early.timestamp -= 5
    error = ChildFailedError("name", {4: late, 2: early})
    assert error.get_first_failure() == (2, early)
    assert str(error).index("rank      : 4") < str(error).index("Root Cause") < str(error).index("rank      : 2")


SCRIPT = """
import os, time
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

def work(folder):
    open(f"{folder}/{os.getpid()}.pid", "w").close()
    time.sleep(60)

if __name__ == "__main__":
    import sys
    elastic_launch(LaunchConfig(1, 1, 2, run_id="x", rdzv_backend="c10d", start_method="fork"), work)(sys.argv[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the system ends them")
def test_a_killed_program_leaves_no_process(tmp_path):
    (tmp_path / "s.py").write_text(SCRIPT)
    launcher = subprocess.Popen([sys.executable, "-m", "rushlight", "run", str(tmp_path / "s.py"), str(tmp_path)])
    deadline = time.monotonic() + 60
    while len(found := list(tmp_path.glob("*.pid"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    launcher.kill()
    launcher.wait()
    for path in found:
        while os.path.exists(f"/proc/{path.stem}") and time.monotonic() < deadline:
            time.sleep(0.02)
    assert len(found) == 2 and not [p for p in found if os.path.exists(f"/proc/{p.stem}")]
