"""MPICH's PMI-1, by which a starting MPI library asks who it is and where the others are (Flux RFC 13).

Each process answers its own library, over a pair of sockets and from a thread. Only the addresses that the libraries put
into the table travel, over the connections that the processes have with each other already: no port is opened.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["PmiServer", "mapping"]

_ANSWERS = {
    "init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
    "get_maxes": "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0",
    "get_appnum": "cmd=appnum appnum=0 rc=0",
    "finalize": "cmd=finalize_ack rc=0",
}
_OF_LAUNCHERS = ("PMI", "HYDRA_", "HYDI_", "MPI_LOCAL", "MPIEXEC_")


def mapping(hosts: list[str]) -> str:
    """The value of PMI_process_mapping: which ranks share a host. Blocks (first host, hosts, ranks on each), by rank."""
    numbers: dict[str, int] = {}
    blocks: list[list[int]] = []
    for host in hosts:
        number = numbers.setdefault(host, len(numbers))
        if blocks and blocks[-1][0] == number:
            blocks[-1][1] += 1
        else:
            blocks.append([number, 1])
    return "(vector," + ",".join(f"({number},1,{ranks})" for number, ranks in blocks) + ")"


class PmiServer:
    """Answers the library of rank `rank` of `size`.

    name: the job's name in the library's shared memory, which must be a new one for each job and attempt. exchange: gives
    every process the tables of all; raises where one of them is gone.
    """

    def __init__(
        self, rank: int, size: int, name: str, hosts: list[str], exchange: Callable[[dict[str, str]], dict[str, str]]
    ):
        self.rank, self.size, self.name, self.exchange = rank, size, name, exchange
        self.table = {"PMI_process_mapping": mapping(hosts)}
        self._new: dict[str, str] = {}
        self.problem: BaseException | None = None

    @contextmanager
    def in_environment(self) -> Iterator[None]:
        """Within the context, a library that starts finds this server. Other launchers' variables are put aside."""
        theirs, ours = socket.socketpair()
        aside = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(_OF_LAUNCHERS)}
        own = {"PMI_FD": str(theirs.fileno()), "PMI_RANK": str(self.rank), "PMI_SIZE": str(self.size)}
        os.environ.update(own)
        threading.Thread(target=self._serve, args=(ours,), daemon=True, name="rushlight-pmi").start()
        try:
            yield
        finally:
            for name in own:  # not for this process's children
                os.environ.pop(name, None)
            os.environ.update(aside)
            theirs.detach()  # the library keeps and uses it

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            for line in lines:
                words = _words(line.decode())
                try:
                    answer = self._answer(words)
                except BaseException as error:  # whatever it is: the library waits for an answer
                    self.problem = error
                    return
                connection.sendall(answer.encode() + b"\n")
                if words.get("cmd") == "finalize":
                    return

    def _answer(self, words: dict[str, str]) -> str:
        command, key = words.get("cmd", ""), words.get("key", "")
        if command in _ANSWERS:
            return _ANSWERS[command]
        if command == "get_my_kvsname":
            return f"cmd=my_kvsname kvsname={self.name} rc=0"
        if command == "get_universe_size":
            return f"cmd=universe_size size={self.size} rc=0"
        if command == "put":
            self._new[key] = words["value"]
            return "cmd=put_result rc=0 msg=success"
        if command == "get":
            value = self._new.get(key, self.table.get(key))
            if value is None:
                return "cmd=get_result rc=-1 msg=key_not_found value=unknown"
            return f"cmd=get_result rc=0 msg=success value={value}"
        if command == "barrier_in":
            self.table.update(self.exchange(self._new))
            return "cmd=barrier_out rc=0"
        return f"cmd={command}_result rc=-1 msg=unknown_command"


def _words(line: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in line.split():
        name, _, value = word.partition("=")
        found[name] = value
    return found
