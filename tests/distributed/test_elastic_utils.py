"""`torch.distributed.elastic.utils`: variables, ports, loggers, and the sampler that goes on within an epoch."""

import logging
import socket

import pytest

from rushlight.distributed.elastic.utils import get_env_variable_or_raise, get_socket_with_port, macros
from rushlight.distributed.elastic.utils.data import ElasticDistributedSampler
from rushlight.distributed.elastic.utils.distributed import get_free_port
from rushlight.distributed.elastic.utils.logging import get_logger


def test_orders_of_torch():
    data = list(range(11))
    sampler = ElasticDistributedSampler(data, num_replicas=2, rank=1, start_index=3)
    assert (list(sampler), len(sampler)) == ([3, 6, 8, 9], 4)  # torch 2.13's
    parts = [ElasticDistributedSampler(data, 2, rank, 4) for rank in (0, 1)]
    for part in parts:
        part.set_epoch(5)
    first, second = map(list, parts)
    assert set(first + second) == set(range(4, 11)) and len(first) == len(second) == 4
    with pytest.raises(ValueError, match="Start index 11 should be less than dataset size 11"):
        ElasticDistributedSampler(data, 2, 0, 11)


def test_variables_and_arguments(monkeypatch):
    monkeypatch.setenv("A_NAME", "value")
    assert get_env_variable_or_raise("A_NAME") == "value"
    monkeypatch.delenv("A_NAME")
    with pytest.raises(ValueError, match="Environment variable A_NAME expected, but not set"):
        get_env_variable_or_raise("A_NAME")
    assert macros.substitute(["--rank", macros.local_rank, 3], "1") == ["--rank", "1", 3]


def test_ports():
    with get_socket_with_port() as listener, socket.create_connection(listener.getsockname()[:2], 10):
        pass
    assert 0 < get_free_port() < 1 << 16


def test_loggers(monkeypatch):
    monkeypatch.setenv("LOGLEVEL", "INFO")
    assert get_logger("one of ours").level == logging.INFO and get_logger().name == __name__
