"""The device `cuda`: with a simulation of CuPy where there is no GPU, and with CuPy where RUSHLIGHT_CUDA=1 and a GPU are there."""

import copy
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn, optim
from rushlight.backend import gpus
from rushlight.backend.cuda import Cuda
from rushlight.backend.gpus import count
from rushlight.core.device import devices
from rushlight.testing.devices import check_operator
from rushlight.testing.samples import SAMPLES, function_of, samples_of

from .simulated_cupy import cupy as simulated

# what the simulation leaves to the host (CuPy: less of it), or the device itself does: no function for it, or another result
ON_HOST = {
    "native_layer_norm", "nextafter", "pow.base", "scaled_dot_product_attention", "scaled_dot_product_attention_backward",
    "upsample.backward", "upsample_bicubic2d_aa", "upsample_lanczos2d_aa",
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def device():
    """cuda:0, a real one where there is one. The compiler is loaded: its native functions must not see this memory."""
    x = torch.zeros(4).index_add(0, torch.tensor([1, 1]), torch.ones(2))
    torch.compile(lambda a: a.scatter_add(0, torch.tensor([1, 1]), torch.ones(2)))(x)
    if count():
        yield devices.backend("cuda")
        return
    backend, opener = Cuda(0, simulated), devices._openers["cuda"]
    devices.register("cuda", lambda index: backend)
    asked, gpus.count = gpus.count, lambda: 1
    yield backend
    gpus.count = asked
    devices.register("cuda", opener)
    for key in [key for key in devices._backends if key[0] == "cuda"]:
        del devices._backends[key]


@pytest.mark.filterwarnings("ignore:torch.chain_matmul is deprecated")
@pytest.mark.parametrize("name", [name for name in SAMPLES if function_of(name) is not None])
def test_operators(name, device):
    if count() and name in ("linalg.eigh", "linalg.lstsq", "linalg.pinv", "pinverse"):
        pytest.skip("eigenvectors of another sign, gradients in another order of memory")
    device._on_host.clear()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for sample in samples_of(name):
            check_operator(name, sample, "cuda")
    told = {m[1] for w in seen if (m := re.search("'(.*?)' is computed on the CPU", str(w.message)))}
    assert told <= ON_HOST | ({"linalg_matrix_exp"} if count() else set())


def test_a_training():
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.2), nn.Flatten(),
        nn.Linear(64, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 5),
    )  # fmt: skip
    x, y = torch.randn(6, 3, 8, 8), torch.randint(0, 5, (6,))
    losses = []
    for where in ("cpu", "cuda"):
        m = copy.deepcopy(net).to(where)
        optimizer = optim.Adam(m.parameters(), lr=0.01)
        torch.manual_seed(1)
        for _ in range(4):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(m(x.to(where)), y.to(where))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[4:] == pytest.approx(losses[:4], rel=1e-4)


@pytest.mark.parametrize(
    "call",
    [
        lambda t, i: t[i],
        lambda t, i: t.index_select(0, i),
        lambda t, i: t.gather(0, i[:, None]),
        lambda t, i: t.take(i * 100),
        lambda t, i: nn.functional.embedding(i, t),
        lambda t, i: nn.functional.cross_entropy(t[:2], i),
        lambda t, i: t.index_put((i,), t[:2]),
        lambda t, i: t.scatter(0, i[:, None], t[:2, :1]),
    ],
)
def test_an_index_out_of_range_raises(call):
    """CuPy takes it modulo the size."""
    t, i = torch.randn(3, 3, device="cuda"), torch.tensor([0, 9], device="cuda")
    with pytest.raises((IndexError, RuntimeError)) as here:
        call(t.cpu(), i.cpu())
    with pytest.raises(type(here.value), match=re.escape(str(here.value))):
        call(t, i)


def test_views_share_memory():
    t = torch.zeros(3, 4, device="cuda")
    t[1:, 1:].t().add_(1)
    t.as_strided((2,), (5,), 1).fill_(7)
    t.diagonal().mul_(3)
    assert t.tolist() == [[0, 7, 0, 0], [0, 3, 7, 1], [0, 1, 3, 1]]
    with pytest.raises(RuntimeError, match="more than one element"):
        torch.zeros(1, device="cuda").expand(3).add_(1)


def test_scans():
    """Maxima so far, by doubling steps: for lengths around powers of two."""
    for n in (1, 2, 3, 7, 8, 9):
        x = torch.randn(2, n, dtype=torch.float64)
        here, there = x.cummax(1), x.to("cuda").cummax(1)
        assert there.values.cpu().equal(here.values) and there.indices.cpu().equal(here.indices)


def test_what_the_host_computes_is_told_once(device):
    device._on_host.clear()
    t = torch.ones(3, device="cuda")
    if count():
        pytest.skip("CuPy has it")
    with pytest.warns(
        UserWarning, match="'nextafter' is computed on the CPU for tensors on cuda:0: NotImplementedError"
    ):
        r = torch.nextafter(t, t + 1)
    assert r.device.type == "cuda" and np.array_equal(r.cpu().numpy(), np.nextafter(np.float32([1, 1, 1]), 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.nextafter(t, t + 1)


def test_seeds_reach_the_stream():
    draws = {}
    for name, seed in (
        ("all", torch.manual_seed),
        ("cuda", torch.cuda.manual_seed),
        ("every", torch.cuda.manual_seed_all),
    ):
        seed(7)
        draws[name] = torch.rand(3, device="cuda").tolist()
    torch.manual_seed(7)
    assert draws["all"] == draws["cuda"] == draws["every"] == torch.rand(3).tolist()
    assert torch.cuda.initial_seed() == 7
    torch.cuda.seed()
    assert torch.cuda.initial_seed() != 7 and torch.initial_seed() == 7
    torch.seed()
    assert torch.cuda.initial_seed() == torch.initial_seed() != 7


def test_a_seed_holds_for_a_device_that_is_opened_later(device, monkeypatch):
    monkeypatch.setattr(devices, "_backends", {})
    device.generator.manual_seed(1)
    torch.manual_seed(5)
    assert torch.rand(2, device="cuda").tolist() == torch.rand(2).tolist()


def test_states_of_the_stream():
    state = torch.cuda.get_rng_state()
    first = torch.rand(3, device="cuda").tolist()
    torch.cuda.set_rng_state(state)
    assert torch.rand(3, device="cuda").tolist() == first
    torch.cuda.set_rng_state_all([state])
    for devices_forked, same in ((None, True), ([0], True), (["cuda:0"], True), ([], False)):
        torch.cuda.set_rng_state(state)
        with torch.random.fork_rng(devices_forked):
            torch.rand(5, device="cuda")
        assert (torch.rand(3, device="cuda").tolist() == first) is same
    with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
        torch.cuda.get_rng_state("cpu")


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_draws_again_what_it_drew(reentrant):
    x = torch.ones(64, device="cuda", requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(lambda t: nn.functional.dropout(t * 3), x, use_reentrant=reentrant)
    torch.rand(9, device="cuda")
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()


def test_what_is_asked_about_a_gpu():
    kept = torch.zeros(256, device="cuda")
    assert torch.cuda.is_available() and torch.cuda.is_initialized() and torch.cuda.current_device() == 0
    assert torch.cuda.memory_allocated() >= kept.nbytes and torch.cuda.memory_reserved("cuda:0") >= kept.nbytes
    free, total = torch.cuda.mem_get_info(0)
    assert 0 < free < total and torch.cuda.get_device_name()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.set_device(0)
    with torch.cuda.device(0):
        pass
    for call in (torch.cuda.max_memory_allocated, torch.cuda.memory_stats, torch.cuda.Event, torch.cuda.ipc_collect):
        with pytest.raises(NotImplementedError, match=r"torch.cuda.* is not implemented"):
            call()


def test_there_is_none_unless_it_is_asked_for():
    program = (
        "import rushlight as torch; print(torch.cuda.is_available(), torch.cuda.device_count()); torch.zeros(1).cuda()"
    )
    env = {k: v for k, v in os.environ.items() if k != "RUSHLIGHT_CUDA"}
    r = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=60)
    assert r.stdout == "False 0\n" and "AssertionError: Torch not compiled with CUDA enabled" in r.stderr
