"""Each algorithm against torch's numbers, through checkpoints, and over raw arrays as over tensors."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest

import rushlight as torch

GOLDEN = np.load(Path(__file__).parent.parent / "golden" / "optim.npz")
CASES = json.loads(bytes(GOLDEN["cases"]))
SHAPES = [(3, 4), (5,), (2, 3, 2), ()]
STEPS = 6
NAMES = sorted({name for name, _, _ in CASES["optim"]})
IDS = [f"{name} {options}" for name, options, _ in CASES["optim"]]


def numbers(name):
    rs = np.random.RandomState(7)
    shapes = [(3, 4), (6, 2)] if name == "Muon" else SHAPES
    params = [np.asarray(rs.standard_normal(s), "float32") for s in shapes]
    grads = [[np.asarray(rs.standard_normal(s), "float32") for s in shapes] for _ in range(STEPS)]
    return params, grads


def make(name, options, dtype="float32"):
    params = [torch.from_numpy(v.astype(dtype)).requires_grad_() for v in numbers(name)[0]]
    options = {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}
    return params, getattr(torch.optim, name)(params, **options)


def advance(name, params, optimizer, steps, dtype="float32"):
    history = []
    for i in steps:
        for j, (p, g) in enumerate(zip(params, numbers(name)[1][i], strict=True)):
            p.grad = None if (i, j) == (2, 1) else torch.from_numpy(g.astype(dtype))
        optimizer.step()
        history.append(np.concatenate([p.detach().numpy().ravel() for p in params]))
    return np.stack(history)


@pytest.mark.parametrize("case", range(len(IDS)), ids=IDS)
def test_numbers_and_state_are_torchs(case):
    name, options, keys = CASES["optim"][case]
    params, optimizer = make(name, options)
    got = advance(name, params, optimizer, range(STEPS))
    tolerance = 2e-2 if name == "Muon" else 3e-6  # Muon rounds to bfloat16 within
    np.testing.assert_allclose(got, GOLDEN[f"optim{case}"], rtol=tolerance, atol=tolerance / 10)
    assert [sorted(s) for s in optimizer.state_dict()["state"].values()] == keys


@pytest.mark.parametrize("case", range(len(IDS)), ids=IDS)
def test_a_checkpoint_resumes_exactly(case):
    name, options, _ = CASES["optim"][case]
    straight = advance(name, *make(name, options), range(STEPS))
    params, optimizer = make(name, options)
    advance(name, params, optimizer, range(3))
    saved = copy.deepcopy(optimizer.state_dict())
    values = [p.detach().clone() for p in params]
    params, optimizer = make(name, options)
    with torch.no_grad():
        for p, value in zip(params, values, strict=True):
            p.copy_(value)
    optimizer.load_state_dict(saved)
    np.testing.assert_array_equal(advance(name, params, optimizer, range(3, STEPS)), straight[3:])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", range(len(IDS)), ids=IDS)
def test_raw_arrays_and_tensors_give_the_same(case, dtype, monkeypatch):
    from rushlight.optim import dense

    name, options, _ = CASES["optim"][case]
    raw = advance(name, *make(name, options, dtype), range(STEPS), dtype)
    monkeypatch.setattr(dense, "_needs_tensors", lambda mode, options: True)
    through_tensors = advance(name, *make(name, options, dtype), range(STEPS), dtype)
    digits = 1e-6 if dtype == "float32" else 1e-14
    np.testing.assert_allclose(raw, through_tensors, rtol=digits, atol=digits)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("Muon", "Adafactor", "Rprop")])
def test_large_parameters_go_in_pieces(name, monkeypatch):
    from rushlight.optim import dense

    whole = advance(name, *make(name, {}), range(STEPS))
    monkeypatch.setattr(dense, "_PIECE", 5)
    params, optimizer = make(name, {})
    np.testing.assert_array_equal(advance(name, params, optimizer, range(STEPS)), whole)
    assert {s["step"].item() for s in optimizer.state.values() if "step" in s} <= {STEPS, STEPS - 1}


def test_strided_parameters_and_overlapping_ones():
    base = torch.zeros(4, 6)
    p = base[:, ::2].detach().requires_grad_()
    p.grad = torch.ones(4, 3)
    torch.optim.Adam([p], lr=0.5).step()
    np.testing.assert_allclose(base.numpy()[:, ::2], -0.5, rtol=1e-6)
    assert not base[:, 1::2].any()
    q = torch.zeros(1).expand(3).detach().requires_grad_()
    q.grad = torch.ones(3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory"):
        torch.optim.SGD([q], lr=0.5).step()


def in_double(name, **options):
    return advance(name, *make(name, options, "float64"), range(STEPS), "float64")


@pytest.mark.parametrize("name", [n for n in NAMES if n != "Muon"])
def test_tensor_learning_rates_and_flags_change_nothing(name):
    plain = in_double(name, lr=0.25)
    for options in [{"lr": torch.tensor(0.25)}, {"lr": torch.tensor([0.25])}, {"lr": 0.25, "foreach": False}]:
        np.testing.assert_allclose(in_double(name, **options), plain, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(in_double(name, lr=0.25, foreach=True), plain, rtol=1e-12)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_fused_gives_the_same(name):
    np.testing.assert_allclose(in_double(name, lr=0.1, fused=True), in_double(name, lr=0.1), rtol=1e-12)


def test_tensor_betas():
    betas = (torch.tensor(0.5, dtype=torch.float64), torch.tensor([0.75], dtype=torch.float64))
    params, optimizer = make("Adam", {})
    optimizer = torch.optim.Adam(params, betas=betas)
    assert all(beta.dim() == 0 for beta in optimizer.param_groups[0]["betas"])
    got = advance("Adam", params, optimizer, range(STEPS))
    want = advance("Adam", *make("Adam", {"betas": (0.5, 0.75)}), range(STEPS))
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_complex_parameters_are_two_real_ones():
    rs = np.random.RandomState(0)
    z, g = (rs.standard_normal((3, 2)) + 1j * rs.standard_normal((3, 2)) for _ in range(2))
    for name in ("SGD", "Adam", "RMSprop", "Adagrad", "Adadelta", "NAdam", "Rprop"):
        p = torch.from_numpy(z.copy()).requires_grad_()
        real = torch.from_numpy(z.view("float64").reshape(3, 2, 2).copy()).requires_grad_()
        for q, grad in ((p, g), (real, g.view("float64").reshape(3, 2, 2))):
            optimizer = getattr(torch.optim, name)([q], lr=0.1)
            for _ in range(3):
                q.grad = torch.from_numpy(grad.copy())
                optimizer.step()
        got = p.detach().numpy().view("float64").reshape(3, 2, 2)
        np.testing.assert_allclose(got, real.detach().numpy(), rtol=1e-10, err_msg=name)


@pytest.mark.parametrize("case", range(len(CASES["lbfgs"])), ids=map(str, CASES["lbfgs"]))
def test_lbfgs_minimises_as_torch_does(case):
    x = torch.tensor([-1.2, 1.0, 0.5], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([x], **CASES["lbfgs"][case])

    def closure():
        optimizer.zero_grad()
        loss = (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
        loss.backward()
        return loss

    history = []
    for _ in range(4):
        loss = optimizer.step(closure)
        history.append([*x.tolist(), loss.item(), optimizer.state[x]["func_evals"]])
    want = GOLDEN[f"lbfgs{case}"]
    finite = np.isfinite(want).all(axis=1) & (np.abs(want) < 1e6).all(axis=1)  # fixed steps may run away
    np.testing.assert_allclose(np.array(history)[finite], want[finite], rtol=1e-6, atol=1e-8)


def test_the_version_rises_and_a_stale_value_is_reported():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    for _ in range(2):
        loss = (w * w).sum()
        before = w._version
        w.grad = torch.ones(2)
        optimizer.step()
        assert w._version > before
        with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*step at .*test_algorithms.py"):
            loss.backward()


BAD = [
    ("SGD", {"lr": -1}, "Invalid learning rate: -1"),
    ("SGD", {"momentum": -1}, "Invalid momentum value: -1"),
    ("SGD", {"weight_decay": -1}, "Invalid weight_decay value: -1"),
    ("SGD", {"nesterov": True}, "Nesterov momentum requires a momentum and zero dampening"),
    ("SGD", {"nesterov": True, "momentum": 0.9, "dampening": 0.1}, "Nesterov momentum requires"),
    ("Adam", {"lr": -1}, "Invalid learning rate: -1"),
    ("Adam", {"eps": -1}, "Invalid epsilon value: -1"),
    ("Adam", {"betas": (1.0, 0.9)}, "Invalid beta parameter at index 0: 1.0"),
    ("Adam", {"betas": (0.9, -0.1)}, "Invalid beta parameter at index 1: -0.1"),
    ("Adam", {"betas": (0, 0.9)}, "betas must be either both floats or both Tensors"),
    ("Adam", {"weight_decay": -1}, "Invalid weight_decay value: -1"),
    ("AdamW", {"weight_decay": -1}, "Invalid weight_decay value: -1"),
    ("RMSprop", {"alpha": -1}, "Invalid alpha value: -1"),
    ("RMSprop", {"momentum": -1}, "Invalid momentum value: -1"),
    ("Adagrad", {"lr_decay": -1}, "Invalid lr_decay value: -1"),
    ("Adagrad", {"initial_accumulator_value": -1}, "Invalid initial_accumulator_value value: -1"),
    ("Adagrad", {"eps": -1}, "Invalid epsilon value: -1"),
    ("Adadelta", {"rho": 1.1}, "Invalid rho value: 1.1"),
    ("Adamax", {"betas": (0.0, 1.0)}, "Invalid beta parameter at index 1: 1.0"),
    ("NAdam", {"momentum_decay": -0.2}, "Invalid momentum_decay value: -0.2"),
    ("RAdam", {"betas": (1.0, 0.0)}, "Invalid beta parameter at index 0: 1.0"),
    ("ASGD", {"weight_decay": -0.5}, "Invalid weight_decay value: -0.5"),
    ("Rprop", {"etas": (1.0, 0.5)}, "Invalid eta values: 1.0, 0.5"),
    ("Adafactor", {"lr": -1}, "Learning rate should be >= 0 but is: -1"),
    ("Adafactor", {"d": 0.5}, "Clipping threshold d should be >= 1"),
    ("Adafactor", {"beta2_decay": 0.8}, "beta2_decay should be <= 0"),
    ("LBFGS", {"lr": -1}, "Invalid learning rate: -1"),
    ("SparseAdam", {"lr": 0.0}, "Invalid learning rate: 0.0"),
    ("Muon", {"adjust_lr_fn": "no"}, "Adjust learning rate function no is not supported"),
]


@pytest.mark.parametrize("name, options, message", BAD)
def test_bad_options(name, options, message):
    p = torch.ones(2, 2, requires_grad=True)
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        getattr(torch.optim, name)([p], **options)


def test_tensor_options_that_exclude_each_other():
    p = torch.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="Tensor lr must be 1-element"):
        torch.optim.SGD([p], lr=torch.ones(2))
    with pytest.raises(ValueError, match="lr as a Tensor is not supported for capturable=False and foreach=True"):
        torch.optim.Adam([p], lr=torch.tensor(0.1), foreach=True)
    with pytest.raises(ValueError, match="both floats or both Tensors"):
        torch.optim.Adam([p], betas=(0.9, torch.tensor(0.99)))


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_fused_excludes(name):
    p = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="`fused` does not support `differentiable`"):
        getattr(torch.optim, name)([p], fused=True, differentiable=True)
    with pytest.raises(RuntimeError, match="`fused` and `foreach` cannot be `True` together"):
        getattr(torch.optim, name)([p], fused=True, foreach=True)


def test_capturable_needs_a_device_with_graphs():
    p = torch.ones(2, requires_grad=True)
    p.grad = torch.ones(2)
    with pytest.raises(AssertionError, match="If capturable=True, params and state_steps must be on supported devices"):
        torch.optim.Adam([p], capturable=True).step()


def test_fused_steps_take_a_gradient_scaler():
    for name in ("SGD", "Adam"):
        p = torch.ones(2, requires_grad=True)
        optimizer = getattr(torch.optim, name)([p], lr=0.1, fused=True)
        assert optimizer._step_supports_amp_scaling
        p.grad = torch.full((2,), 8.0)
        optimizer.grad_scale, optimizer.found_inf = torch.tensor(4.0), torch.tensor(1.0)
        optimizer.step()
        assert p.tolist() == [1, 1]
        optimizer.found_inf = torch.tensor(0.0)
        optimizer.step()
        assert p.grad.tolist() == [2, 2]
        assert p[0] < 1


def test_sparse_adam_refuses_dense_gradients():
    p = torch.ones(2, requires_grad=True)
    p.grad = torch.ones(2)
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients, please consider Adam instead"):
        torch.optim.SparseAdam([p]).step()


def test_lbfgs_limits():
    p, q = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="LBFGS doesn't support per-parameter options"):
        torch.optim.LBFGS([{"params": [p]}, {"params": [q]}])
    optimizer = torch.optim.LBFGS([p], line_search_fn="weak")

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optimizer.step(closure)


def test_muon_wants_matrices():
    with pytest.raises(ValueError, match="Muon only supports 2D parameters"):
        torch.optim.Muon([torch.ones(2, requires_grad=True)])


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Adadelta"])
def test_steps_that_a_parameters_type_cannot_hold(name):
    p = torch.ones(3, requires_grad=True)
    p.grad = torch.ones(3)
    optimizer = getattr(torch.optim, name)([p], lr=1e39)
    for _ in range(4):
        with pytest.raises(RuntimeError, match="value cannot be converted to type float without overflow"):
            optimizer.step()
