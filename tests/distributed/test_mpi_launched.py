"""One script under mpiexec, and under environments as srun and mpiexec make them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import shared_memory

SCRIPT = """
import os, sys, torch, torch.distributed as dist
dist.init_process_group()
x = torch.full((1000,), dist.get_rank() + 1.0)
dist.all_reduce(x)
y = torch.ones(1)
dist.destroy_process_group()
dist.init_process_group("mpi", sys.argv[1], rank=int(os.environ["RANK"]), world_size=2)
dist.all_reduce(y)
names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR")
by_mpi = dist.group.WORLD.wire is not None
line = " ".join(os.environ[n] for n in names) + f" {x[-1].item()} {y.item()} {by_mpi}\\n"
print(line, end="", flush=True)
"""
ABSENT = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "RUSHLIGHT_JOB_KEY")


@pytest.fixture
def command(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    return [sys.executable, "-m", "rushlight", "run", str(tmp_path / "script.py"), f"file://{tmp_path}/meet"]


def plain():
    return {k: v for k, v in os.environ.items() if k not in ABSENT and not k.startswith(("SLURM", "PMI", "OMPI"))}


def test_mpiexec(command):
    pytest.importorskip("mpi4py")
    mpiexec = Path(sys.executable).parent / "mpiexec"
    if not mpiexec.exists():
        pytest.skip("needs mpiexec of the mpich wheel")
    before = shared_memory.names()
    done = subprocess.run([mpiexec, "-n", "2", *command], capture_output=True, text=True, timeout=60, env=plain())
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == [f"{rank} 2 {rank} 2 127.0.0.1 3.0 2.0 True" for rank in (0, 1)]
    assert not shared_memory.left_since(before)


FAULTY = """
import os, sys, threading, torch.distributed as dist
from datetime import timedelta
if os.environ["PMI_RANK"] == "1" and sys.argv[1] == "before":
    sys.exit()
dist.init_process_group(timeout=timedelta(seconds=2 if sys.argv[1] == "before" else 60))
dist.barrier()
if dist.get_rank() == 0:
    raise ValueError("planted")
threading.Event().wait(120)
"""


@pytest.mark.parametrize(
    "when, said", [("before", "DistBackendError: starting MPI: no end within 2 s"), ("later", "ValueError: planted")]
)
def test_mpiexec_ends_where_a_process_fails(tmp_path, when, said):
    """One process ends before the others meet, or fails while another computes: nothing waits for ever, nothing is left."""
    pytest.importorskip("mpi4py")
    mpiexec = Path(sys.executable).parent / "mpiexec"
    if not mpiexec.exists():
        pytest.skip("needs mpiexec of the mpich wheel")
    (tmp_path / "script.py").write_text(FAULTY)
    before = shared_memory.names()
    command = [mpiexec, "-n", "2", sys.executable, "-m", "rushlight", "run", tmp_path / "script.py", when]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=plain())
    assert done.returncode != 0 and said in done.stderr
    assert not shared_memory.left_since(before)


SRUN = {"SLURM_NTASKS": "2", "SLURM_NTASKS_PER_NODE": "2", "SLURM_STEP_NUM_NODES": "1", "SLURM_STEP_ID": "0"}
NUMBERED = {  # launchers that only number the processes, as srun without an MPI plugin does, or one of another MPI
    "Slurm": ({**SRUN, "SLURM_JOB_ID": str(os.getpid()), "SLURM_STEP_NODELIST": os.uname().nodename},
              ("SLURM_PROCID", "SLURM_LOCALID")),
    "Open MPI": ({"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"},
                 ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK")),
    "PMI": ({"PMI_SIZE": "2", "MPI_LOCALNRANKS": "2"}, ("PMI_RANK", "MPI_LOCALRANKID")),
}  # fmt: skip


@pytest.mark.parametrize("launcher", NUMBERED)
def test_numbered_processes(command, launcher):
    shared, own = NUMBERED[launcher]
    both = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**plain(), **shared, **dict.fromkeys(own, str(rank)), "RUSHLIGHT_MPI": "0"},
        )
        for rank in (0, 1)
    ]  # fmt: skip
    try:
        said = [process.communicate(timeout=60) for process in both]
    finally:
        for process in both:
            process.kill()
    assert said == [(f"{rank} 2 {rank} 2 127.0.0.1 3.0 2.0 False\n", "") for rank in (0, 1)]
