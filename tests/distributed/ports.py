"""Ports for jobs that have to be told one before anybody listens at it."""

import random
import socket

# Linux gives ports from 32768 on to connections and to listeners without a number: no other process gets one of these meanwhile.
_FIRST, _LAST = 15000, 32000
_choice = random.SystemRandom()


def free_port():
    """A port of this host at which nobody listens."""
    while True:
        port = _choice.randrange(_FIRST, _LAST)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:  # somebody does
                continue
            return port
