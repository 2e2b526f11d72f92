"""Threads that train at the same time, in fresh processes: see `threads_stress.py`, which also makes many more starts."""

import gc
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import threads_stress

import rushlight as torch
from rushlight.backend.onednn.library import available as has_onednn
from rushlight.compile.lower.llvm import engine
from rushlight.core.live_objects import instances

native = pytest.mark.skipif(not (engine.available() and has_onednn()), reason="no compiler or no oneDNN here")


@native
@pytest.mark.parametrize("options", [{}, {"deterministic": True}], ids=["default", "deterministic"])
def test_threads_end_as_they_do_one_after_another(options, monkeypatch):
    monkeypatch.delenv("RUSHLIGHT_CHECK", raising=False)
    assert not threads_stress.compare(1 if options else 3, 8, 16, **options)


@native
def test_children_of_a_process_whose_threads_train_end_as_alone(monkeypatch):
    monkeypatch.delenv("RUSHLIGHT_CHECK", raising=False)
    assert not threads_stress.compare(2, 8, 20, forks=4)


def test_looking_at_all_objects_disturbs_no_thread():
    """`gc.get_objects` shows tuples that are being made; whoever holds one makes that fail."""
    errors, stop = [], threading.Event()

    def work():
        try:
            while not stop.is_set():
                tuple(x for x in range(5))
        except SystemError as error:
            errors.append(error)

    workers = [threading.Thread(target=work) for _ in range(3)]
    before, t = sys.getswitchinterval(), torch.ones(3)
    sys.setswitchinterval(1e-5)
    try:
        for worker in workers:
            worker.start()
        found = [instances(torch.Tensor) for _ in range(200)]
    finally:
        sys.setswitchinterval(before)
        stop.set()
        for worker in workers:
            worker.join()
    assert not errors
    assert all(any(o is t for o in objects) for objects in found) and gc.isenabled()
    assert {type(o) for o in instances(np.dtype, torch.Tensor)} >= {torch.Tensor}


def test_gradients_that_another_thread_changes_are_no_part_of_a_capture(python_unseen):
    mine, other = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    with ThreadPoolExecutor(1) as pool:

        def step(x):
            mine.grad = None
            (mine * x).sum().backward()
            pool.submit(meanwhile).result()
            return mine.grad.sum()

        turn = []

        def meanwhile():
            turn.append(0)
            other.grad = None if len(turn) % 2 else torch.ones(3)

        captured = []
        accept = torch.compile(step)
        for _ in range(3):
            captured.append(accept(torch.ones(3)).item())
    assert captured == [3.0] * 3
    for program in accept.captured:
        assert not [s for s, _ in program.outcome.grads if getattr(s, "held", None) is other]
