"""`torchrun --nnodes MIN:MAX`: launchers that come and go, each round with new processes."""

import json
import signal
import subprocess
import sys
import time

import pytest
from ports import free_port

from rushlight.distributed.elastic import coordinator
from rushlight.distributed.run import main

SCRIPT = """
import json, os, sys, time
from pathlib import Path
folder, word = Path(sys.argv[1]), sys.argv[2]
names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "MASTER_ADDR",
         "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_RUN_ID")
own = {name: os.environ[name] for name in names}
own["launcher"] = os.getppid()
path = folder / f"{os.getpid()}"
path.with_suffix(".new").write_text(json.dumps(own))
os.replace(path.with_suffix(".new"), path)
while not (folder / "finish").exists():
    time.sleep(0.02)
    both_said = len(list(folder.glob("*[0-9]"))) > 1  # the other is killed as soon as this one ends
    if word == "fail" and own["RANK"] == "1" and own["TORCHELASTIC_RESTART_COUNT"] == "0" and both_said:
        sys.exit(3)
"""


class Launchers:
    """Launchers of one job on this host."""

    def __init__(self, folder, word="work", options=()):
        self.folder, self.processes, self.seen = folder, [], set()
        (folder / "script.py").write_text(SCRIPT)
        (folder / "said").mkdir()
        endpoint = f"127.0.0.1:{free_port()}"
        self.command = [
            sys.executable,
            "-m",
            "rushlight.distributed.run",
            "--rdzv-endpoint",
            endpoint,
            "--rdzv-id",
            "j",
        ]
        self.command += ["--rdzv-conf", "last_call_timeout=0.2", *options]
        self.script = [str(folder / "script.py"), str(folder / "said"), word]

    def start(self, *options):
        """Another launcher."""
        command = [*self.command, *options, *self.script]
        self.processes.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        return self.processes[-1]

    def next_world(self, size):
        """What the processes of the next world of a size say, by rank."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            said = {p: json.loads(p.read_text()) for p in (self.folder / "said").glob("*[0-9]") if p not in self.seen}
            world = {p: one for p, one in said.items() if one["WORLD_SIZE"] == str(size)}
            if len(world) == size:
                self.seen.update(said)
                return sorted(world.values(), key=lambda one: int(one["RANK"]))
            time.sleep(0.02)
        raise TimeoutError(f"no world of {size}: {said}")

    def finish(self):
        """Let the programs end; (status, what was said) of each launcher."""
        (self.folder / "said" / "finish").touch()
        said = [process.communicate(timeout=60)[1] for process in self.processes]
        return [process.returncode for process in self.processes], said

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for process in self.processes:
            process.kill()
            process.communicate()


def test_machines_come_and_go(tmp_path):
    with Launchers(tmp_path, options=["--nnodes", "1:3", "--max-restarts", "2"]) as job:
        first = job.start("--nproc-per-node", "2")
        alone = job.next_world(2)
        assert [one["LOCAL_RANK"] for one in alone] == ["0", "1"] and alone[0]["GROUP_WORLD_SIZE"] == "1"
        second = job.start()
        three = job.next_world(3)
        assert [one["launcher"] for one in three] == [first.pid, first.pid, second.pid]
        assert [(one["GROUP_RANK"], one["LOCAL_WORLD_SIZE"]) for one in three] == [("0", "2"), ("0", "2"), ("1", "1")]
        assert len({(one["MASTER_ADDR"], one["MASTER_PORT"]) for one in three}) == 1
        assert {one["TORCHELASTIC_RESTART_COUNT"] for one in three} == {"0"}  # who comes costs no restart
        second.send_signal(signal.SIGKILL)
        again = job.next_world(2)
        assert {one["launcher"] for one in again} == {first.pid} and again[0]["TORCHELASTIC_RUN_ID"] == "j"
        statuses, said = job.finish()
    assert statuses == [0, -signal.SIGKILL]
    assert "has come" in said[0] and f"(pid {second.pid}) is gone" in said[0]


def test_a_failure_is_a_new_round_and_then_the_end(tmp_path):
    with Launchers(tmp_path, "fail", ["--nnodes", "2", "--rdzv-backend", "c10d", "--max-restarts", "1"]) as job:
        job.start()
        job.start()
        world = job.next_world(2)
        assert [one["TORCHELASTIC_RESTART_COUNT"] for one in world] == ["0", "0"]
        world = job.next_world(2)
        assert [one["TORCHELASTIC_RESTART_COUNT"] for one in world] == ["1", "1"]
        statuses, said = job.finish()
    assert statuses == [0, 0]
    assert "has ended by exit status 3; 0 of 1 restarts are left" in "".join(said)


def test_no_restart_is_left(tmp_path):
    with Launchers(tmp_path, "fail", ["--nnodes", "1:2"]) as job:
        job.start("--nproc-per-node", "2")
        statuses, said = [job.processes[0].wait(60)], job.processes[0].stderr.read()
    assert statuses == [3] and "rank 1 (local rank 1" in said


def test_too_few_come(tmp_path):
    options = ["--nnodes", "2:3", "--rdzv-conf", "join_timeout=2"]
    with Launchers(tmp_path, options=options) as job:
        job.start()
        assert job.processes[0].wait(60) == 1
        assert "RendezvousTimeoutError: 2 machines have not come within 2 s, but 1" in job.processes[0].stderr.read()


@pytest.mark.parametrize("nodes", ["3:2", "0", "a:2"])
def test_numbers_of_machines_that_are_none(nodes):
    with pytest.raises(ValueError, match=r"expected a number of machines|invalid literal"):
        main(["--nnodes", nodes, "script.py"])


def test_an_unknown_option_of_the_rendezvous():
    assert coordinator.options_of("last_call_timeout=2, join_timeout=5")["join_timeout"] == 5
    with pytest.raises(ValueError, match="--rdzv-conf other: not one of"):
        coordinator.options_of("other=1")
