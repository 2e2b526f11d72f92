"""What is asked of each case, of torch and of Rushlight by the same code: dictionaries of arrays and texts."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from distribution_cases import ATTRIBUTES, QUANTILES, SAMPLE_SHAPE


class Names(dict):
    """The names of the expressions for a given torch, and the leaves that `t` made since the last evaluation."""

    def __init__(self, torch: Any):
        distributions = torch.distributions
        super().__init__(
            torch=torch, D=distributions, C=distributions.constraints, t=self.leaf, nan=math.nan, inf=math.inf
        )
        self.torch, self.leaves = torch, []

    def leaf(self, data: Any) -> Any:
        tensor = self.torch.tensor(data, requires_grad=True)
        self.leaves.append(tensor)
        return tensor

    def evaluate(self, text: str, **more: Any) -> Any:
        self.leaves = []
        return eval(text, {**self, **more})

    def gradients(self, value: Any) -> list:
        """The gradients of a weighted sum of `value` by the leaves; NaN where there is none."""
        if not value.requires_grad:
            return []
        weights = self.torch.linspace(0.5, 1.5, value.numel()).reshape(value.shape)
        try:
            found = self.torch.autograd.grad((value * weights).sum(), self.leaves, allow_unused=True, retain_graph=True)
        except RuntimeError:  # torch's Wishart overwrites the mask that its backward needs
            return []
        return [math.nan if g is None else g for g in found]


def outcome(compute: Callable[[], Any]) -> Any:
    """An array, or a text that says what was raised."""
    try:
        value = compute()
    except (NotImplementedError, ValueError) as error:
        return type(error).__name__
    if isinstance(value, (tuple, bool)):
        return str(value)
    return np.asarray(value.detach().numpy() if hasattr(value, "detach") else value)


def of_distribution(names: Names, text: str) -> dict[str, Any]:
    torch, d = names.torch, names.evaluate(text)
    out: dict[str, Any] = {"repr": repr(d)}
    for name in ATTRIBUTES:
        out[name] = outcome(lambda name=name: getattr(d, name))
    draws = _drawn(torch, d.sample)
    out["sample"], out["sample.dtype"], out["stream"] = draws.numpy(), str(draws.dtype), torch.rand(3).numpy()
    computed = {"log_prob": lambda: d.log_prob(draws), "entropy": d.entropy}
    if d.has_rsample:
        computed["rsample"] = lambda: _drawn(torch, d.rsample)
    for name, compute in computed.items():
        out[name] = outcome(compute)
        if not isinstance(out[name], str):
            for i, g in enumerate(names.gradients(compute())):
                out[f"{name}.gradient{i}"] = outcome(lambda g=g: g)
    out["cdf"] = outcome(lambda: d.cdf(draws))
    shape = (-1,) + (1,) * (len(d.batch_shape) + len(d.event_shape))
    quantiles = torch.tensor(QUANTILES).reshape(shape)
    out["icdf"] = outcome(lambda: d.icdf(quantiles))
    out["support"] = outcome(lambda: d.enumerate_support())
    out["support.narrow"] = outcome(lambda: d.enumerate_support(expand=False))
    out.update(_of_expanded(torch, d, draws))
    return out


def _drawn(torch: Any, sample: Callable) -> Any:
    torch.manual_seed(11)
    return sample(SAMPLE_SHAPE)


def _of_expanded(torch: Any, d: Any, draws: Any) -> dict[str, Any]:
    wide = d.expand((2, *d.batch_shape))
    again = _drawn(torch, wide.sample)
    return {
        "expanded.repr": repr(wide),
        "expanded.sample": again.numpy(),
        "expanded.log_prob": outcome(lambda: wide.log_prob(draws[:2])),
        "expanded.mean": outcome(lambda: wide.mean),
    }


def of_divergence(names: Names, p: str, q: str) -> dict[str, Any]:
    left = names.evaluate(p)
    leaves = names.leaves
    right = names.evaluate(q)
    names.leaves = leaves + names.leaves
    out = {"kl": outcome(lambda: names.torch.distributions.kl_divergence(left, right))}
    if not isinstance(out["kl"], str) and np.isfinite(out["kl"]).all():
        for i, g in enumerate(names.gradients(names.torch.distributions.kl_divergence(left, right))):
            out[f"gradient{i}"] = outcome(lambda g=g: g)
    return out


def of_transform(names: Names, text: str, at: str) -> dict[str, Any]:
    transform, x = names.evaluate("D." + text), names.evaluate(at)
    y = transform(x)
    out: dict[str, Any] = {
        "repr": repr(transform), "y": outcome(lambda: y), "x": outcome(lambda: transform.inv(y)),
        "jacobian": outcome(lambda: transform.log_abs_det_jacobian(x, y)), "sign": outcome(lambda: transform.sign),
        "inverse": repr(transform.inv), "domain": repr(transform.domain), "codomain": repr(transform.codomain),
        "bijective": str(transform.bijective), "shape": str(tuple(transform.forward_shape(x.shape))),
        "inverse shape": str(tuple(transform.inverse_shape(y.shape))), "equal": str(transform == names.evaluate("D." + text)),
    }  # fmt: skip
    names.leaves = [x]
    for i, g in enumerate(names.gradients(y)):
        out[f"gradient{i}"] = outcome(lambda g=g: g)
    return out


def of_constraint(names: Names, text: str, at: str) -> dict[str, Any]:
    constraint, value = names.evaluate("C." + text), names.evaluate(at)
    out = {"repr": repr(constraint), "check": outcome(lambda: constraint.check(value))}
    out["event_dim"] = outcome(lambda: str(constraint.event_dim) and np.array(constraint.event_dim))
    out["is_discrete"] = outcome(lambda: np.array(constraint.is_discrete))
    for registry in ("biject_to", "transform_to"):
        out[registry] = _said(lambda registry=registry: repr(getattr(names["D"], registry)(constraint)))
    return out


def of_error(names: Names, text: str) -> str:
    return _said(lambda: repr(names.evaluate(text)))


def _said(compute: Callable[[], str]) -> str:
    try:
        return compute()
    except Exception as error:  # whatever is raised is the result
        return f"{type(error).__name__}: {error}"


def everything(torch: Any, cases: Any) -> dict[str, dict[str, Any]]:
    """All answers by the case's name; what `cases` (the module) lists."""
    names, found = Names(torch), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, text in cases.CASES:
            found[f"distribution {name}"] = of_distribution(names, text)
        for name, p, q in cases.PAIRS:
            found[f"divergence {name}"] = of_divergence(names, p, q)
        for text, at in cases.TRANSFORMS.items():
            found[f"transform {text}"] = of_transform(names, text, at)
        for text, at in cases.CONSTRAINTS.items():
            found[f"constraint {text}"] = of_constraint(names, text, at)
    found["errors"] = {text: of_error(names, text) for text in cases.ERRORS}
    return found


# ---------------------------------------------------------------------------------------------- as a file


def pack(found: dict[str, dict[str, Any]]) -> dict[str, np.ndarray]:
    """All numbers in one vector, beside an index of their types and shapes as JSON."""
    vectors, index = [], {}
    for case, answers in found.items():
        index[case] = {}
        for key, value in answers.items():
            if isinstance(value, str):
                index[case][key] = value
            else:
                vectors.append(np.asarray(value, np.float32).ravel())
                index[case][key] = list(value.shape)
    text = json.dumps(index, ensure_ascii=True)
    return {"numbers": np.concatenate(vectors), "index": np.frombuffer(text.encode(), np.uint8)}


def unpack(file: Any) -> dict[str, dict[str, Any]]:
    index, numbers = json.loads(file["index"].tobytes()), file["numbers"]
    place, found = 0, {}
    for case, answers in index.items():
        found[case] = {}
        for key, value in answers.items():
            if isinstance(value, list):
                size = math.prod(value)
                found[case][key] = numbers[place : place + size].reshape(value)
                place += size
            else:
                found[case][key] = value
    return found
