"""How many processors a container's quota amounts to, read from files as Linux shows them."""

import os
import subprocess
import sys

import pytest

from rushlight.backend import quota

V2 = "31 23 0:28 {seen} /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = "32 31 0:29 {seen} /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
OTHER = (
    "22 1 254:1 / / rw,relatime - ext4 /dev/root rw\n35 31 0:33 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
)


def made(root, groups, mounts, files):
    for name, text in {"proc/self/cgroup": groups, "proc/self/mountinfo": OTHER + mounts, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return quota.processors(str(root))


@pytest.mark.parametrize(
    ("text", "expected"), [("150000 100000", 2), ("max 100000", None), ("50000 100000", 1), ("200000 100000", 2)]
)
def test_a_group_of_version_2(tmp_path, text, expected):
    files = {"sys/fs/cgroup/app/cpu.max": text + "\n"}
    assert made(tmp_path, "0::/app\n", V2.format(seen="/"), files) == expected


def test_a_group_around_it_has_less(tmp_path):
    files = {
        "sys/fs/cgroup/pod/app/cpu.max": "max 100000\n",
        "sys/fs/cgroup/pod/cpu.max": "300000 100000\n",
        "sys/fs/cgroup/cpu.max": "800000 100000\n",
    }
    assert made(tmp_path, "0::/pod/app\n", V2.format(seen="/"), files) == 3


@pytest.mark.parametrize(("amount", "expected"), [("250000", 3), ("-1", None)])
def test_a_group_of_version_1(tmp_path, amount, expected):
    group = "sys/fs/cgroup/cpu,cpuacct/docker/1a"
    files = {f"{group}/cpu.cfs_quota_us": amount + "\n", f"{group}/cpu.cfs_period_us": "100000\n"}
    groups = "5:memory:/docker/1a\n4:cpu,cpuacct:/docker/1a\n0::/\n"
    assert made(tmp_path, groups, V1.format(seen="/"), files) == expected


def test_a_container_sees_its_own_group_alone(tmp_path):
    files = {
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "100000",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "50000",
    }
    assert made(tmp_path, "4:cpuacct,cpu:/docker/1a\n", V1.format(seen="/docker/1a"), files) == 2


def test_a_group_outside_of_what_is_mounted(tmp_path):
    assert (
        made(tmp_path, "0::/../other\n", V2.format(seen="/docker/1a"), {"sys/fs/cgroup/cpu.max": "100000 100000"}) == 1
    )


@pytest.mark.parametrize("text", ["", "100000", "many few", "100000 0", "\0"])
def test_what_cannot_be_read_is_no_quota(tmp_path, text):
    assert (
        made(tmp_path, "0::/app\n4\n", V2.format(seen="/") + "1 - cgroup2\n", {"sys/fs/cgroup/app/cpu.max": text})
        is None
    )
    assert quota.processors(str(tmp_path / "nothing")) is None


def threads(**environment):
    code = "from rushlight.backend import quota; quota.processors = lambda: 1; import rushlight as r; print(r.get_num_threads(), end='')"
    kept = {k: v for k, v in os.environ.items() if k not in ("OMP_NUM_THREADS", "GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    told = "; import os; print([k for k in os.environ if k.startswith(('OMP', 'GOMP'))])"
    run = subprocess.run(
        [sys.executable, "-c", code + told], env={**kept, **environment}, capture_output=True, text=True, check=True
    )
    return run.stdout.strip()


def test_threads_follow_the_quota_but_not_the_users_own_number():
    assert threads() == "1[]"
    assert threads(OMP_NUM_THREADS="3", RUSHLIGHT_ONEDNN=os.environ.get("RUSHLIGHT_ONEDNN", "1")) in (
        "3['OMP_NUM_THREADS']",
        "1['OMP_NUM_THREADS']",
    )
