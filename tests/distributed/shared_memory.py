"""What jobs leave in shared memory, on a machine where other jobs may start and end meanwhile."""

import glob
import os
import time

FOLDER = "/dev/shm"


def names():
    """Names of shared memory that a job could leave."""
    return {name for name in os.listdir(FOLDER) if name.startswith(("mpich", "rushlight"))}


def _mapped():
    """The names that some process uses."""
    found = set()
    for path in glob.glob("/proc/[0-9]*/maps"):
        try:
            with open(path) as file:
                found.update(word.rpartition("/")[2] for line in file for word in line.split() if FOLDER in word)
        except OSError:  # it has ended
            continue
    return found


def left_since(before):
    """The names that are there, were not in `before`, and are of no use: no process maps them, and none soon will."""
    left = names() - before
    if left:
        left -= _mapped()
        time.sleep(0.5 if left else 0)  # between making memory and mapping it
        left &= names() - _mapped()
    return left
