"""One process that speaks for many clients to the control plane of a job, whose process 0 is a second one.

Measured: the time until all have joined, the memory of process 0, the processor time that it takes while nothing happens, and the
time until the death of one client has reached all others.

    python tests/distributed/many_clients.py [CLIENTS] [SECONDS in which nothing happens]
"""

from __future__ import annotations

import json
import resource
import selectors
import subprocess
import sys
import time
import zlib
from datetime import timedelta

from rushlight.distributed.control.guard import Guard
from rushlight.distributed.control.meeting import Meeting
from rushlight.distributed.control.messages import HEAD, Kind
from rushlight.distributed.handshake import receive_exactly
from rushlight.distributed.mesh import Mesh
from rushlight.distributed.store import TCPStore

LIMIT = timedelta(seconds=60)


def memory_kb(name: str) -> int:
    """A line of this process's status: VmRSS, or VmHWM, the peak."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name))


def keep_store(size: int) -> None:
    """Process 0: prints a line of JSON when all have joined, and one for each line that it reads."""
    store = TCPStore("127.0.0.1", 0, is_master=True)
    before_kb = memory_kb("VmRSS")
    print(store.port, flush=True)
    mesh = Mesh(store, 0, size, LIMIT)
    guard = Guard(mesh)
    print(json.dumps({"is_star": mesh.is_star}), flush=True)
    for _ in sys.stdin:
        print(
            json.dumps({"cpu_s": time.process_time(), "memory_mb": (memory_kb("VmHWM") - before_kb) / 1024}), flush=True
        )
    guard.close()


class Client(Meeting):
    """A process of the job, as far as the others can see; it waits for them later, by `roster`."""

    def hear_all(self) -> None:
        pass


def next_message(connection) -> tuple[int, bytes]:
    """The kind and the text of a message of the hub."""
    kind, key_size, note_size, size = HEAD.unpack(receive_exactly(connection, HEAD.size))
    return kind, receive_exactly(connection, key_size + note_size + size)[key_size + note_size :]


def await_news(clients: list[Client], dead: int) -> None:
    """Wait until all clients have heard that one of them is dead."""
    with selectors.DefaultSelector() as selector:
        for client in clients:
            selector.register(client.connections[0], selectors.EVENT_READ, client)
        while selector.get_map():
            places = selector.select(LIMIT.total_seconds())
            if not places:
                raise TimeoutError(f"{len(selector.get_map())} clients have not heard of the death")
            for place, _ in places:
                kind, text = next_message(place.fileobj)
                if kind == Kind.NEWS and any(news[0] == dead for news in json.loads(text)):
                    selector.unregister(place.fileobj)


def measure(clients: int, idle_s: float) -> dict[str, float]:
    """Play `clients` processes; what was measured."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    hub = subprocess.Popen(
        [sys.executable, __file__, "hub", str(clients + 1)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert hub.stdin and hub.stdout
    stores: list[TCPStore] = []
    joined: list[Client] = []
    try:
        port = int(hub.stdout.readline())
        begun = time.monotonic()
        stores += [TCPStore("127.0.0.1", port) for _ in range(clients)]
        joined += [Client(store, i + 1, clients + 1, LIMIT) for i, store in enumerate(stores)]
        assert json.loads(hub.stdout.readline())["is_star"]
        (roster,) = {client.roster() for client in joined}
        assert [who["rank"] for who in json.loads(zlib.decompress(roster))] == [*range(clients + 1)]
        found = {"start_s": time.monotonic() - begun}

        def ask() -> dict[str, float]:
            hub.stdin.write("\n")
            hub.stdin.flush()
            return json.loads(hub.stdout.readline())

        before = ask()
        time.sleep(idle_s)
        after = ask()
        begun = time.monotonic()
        dead = joined[clients // 2]
        dead.connections[0].close()
        await_news([client for client in joined if client is not dead], dead.rank)
        found |= {"death_s": time.monotonic() - begun, "memory_mb": ask()["memory_mb"]}
        return found | {"cores": (after["cpu_s"] - before["cpu_s"]) / idle_s}
    finally:
        hub.kill()
        hub.communicate()
        for place in [*stores, *(link for client in joined for link in client.connections.values())]:
            place.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["hub"]:
        keep_store(int(sys.argv[2]))
    else:
        number = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
        result = measure(number, float(sys.argv[2]) if len(sys.argv) > 2 else 10.0)
        print(
            f"{number} clients: all have joined after {result['start_s']:.2f} s, {result['memory_mb']:.0f} MB, heartbeats take "
            f"{result['cores']:.1%} of a core, all know of a death after {result['death_s']:.2f} s"
        )
