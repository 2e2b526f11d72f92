"""Make optim.npz: what torch's optimizers and learning-rate schedulers compute on the CPU.

Run with torch 2.13: python tests/golden/make_optim.py
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "optim"))
from schedules import CLOSED, SCHEDULES, trace  # noqa: E402

SHAPES = [(3, 4), (5,), (2, 3, 2), ()]
STEPS = 6
COMMON = [{}, {"maximize": True}, {"weight_decay": 0.1}, {"lr": 0.05}]
OPTIONS = {
    "SGD": [
        {"momentum": 0.9},
        {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1},
        {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1, "maximize": True},
    ],
    "Adam": [{"amsgrad": True}, {"betas": [0.3, 0.6], "amsgrad": True}, {"eps": 0.1, "decoupled_weight_decay": True}],
    "AdamW": [{"amsgrad": True, "weight_decay": 0.3}],
    "RMSprop": [{"centered": True}, {"momentum": 0.9}, {"centered": True, "momentum": 0.5, "alpha": 0.6}],
    "Adagrad": [{"lr_decay": 0.1, "initial_accumulator_value": 0.2}, {"eps": 0.1}],
    "Adadelta": [{"rho": 0.6, "eps": 0.01}],
    "Adamax": [{"betas": [0.5, 0.7]}],
    "NAdam": [{"decoupled_weight_decay": True, "weight_decay": 0.1}, {"momentum_decay": 0.5}],
    "RAdam": [{"decoupled_weight_decay": True, "weight_decay": 0.1}, {"betas": [0.5, 0.7]}],
    "ASGD": [{"t0": 2, "lambd": 0.1}],
    "Rprop": [{"etas": [0.3, 1.5], "step_sizes": [0.001, 0.02]}],
    "Adafactor": [{"d": 2.0, "eps": [0.01, 0.1]}],
    "Muon": [{"nesterov": False}, {"adjust_lr_fn": "match_rms_adamw"}],
}
ROSENBROCK = [
    {},
    {"lr": 0.5, "max_iter": 7, "history_size": 3},
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "max_iter": 8, "max_eval": 11, "history_size": 2},
]


def numbers(name):
    """Parameters, and gradients for every step; the fixed ones that the tests make again."""
    rs = np.random.RandomState(7)
    shapes = [(3, 4), (6, 2)] if name == "Muon" else SHAPES
    params = [np.asarray(rs.standard_normal(s), "float32") for s in shapes]
    grads = [[np.asarray(rs.standard_normal(s), "float32") for s in shapes] for _ in range(STEPS)]
    return params, grads


def run(name, options):
    values, grads = numbers(name)
    params = [torch.from_numpy(v).requires_grad_() for v in values]
    options = {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}
    optimizer = getattr(torch.optim, name)(params, **options)
    history = []
    for i, row in enumerate(grads):
        for j, (p, g) in enumerate(zip(params, row)):
            p.grad = None if (i, j) == (2, 1) else torch.from_numpy(g)
        optimizer.step()
        history.append(np.concatenate([p.detach().numpy().ravel() for p in params]))
    return np.stack(history), [sorted(s) for s in optimizer.state_dict()["state"].values()]


def minimise(options):
    x = torch.tensor([-1.2, 1.0, 0.5], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([x], **options)

    def closure():
        optimizer.zero_grad()
        loss = (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
        loss.backward()
        return loss

    history = []
    for _ in range(4):
        loss = optimizer.step(closure)
        history.append([*x.tolist(), loss.item(), optimizer.state[x]["func_evals"]])
    return np.array(history)


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    data, cases = {}, []
    for name, extra in OPTIONS.items():
        without = {"Rprop": ("weight_decay",), "Muon": ("maximize",)}.get(name, ())
        for options in [o for o in COMMON if not set(o) & set(without)] + extra:
            data[f"optim{len(cases)}"], keys = run(name, options)
            cases.append([name, options, keys])
    for i, options in enumerate(ROSENBROCK):
        data[f"lbfgs{i}"] = minimise(options)
    lr_scheduler = torch.optim.lr_scheduler
    for name, make in SCHEDULES.items():
        data["schedule " + name] = np.array(trace(torch, lr_scheduler, make, name)[0], dtype="float64")
    for name in CLOSED:
        epochs = [(7 * k) % 23 for k in range(29)]
        rows, _ = trace(torch, lr_scheduler, SCHEDULES[name], name, epochs=epochs)
        data["closed " + name] = np.array(rows, dtype="float64")
    text = json.dumps({"optim": cases, "lbfgs": ROSENBROCK, "torch": torch.__version__.split("+")[0]})
    data["cases"] = np.frombuffer(text.encode(), "uint8")
    np.savez_compressed(HERE / "optim.npz", **data)


if __name__ == "__main__":
    main()
