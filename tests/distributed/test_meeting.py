"""How processes meet: who is named where one ends before the group is made."""

import json
import subprocess
import sys
from datetime import timedelta

import pytest

from rushlight.distributed import HashStore
from rushlight.distributed.control import meeting, process_state
from rushlight.distributed.errors import DistNetworkError


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
def test_the_first_one_that_has_ended_is_named_by_who_came_last(monkeypatch):
    """Process 1 ends; so process 0 does, with the store. Process 2 finds process 0 gone, and knows of both."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    process = [ended.pid, 1, process_state.identity()[2]]
    store = HashStore()
    store.set("token", "00" * 32)
    for rank in range(2):
        who = {"rank": rank, "size": 3, "job": "", "pid": ended.pid, "host": "here", "process": process}
        store.set(f"member/{rank}", json.dumps(who))
        store.set(f"address/{rank}", "127.0.0.1 1")

    def connect(host, port, deadline, key, who, look):
        """Nothing listens there any more: it looks for the reason between two tries."""
        look()

    monkeypatch.setattr(meeting, "connect", connect)
    monkeypatch.setattr(meeting.handshake, "job_name", lambda: "")
    with pytest.raises(DistNetworkError, match=r"process 0 \(pid.*process 1 \(pid.*ended before the group was made"):
        meeting.Meeting(store, 2, 3, timedelta(seconds=5))
