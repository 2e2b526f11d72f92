"""Programs with autocast and GradScaler: what they answer under torch (tests/golden/amp.json)."""

import importlib.util
import json
import math
import pickle
from pathlib import Path

import pytest

import rushlight as T
import rushlight.utils.checkpoint

GOLDEN = Path(__file__).parent.parent / "golden"
_spec = importlib.util.spec_from_file_location("make_amp", GOLDEN / "make_amp.py")
make = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make)
ANSWERS = json.loads((GOLDEN / "amp.json").read_text())


def assert_alike(found, expected, where=""):
    """Equal, with numbers to 1 part in 100 (bfloat16 has 8 bits) and 0.002."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), where
        for key, value in expected.items():
            assert_alike(found[key], value, f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for i, value in enumerate(expected):
            assert_alike(found[i], value, f"{where}[{i}]")
    elif isinstance(expected, float):
        assert math.isclose(found, expected, rel_tol=1e-2, abs_tol=2e-3), f"{where}: {found}, not {expected}"
    else:
        assert found == expected, where


@pytest.mark.parametrize("scenario", make.SCENARIOS, ids=lambda f: f.__name__)
def test_as_torch(scenario):
    assert_alike(scenario(T), ANSWERS[scenario.__name__])


def test_regions_belong_to_the_thread():
    from threading import Thread

    seen = []
    with T.autocast("cpu"):
        other = Thread(target=lambda: seen.append(T.is_autocast_enabled("cpu")))
        other.start()
        other.join()
    assert seen == [False]


def test_a_scaler_survives_pickling():
    scaler = T.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale(T.ones(1))
    scaler.update(2.0)
    assert pickle.loads(pickle.dumps(scaler)).get_scale() == 2.0


def test_an_optimizer_may_unscale_by_itself():
    class Own(T.optim.SGD):
        _step_supports_amp_scaling = True

        def step(self, closure=None):
            seen.append((self.grad_scale.item(), self.found_inf.item()))

    w, seen = T.nn.Parameter(T.ones(2)), []
    optimizer, scaler = Own([w], lr=1.0), T.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale((w * float("inf")).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert (seen, scaler.get_scale()) == ([(4.0, 1.0)], 2.0)


class _Listener:
    def __init__(self):
        self.names = []

    def __call__(self, record, tensors, metadata, result):
        self.names.append(record.name)


def test_a_listener_sees_the_casts_as_calls():
    from rushlight.core.dispatch.mode import thread

    layer, x, listener = T.nn.Linear(3, 2), T.ones(4, 3), _Listener()
    with T.autocast("cpu"):
        layer(x)  # leaves casts in the cache, which the listener has not seen
        thread.state.listener = listener
        try:
            layer(x)
            layer(x)
        finally:
            thread.state.listener = None
    assert listener.names == ["_to_copy"] * 3 + ["linear"] + ["_to_copy", "linear"]


@pytest.mark.parametrize("inside", [True, False], ids=["region inside", "region around"])
def test_a_compiled_step_equals_the_eager_one(inside):
    def run(compiled):
        T.manual_seed(0)
        model = make.network(T)
        optimizer = T.optim.SGD(model.parameters(), lr=0.05)
        x, y = T.randn(8, 1, 8, 8), T.randint(0, 5, (8,))

        def step(x, y):
            optimizer.zero_grad()
            with T.autocast("cpu", enabled=True):
                loss = T.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        def forward(x, y):
            return T.nn.functional.cross_entropy(model(x), y)

        if inside:
            step = T.compile(step) if compiled else step
            return [step(x, y).item() for _ in range(5)]
        forward = T.compile(forward) if compiled else forward
        losses = []
        for enabled in (True, True, True, True, False, True):
            optimizer.zero_grad()
            with T.autocast("cpu", enabled=enabled):
                loss = forward(x, y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    assert_alike(run(True), run(False))
