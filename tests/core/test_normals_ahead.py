"""Normal numbers made ahead of small draws: those of each draw by itself, whatever comes between, and torch's."""

import random

import numpy as np
import pytest

import rushlight as torch
from rushlight.core.dispatch import extension_points
from rushlight.core.random import ahead, continuous


def _draws(seed):
    """What a program draws that uses the default generator in many ways, and the state at its end."""
    choose = random.Random(seed)
    torch.manual_seed(seed)
    state = torch.get_rng_state()
    for _ in range(120):
        what = choose.random()
        if what < 0.6:
            yield torch.randn(choose.choice([16, 17, 20, 31, 48, 64, 100, 256, 300]))
        elif what < 0.75:
            yield torch.rand(choose.randrange(1, 40))
        elif what < 0.85:
            yield torch.empty(choose.choice([16, 50])).normal_(choose.choice([0, 2]), 0.5)
        elif what < 0.9:
            yield torch.randn(5)
        elif what < 0.95:
            state = torch.get_rng_state()
        else:
            torch.set_rng_state(state)
    yield torch.get_rng_state()


@pytest.mark.parametrize("seed", range(8))
def test_as_each_draw_by_itself(monkeypatch, seed):
    made_ahead = [t.numpy() for t in _draws(seed)]
    monkeypatch.setattr(continuous, "MOST", 0)
    for found, expected in zip(made_ahead, _draws(seed), strict=True):
        np.testing.assert_array_equal(found, expected.numpy())


def test_one_making_serves_a_block(monkeypatch):
    makes = []
    before = extension_points.random_normals.value

    def make(words, out, mean, std):
        makes.append(out.size)
        before(words, out, mean, std)

    monkeypatch.setattr(extension_points.random_normals, "value", make)
    torch.manual_seed(0)
    for _ in range(39):
        torch.randn(4, 4)
    assert makes == [624]
    torch.randn(ahead.MOST + 16)  # too many
    torch.empty(64).normal_(1.0, 2.0)  # with a mean
    assert makes[1:] == [ahead.MOST + 16, 64]


def test_torchs_numbers():
    torch.manual_seed(3)
    found = {}
    for i in range(60):
        x = torch.randn((16, 20, 48, 64)[i % 4])
        if i % 7 == 0:
            torch.rand(3)
        found[i] = [x[j].item() for j in (0, 7, -1)]
    assert found[13] == [0.2294646054506302, 0.81521075963974, -0.40927568078041077]
    assert found[41] == [0.3206697702407837, 0.050531163811683655, -1.7139949798583984]
    assert found[59] == [-1.1893092393875122, -1.8530646562576294, -0.662033200263977]
