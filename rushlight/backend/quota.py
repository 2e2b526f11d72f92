"""How many processors a container's quota amounts to.

`docker run --cpus 2` and the limits of Kubernetes let a process use all processors, but only for so much time in each tenth of a
second; then all of its threads wait for the next tenth. A pool with a thread for each of 64 processors spends such a quota on
threads that look for work. Linux's control groups tell it: `cpu.max` in version 2, `cpu.cfs_quota_us` and
`cpu.cfs_period_us` in version 1, in the process's group and in those around it (`man 7 cgroups`).
"""

from __future__ import annotations

import math
import os

__all__ = ["processors"]


def processors(root: str = "/") -> int | None:
    """The least quota of this process's control groups, in processors, rounded up; None where none is set or known.

    root: where `proc` and the groups' file systems are.
    """
    try:
        groups = _read(root, "proc/self/cgroup").splitlines()
        mounts = _read(root, "proc/self/mountinfo").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    paths = {kinds: path for _, kinds, path in (line.split(":", 2) for line in groups if line.count(":") >= 2)}
    found = [_least(root, mount, paths) for mount in mounts]
    return min((math.ceil(q) for q in found if q is not None), default=None)


def _least(root: str, mount: str, paths: dict[str, str]) -> float | None:
    """The least quota in the groups of one mounted hierarchy: of the process's group and those around it that are seen."""
    place, _, kind = mount.partition(" - ")
    fields, described = place.split(), kind.split()
    if len(fields) < 5 or len(described) < 3 or described[0] not in ("cgroup", "cgroup2"):
        return None
    if described[0] == "cgroup2":
        path = paths.get("")
    else:
        path = next((p for kinds, p in paths.items() if "cpu" in kinds.split(",")), None)
        if "cpu" not in described[2].split(","):
            return None
    if path is None:
        return None
    seen = fields[3].rstrip("/") + "/"  # the group that is mounted: a container may see its own alone
    below = path[len(seen) :] if path.startswith(seen) else ""
    parts = [part for part in below.split("/") if part]
    if ".." in parts:
        parts = []
    around = [os.path.join(root, fields[4].lstrip("/"), *parts[:n]) for n in range(len(parts) + 1)]
    quotas = [_quota(group) for group in around]
    return min((q for q in quotas if q is not None), default=None)


def _quota(group: str) -> float | None:
    """One group's quota, in processors."""
    try:
        if os.path.exists(os.path.join(group, "cpu.max")):
            quota, period = _read(group, "cpu.max").split()
        else:
            quota, period = (_read(group, f"cpu.cfs_{name}_us").strip() for name in ("quota", "period"))
        return int(quota) / int(period) if quota != "max" and int(quota) > 0 else None
    except (OSError, ValueError, ZeroDivisionError):
        return None


def _read(folder: str, name: str) -> str:
    with open(os.path.join(folder, name)) as file:
        return file.read()
