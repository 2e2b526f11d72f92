"""An optimizer's state as a flat dict of names: `state.weight.step`, `param_groups.weight.lr`."""

from __future__ import annotations

from typing import Any

from ...core.tensor.tensor import Tensor
from ...optim import Optimizer


def flattened(state_dict: dict[str, Any]) -> dict[str, Any]:
    """The flat dict. Raises NotImplementedError for states that are no tensors, numbers or dicts."""
    flat: dict[str, Any] = {}

    def visit(prefix: str, values: dict[str, Any]) -> None:
        for key, value in values.items():
            if isinstance(value, dict):
                visit(f"{prefix}.{key}", value)
            elif isinstance(value, Tensor | int | float):
                flat[f"{prefix}.{key}"] = value
            else:
                raise NotImplementedError(
                    "Flattening optimizer state_dict only supports tensor, int, float, dict states now. "
                    f"Type is {type(value)}."
                )

    for fqn, state in state_dict["state"].items():
        visit(f"state.{fqn}", state)
    for group in state_dict["param_groups"]:
        for fqn in group["params"]:
            flat.update({f"param_groups.{fqn}.{key}": v for key, v in group.items() if key != "params"})
    return flat


def unflattened(flat: dict[str, Any], optimizer: Optimizer, names: dict[Tensor, list[str]]) -> dict[str, Any]:
    """The state that `flattened` made flat, of one optimizer's parameters.

    Raises RuntimeError where parameters of a group have different options, KeyError for a name that is missing.
    """
    state: dict[str, Any] = {"state": {}, "param_groups": []}
    for group in optimizer.param_groups:
        options: dict[str, Any] = {"params": []}
        for p in group["params"]:
            known = [name for name in names[p] if any(f"param_groups.{name}.{key}" in flat for key in group)]
            fqn = (known or names[p])[0]
            options["params"].append(fqn)
            if p.requires_grad:
                state["state"][fqn] = _below(f"state.{fqn}.", flat)
            for key in group:
                if key in ("params", "param_names"):
                    continue
                value = flat[f"param_groups.{fqn}.{key}"]
                if options.setdefault(key, value) != value:
                    raise RuntimeError(
                        "All the parameters in the same parameter group should have the same saved param_group value. But "
                        f"{fqn}.{key} is {value} while other(s) is {options[key]}."
                    )
        state["param_groups"].append(options)
    return state


def _below(prefix: str, flat: dict[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        if name.startswith(prefix):
            *path, last = name[len(prefix) :].split(".")
            inner = nested
            for part in path:
                inner = inner.setdefault(part, {})
            inner[last] = value
    return nested
