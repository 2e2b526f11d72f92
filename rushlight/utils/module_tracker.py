"""`ModuleTracker`: which modules are running, in forward or in backward."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from ..autograd.engine import running
from ..autograd.graph import register_multi_grad_hook
from ..core.tensor.tensor import Tensor
from ..nn.modules.hooks import register_module_forward_hook, register_module_forward_pre_hook
from ._pytree import tree_flatten

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """Within the block, `parents` has the names of the modules that run, as in state dicts, and "Global".

    The outermost module goes by the name of its class. In backward a module runs from the gradient of its first result
    to that of its last input; one whose inputs want no gradient, to the end of the pass.
    """

    def __init__(self) -> None:
        self._parents = {"Global"}
        self._pass: Any = None  # the backward pass that has put names among the parents
        self._names: WeakKeyDictionary = WeakKeyDictionary()
        self._seen: WeakSet = WeakSet()
        self._handles: list[Any] = []

    @property
    def parents(self) -> set[str]:
        if self._pass is not None and running.task is not self._pass:
            self._parents, self._pass = {"Global"}, None
        return self._parents

    @property
    def is_bw(self) -> bool:
        return running.task is not None

    def _name(self, module: Any) -> str:
        name = self._names.setdefault(module, type(module).__name__)
        if module not in self._seen:
            self._seen.add(module)
            for child, submodule in module.named_children():
                self._names[submodule] = f"{name}.{child}"
                self._name(submodule)
        return name

    def _enter(self, name: str) -> None:
        self.parents.add(name)
        if running.task is not None:
            self._pass = running.task

    def _leave(self, name: str) -> None:
        self.parents.discard(name)

    def _before(self, module: Any, inputs: Any) -> None:
        name = self._name(module)
        self._enter(name)
        self._in_backward(inputs, lambda grads: self._leave(name))

    def _after(self, module: Any, inputs: Any, output: Any) -> None:
        name = self._name(module)
        self._leave(name)
        self._in_backward(output, lambda grads: self._enter(name))

    def _in_backward(self, values: Any, hook: Any) -> None:
        tensors = [t for t in tree_flatten(values)[0] if isinstance(t, Tensor) and t.requires_grad]
        if tensors:
            self._handles.append(register_multi_grad_hook(tensors, hook))

    def __enter__(self) -> ModuleTracker:
        self._handles += [register_module_forward_pre_hook(self._before), register_module_forward_hook(self._after)]
        return self

    def __exit__(self, *error: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
