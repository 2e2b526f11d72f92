"""Modules whose call is compiled."""

from __future__ import annotations

from functools import partial
from typing import Any

from rushlight.compile import api

from .module import Module


class OptimizedModule(Module):
    """What `compile(module)` returns: the module, called through programs. Its names in `state_dict` begin `_orig_mod.`

    Attributes are those of the module that it wraps. A module whose forward cannot be captured runs eagerly, with one
    warning that names the line; with `fullgraph=True` it raises. dynamo_ctx: what compiles a
    function with the options of the module.
    """

    def __init__(self, mod: Module, options: dict[str, Any]) -> None:
        super().__init__()
        state = self.__dict__
        state["_modules"]["_orig_mod"] = mod
        state["forward"] = api.compile_forward(mod.__call__, options)
        state["_options"] = dict(options)
        state["dynamo_ctx"] = partial(api.compile_forward, options=state["_options"])
        del state["training"]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call_impl(*args, **kwargs)  # the table of modules' programs has none of this one

    @property
    def training(self) -> bool:  # type: ignore[override]
        return self._modules["_orig_mod"].training

    @training.setter
    def training(self, mode: bool) -> None:
        self._modules["_orig_mod"].training = mode

    def __len__(self) -> int:
        return len(self._modules["_orig_mod"])  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        inner = self.__dict__["_modules"]["_orig_mod"]
        return inner if name == "_orig_mod" else getattr(inner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "training":
            object.__setattr__(self, name, value)
        elif name == "_orig_mod":
            self.__dict__["_modules"][name] = value
        else:
            setattr(self._modules["_orig_mod"], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._modules["_orig_mod"], name)

    def __reduce__(self) -> tuple:
        return OptimizedModule, (self._modules["_orig_mod"], self.__dict__["_options"])

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._modules["_orig_mod"])})


def compile_in_place(module: Module, args: tuple, options: dict[str, Any]) -> None:
    """`Module.compile`: the instance's forward becomes a compiled one."""
    options = dict(options)
    if options.pop("disable", False) or options.get("backend") == "eager":
        return
    api.check_options(*args, **options)
    state = module.__dict__
    if "_is_compiled" not in state:
        state["forward"] = api.compile_forward(module.forward, options)
        state["_is_compiled"] = True
