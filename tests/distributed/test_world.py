"""A group of one process, how groups begin and end, and what is asked before."""

import os
import socket
import subprocess
import sys

import pytest

import rushlight as torch
import rushlight.distributed as dist
from rushlight.alias.finder import _PATH_FOLDER
from rushlight.distributed.process_output import streams_of


@pytest.fixture
def alone(tmp_path):
    dist.init_process_group("gloo", f"file://{tmp_path}/meet", rank=0, world_size=1)
    yield tmp_path
    if dist.is_initialized():
        dist.destroy_process_group()


def test_questions(alone):
    assert (dist.is_available(), dist.is_initialized(), dist.get_rank(), dist.get_world_size()) == (True, True, 0, 1)
    assert (dist.get_backend(), dist.get_backend_config()) == ("gloo", "cpu:gloo,cuda:gloo")
    assert dist.group.WORLD is dist.GroupMember.WORLD and dist.group.WORLD.size() == 1
    assert dist.get_process_group_ranks(None) == [0]
    assert not os.path.exists(alone / "meet")  # the last one to come removes it


def test_collectives_of_one(alone):
    x = torch.arange(3.0)
    assert dist.all_reduce(x) is None and dist.broadcast(x, 0) is None and dist.barrier() is None
    out = [torch.zeros(3)]
    dist.all_gather(out, x)
    assert out[0].tolist() == x.tolist() == [0, 1, 2]
    assert dist.all_reduce(x, async_op=True).get_future().wait()[0] is x


def test_a_write_is_noticed(alone):
    w = torch.ones(2, requires_grad=True)
    y = w * 2
    z = (y * y).sum()
    dist.all_reduce(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_the_end(alone):
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group("gloo")
    dist.destroy_process_group()
    assert not dist.is_initialized() and dist.group.WORLD is None
    with pytest.raises(AssertionError, match="Process group cannot be None"):
        dist.destroy_process_group()


BEFORE = {
    "get_rank()": ValueError,
    "get_world_size()": ValueError,
    "all_reduce(torch.ones(1))": ValueError,
    "barrier()": ValueError,
    "new_group([0])": ValueError,
}


@pytest.mark.parametrize("call", BEFORE)
def test_before_a_group_is_made(call):
    with pytest.raises(BEFORE[call], match="Default process group has not been initialized"):
        eval(f"dist.{call}")


@pytest.mark.parametrize(
    "arguments, error, words",
    [
        (("nccl", "tcp://127.0.0.1:1"), RuntimeError, "Distributed package doesn't have NCCL built in"),
        (("mpi",), ValueError, "environment variable RANK expected, but not set"),
        (("ucc",), RuntimeError, "doesn't have UCC built in"),
        (("nonsense",), AssertionError, "Unknown backend type nonsense"),
        (("gloo", None, 3), TypeError, "Expected timeout argument to be of type datetime.timedelta, got 3"),
        (("gloo", "tcp://no.such.host.invalid:80", None, 2, 0), dist.DistNetworkError, "no.such.host.invalid:80"),
        (("gloo",), ValueError, "environment variable RANK expected, but not set"),
        (("gloo", "tcp://127.0.0.1:0"), ValueError, "port number parameter missing"),
        (("gloo", "tcp://127.0.0.1:80"), ValueError, "rank parameter missing"),
        (("gloo", "file:///tmp/x"), ValueError, "rank parameter missing"),
        (("gloo", "other://x"), RuntimeError, "No rendezvous handler for other://"),
    ],
)
def test_wrong_beginnings(arguments, error, words, monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(error, match=words):
        dist.init_process_group(*arguments)


def test_wrong_ports_and_parts(monkeypatch):
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "99999")):
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match="port must have value from 0 to 65535 but was 99999"):
        dist.init_process_group("gloo")
    monkeypatch.setenv("MASTER_PORT", "0")
    dist.init_process_group("gloo")
    try:
        with pytest.raises(RuntimeError, match="all_to_all: this process has float32"):
            dist.all_to_all_single(torch.ones(2), torch.ones(3))
        with pytest.raises(TypeError, match="Expected timeout argument"):
            dist.new_group([0], timeout=3)
        with pytest.raises(ValueError, match="SyncBatchNorm layers only work with GPU modules"):
            torch.nn.parallel.DistributedDataParallel(torch.nn.SyncBatchNorm(2))
    finally:
        dist.destroy_process_group()


SCRIPT = """
import os, sys, torch, torch.distributed as dist
dist.init_process_group("gloo")
x = torch.tensor([dist.get_rank() + 1.0])
dist.all_reduce(x)
line = f"{sys.argv[1]} {os.environ['LOCAL_RANK']} {dist.get_world_size()} {x.item()}"
dist.destroy_process_group()
print(line)
sys.exit(3 if sys.argv[1] == "fail" and os.environ["RANK"] == "1" else 0)
"""


def test_the_launcher(tmp_path):
    """Of a process that fails; `test_the_command_torchrun` has two that end well."""
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "rushlight", "run", "-m", "torch.distributed.run", "--standalone"]
    logs = tmp_path / "logs"
    command += ["--nproc-per-node", "2", "--log-dir", str(logs), str(tmp_path / "script.py"), "fail"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 3, done.stderr
    assert (logs / "1.log").read_text() == "fail 1 2 3.0\n" and (logs / "0.log").exists()


def test_the_command_torchrun(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-c", "from rushlight.cli.torchrun import main; main()", "--standalone", "--tee", "1"]
    command += ["--nproc-per-node", "2", "--log-dir", str(tmp_path), str(tmp_path / "script.py"), "work"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["[default0]:work 0 2 3.0", "[default1]:work 1 2 3.0"]


def test_where_torch_is_installed_torchrun_is_its_own(tmp_path):
    package = tmp_path / "torch" / "distributed"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "run.py").write_text("def main(argv): print('of torch', argv)")
    command = [sys.executable, "-c", "from rushlight.cli.torchrun import main; main(['a.py'])"]
    for path, begins in ((str(tmp_path), True), (os.pathsep.join([str(_PATH_FOLDER), str(tmp_path)]), False)):
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
        assert (done.stdout == "of torch ['a.py']\n") is begins
        assert begins or "a.py" in done.stderr


ORPHAN = """
import fcntl, os, sys, time
file = open(sys.argv[1] + os.environ["RANK"], "w")
fcntl.flock(file, fcntl.LOCK_EX)  # until the process ends
os.write(1, b"there\\n")  # at once: print may write the end of the line by itself
time.sleep(100)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the system tells a process of its parent's death on Linux only")
def test_processes_end_with_a_killed_launcher(tmp_path):
    import fcntl

    (tmp_path / "script.py").write_text(ORPHAN)
    command = [sys.executable, "-m", "rushlight.distributed.run", "--standalone", "--nproc-per-node", "2"]
    launcher = subprocess.Popen([*command, str(tmp_path / "script.py"), str(tmp_path / "lock")], stdout=subprocess.PIPE)
    try:
        assert [launcher.stdout.readline() for _ in range(2)] == [b"there\n"] * 2
    finally:
        launcher.kill()
        launcher.communicate(timeout=20)
    for rank in (0, 1):
        with open(tmp_path / f"lock{rank}") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # waits for the process that holds it


def test_what_is_absent():
    from rushlight.distributed.tensor.parallel import ColwiseParallel

    assert not isinstance(torch.nn.Linear(1, 1), ColwiseParallel)
    with pytest.raises(NotImplementedError, match="ColwiseParallel is not implemented"):
        ColwiseParallel()


TALK = """
import os, sys
print("out", os.environ["RANK"], flush=True)
print("err", os.environ["RANK"], file=sys.stderr, flush=True)
"""


def test_output_to_files_and_to_the_console(tmp_path):
    (tmp_path / "script.py").write_text(TALK)
    command = [sys.executable, "-m", "rushlight.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += [
        "--log-dir",
        str(tmp_path / "logs"),
        "--tee",
        "0:1,1:3",
        "--redirects",
        "2",
        str(tmp_path / "script.py"),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["[default0]:out 0", "[default1]:out 1"]
    assert done.stderr.splitlines() == ["[default1]:err 1"]
    for rank in (0, 1):
        folder = tmp_path / "logs" / str(rank)
        assert [(folder / f"{name}.log").read_text() for name in ("stdout", "stderr")] == [
            f"out {rank}\n",
            f"err {rank}\n",
        ]


OLD_PROGRAM = """
import argparse, os
parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", "--local-rank", type=int, default=-1)
parser.add_argument("--lr", type=float)
args = parser.parse_args()
os.write(1, f"{args.local_rank} {args.lr} {os.environ['LOCAL_RANK']} {os.environ['ROLE_NAME']}\\n".encode())
"""


@pytest.mark.parametrize(
    "command, lines",
    [
        (["launch", "--nproc_per_node=2"], ["0 0.5 0 default", "1 0.5 1 default"]),
        (["launch", "--use_env", "--nproc_per_node=2"], ["-1 0.5 0 default", "-1 0.5 1 default"]),
        (["run", "--role", "trainer", "--nproc-per-node=2", "--tee", "1"],
         ["[trainer0]:-1 0.5 0 trainer", "[trainer1]:-1 0.5 1 trainer"]),
        (["run", "--nproc-per-node=2", "--local-ranks-filter", "1"], ["-1 0.5 1 default"]),
    ],
)  # fmt: skip
def test_what_programs_get_and_show(tmp_path, command, lines):
    """As under torch 2.13: the old launcher's argument, a role, the processes whose output is shown."""
    (tmp_path / "script.py").write_text(OLD_PROGRAM)
    name, *options = command
    command = [
        sys.executable,
        "-m",
        f"rushlight.distributed.{name}",
        *options,
        str(tmp_path / "script.py"),
        "--lr",
        "0.5",
    ]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert (done.returncode, sorted(done.stdout.splitlines())) == (0, lines), done.stderr


@pytest.mark.parametrize("text", ["4", "x:1", "", "1:"])
def test_streams_that_are_none(text):
    with pytest.raises(ValueError, match="expected 0, 1, 2, 3"):
        streams_of(text, 0)


STORE_OF_FIRST = """
import sys, rushlight.distributed as dist
print(dist.TCPStore("127.0.0.1", 0, 2, True, wait_for_workers=False).port, flush=True)
sys.stdin.read()
"""


def test_who_comes_as_process_0_ends_hears_its_name(monkeypatch):
    meet = dist.TCPStore._meet

    def meet_as_it_ends(self, *arguments):
        first.kill()
        first.wait()
        meet(self, *arguments)

    monkeypatch.setattr(dist.TCPStore, "_meet", meet_as_it_ends)
    command = [sys.executable, "-c", STORE_OF_FIRST]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        port = int(first.stdout.readline())
        with pytest.raises(RuntimeError) as raised:
            dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=1, world_size=2)
    assert f"process 0 on host {socket.gethostname()}, which kept the store, has ended" in str(raised.value)
    assert not dist.is_initialized()
