"""`autograd.Function`: an operator whose forward and backward the user writes.

The context that `forward` and `backward` receive shows the node of the call, whose own names are no user's business:
`ctx.shape` is whatever the user stored there.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any

import numpy as np

from ..core import own_code
from ..core.dispatch.extension_points import FUNCTION, profiled_block, training_observer
from ..core.dispatch.inplace import set_history
from ..core.dispatch.mode import emit_event, no_grad, thread
from ..core.dispatch.slow_path import _output_edge
from ..core.tensor.node import Freed, Node
from ..core.tensor.storage import storage_of, tick
from ..core.tensor.tensor import Tensor, alias, constant
from .forward_ad import is_pushing, transposed
from .graph import Packed


class FunctionCtx:
    """What `forward` leaves for `backward`: attributes of any name, and saved tensors.

    It is a view of the call's node, which keeps the attributes; what is none of them is asked of the node.
    """

    __slots__ = ("__dict__", "_node")

    def __init__(self, node: BackwardCFunction):
        object.__setattr__(self, "__dict__", node.attributes)
        self._node = node

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors (inputs or outputs) for backward; read them there as `ctx.saved_tensors`."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument is of type {type(t).__name__}"
                )
        self._node._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `jvp`."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs `forward` changed in place."""
        self._node._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs have no gradient."""
        self._node._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward receives zeros (the default) or None for outputs without a gradient."""
        self._node._materialize = value

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        """For each argument of forward whether it needs a gradient."""
        return self._node.needs_input_grad

    @property
    def saved_tensors(self) -> tuple:
        """What `save_for_backward` kept."""
        return self._node.saved_tensors

    saved_variables = saved_tensors

    def __getattr__(self, name: str) -> Any:
        if name in _OF_NODES:
            return getattr(self._node, name)
        raise AttributeError(f"'{type(self._node).__name__}' object has no attribute '{name}'")


_OF_NODES = ("name", "next_functions", "metadata", "register_hook", "register_prehook")


class BackwardCFunction(Node):
    """The node of a call."""

    forward_cls: Any = None
    _materialize = True
    _dirty: tuple = ()
    _non_differentiable: tuple = ()
    _to_save: tuple = ()
    _linear: Any = None  # of a call in forward mode: gradients of the inputs from those of the outputs
    needs_input_grad: tuple[bool, ...] = ()
    _outputs: list[tuple[tuple[int, ...], np.dtype]]  # shape and type of each tensor among the results
    _places: tuple[int, ...] | None = None  # of those tensors among all results, where there are others too
    _count = 0  # of all results

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"

    @property
    def saved_tensors(self) -> tuple:
        """What `save_for_backward` kept."""
        saved = self.saved
        if type(saved) is Freed:
            raise saved.error(self.name())
        if not saved and self._to_save:
            return self._to_save
        return tuple(_reopened(self, s) for s in saved)

    saved_variables = saved_tensors

    def __getattr__(self, name: str) -> Any:
        if name != "attributes" and name in self.attributes:  # what forward left is seen on grad_fn, as in torch
            return self.attributes[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def backward(self, g: Any) -> tuple:
        grads = g if isinstance(g, list) else [g]
        if self._materialize:
            grads = [_zeros(m) if x is None else x for x, m in zip(grads, self._outputs, strict=True)]
        cls = self.forward_cls
        if self._linear is not None and (is_pushing() or not _has_backward(cls)):
            return self._linear(grads)
        rule = cls.backward if cls.backward is not Function.backward else cls.vjp
        if rule is Function.vjp:
            raise NotImplementedError(
                f"You must implement either the backward or vjp method for your custom autograd.Function to use it with "
                f"backward mode AD ({cls.__name__})."
            )
        if self._places is not None:  # None for what is no tensor
            of = dict(zip(self._places, grads, strict=True))
            grads = [of.get(i) for i in range(self._count)]
        result = rule(FunctionCtx(self), *grads)
        result = result if isinstance(result, tuple) else (result,)
        return _for_inputs(self, result)


def _zeros(meta: tuple) -> Tensor:
    shape, kind = meta
    return constant(np.zeros(shape, kind))


def _for_inputs(node: BackwardCFunction, result: tuple) -> tuple:
    n = len(node.needs_input_grad)
    if len(result) > n and all(r is None for r in result[n:]):
        result = result[:n]
    if len(result) != n:
        raise RuntimeError(
            f"function {node.name()} returned an incorrect number of gradients (expected {n}, got {len(result)})"
        )
    for i, r in enumerate(result):
        if r is not None and i not in node._tensor_inputs:
            raise RuntimeError(
                f"function {node.name()} returned a gradient different than None at position {i + 1}, but the corresponding "
                "forward input was not a Variable"
            )
        if r is not None and not isinstance(r, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(r).__name__}) as gradient {i} of {node.name()}")
    return tuple(result[i] for i in node._tensor_inputs)


class _Saved:
    """An output of the call that it saved itself: kept without history, to make no reference cycle."""

    __slots__ = ("index", "tensor")

    def __init__(self, index: int, tensor: Tensor):
        self.index, self.tensor = index, tensor

    @property
    def _storage(self):
        return self.tensor._storage

    @property
    def _array(self):
        return self.tensor._array


def _reopened(node: BackwardCFunction, saved: Any) -> Any:
    if type(saved) is Packed:
        return saved.open()
    if type(saved) is not _Saved:
        return saved
    t = alias(saved.tensor, Tensor)
    if thread.state.grad:
        t._edge = node if len(node._outputs) == 1 else _output_edge(node, saved.index, t._array)
    return t


class _FunctionMeta(type):
    """Gives each Function its node class, named as torch names it."""

    def __init__(cls, name, bases, attributes):
        super().__init__(name, bases, attributes)
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), {"forward_cls": cls})


class Function(metaclass=_FunctionMeta):
    """Base class of operators with a hand-written backward.

    >>> class Double(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g * 2
    """

    generate_vmap_rule = False
    _backward_cls: Any
    _rule: Any = None  # the function behind `backward`, where that is not what the user has written

    def __init__(self, *args, **kwargs):
        import warnings

        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke "
            "them on the class itself. Instantiating an autograd function will raise an error in a future version of "
            "PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args, **kwargs):
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
            "with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args, **kwargs):
        """Compute the result: forward(ctx, *args), or forward(*args) together with setup_context."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Set up `ctx` from the inputs and the output, when `forward` takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(*args, **kwargs):
        """backward(ctx, *grad_outputs): one gradient (or None) for each argument of forward."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
            "mode AD."
        )

    @staticmethod
    def vjp(*args, **kwargs):
        """Another name for `backward`."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function."
        )

    @staticmethod
    def jvp(*args, **kwargs):
        """The outputs' tangents, given one (or None) for each argument of forward: the rule of forward mode."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @classmethod
    def apply(cls, *args, **kwargs):
        """Call the operator."""
        if cls.setup_context is not Function.setup_context:
            args = _bound(cls.forward, args, kwargs)
        elif kwargs:
            raise TypeError(f"{cls.__name__}.apply() takes no keyword arguments: '{next(iter(kwargs))}'")
        state = thread.state
        if state.level > 1 and (told := emit_event("applying", cls, args)) is not None:
            return told[0]
        tensor_inputs = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        for i in tensor_inputs:
            if hasattr(args[i], "_apply_function"):  # a batch
                return args[i]._apply_function(cls.apply, getattr(cls, "vmap", None), args)
        node = object.__new__(cls._backward_cls)
        node.needs_input_grad = tuple(isinstance(a, Tensor) and a._edge is not None for a in args)
        node.saved, node.storage, node.hooks, node._tensor_inputs = (), None, None, tensor_inputs
        node.attributes = {}
        recording = state.grad and any(node.needs_input_grad)
        node.edges = tuple(args[i]._edge for i in tensor_inputs) if recording else ()
        block = profiled_block.value
        with no_grad(), nullcontext() if block is None else block(cls.__name__, FUNCTION):
            if cls.setup_context is not Function.setup_context:
                result = cls.forward(*args)
                cls.setup_context(FunctionCtx(node), args, result)
            else:
                result = cls.forward(FunctionCtx(node), *args)
        if recording and cls.jvp is not Function.jvp:
            node._linear = transposed(cls, FunctionCtx(node), args, node.needs_input_grad)
        result = _connect(node, args, result, recording)
        if recording and (observer := training_observer.value) is not None:
            observer.function_applied(cls, args, result)
        return result


def written_backward(cls: type[Function]) -> Any:
    """The user's function that gives the gradients; None for the package's own functions."""
    if cls._rule is not None:
        return cls._rule
    if cls.__module__.startswith(own_code.MODULES):
        return None
    return cls.backward if cls.backward is not Function.backward else cls.vjp


def _has_backward(cls: type[Function]) -> bool:
    return cls.backward is not Function.backward or cls.vjp is not Function.vjp


def _bound(forward: Callable, args: tuple, kwargs: dict) -> tuple:
    """Positional arguments with the keyword ones and defaults in place."""
    import inspect

    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


def _connect(node: BackwardCFunction, args: tuple, result: Any, recording: bool) -> Any:
    """Give the outputs their history and pack what was saved."""
    outputs = result if isinstance(result, tuple) else (result,)
    for d in node._dirty:
        if recording:
            _check_dirty(d)
        storage_of(d).wrote(f"{type(node).forward_cls.__name__}.apply")
    tensors = [(i, t) for i, t in enumerate(outputs) if isinstance(t, Tensor)]
    outputs = list(outputs)
    inputs = {id(a) for a in args if isinstance(a, Tensor)}
    dirty = {id(d) for d in node._dirty}
    if not dirty <= {id(t) for _, t in tensors}:
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
            "modified inplace must all be outputs of the Function."
        )
    plain = {id(t) for t in node._non_differentiable}
    for i, t in tensors:
        if id(t) in inputs and id(t) not in dirty:
            with no_grad():  # a view made in here, which is not to be written to where history is recorded
                outputs[i] = t.view_as(t)
    node.seq = tick()
    if len(tensors) != len(outputs):
        node._places, node._count = tuple([i for i, _ in tensors]), len(outputs)
    node._outputs = [(t._array.shape, t._array.dtype) for _, t in tensors]
    if recording:
        original = {id(t): (k, outputs[i]) for k, (i, t) in enumerate(tensors)}
        _attach(node, [(outputs[i], id(t) in dirty, id(t) in plain) for i, t in tensors])
        _pack(node, original, dirty)
    return tuple(outputs) if isinstance(result, tuple) else outputs[0]


def _check_dirty(t: Tensor) -> None:
    """Raise RuntimeError for an input marked dirty that cannot be written to where gradients are recorded."""
    base = t._base
    if base is not None and base.requires_grad and base.is_leaf:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if t.requires_grad and t.is_leaf:
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")


def _attach(node: BackwardCFunction, outputs: list[tuple[Tensor, bool, bool]]) -> None:
    node.shape = tuple(shape for shape, _ in node._outputs)
    node.dtype = None
    single = len(outputs) == 1
    if single:
        node.shape, node.dtype = node._outputs[0]
    for k, (t, dirty, plain) in enumerate(outputs):
        if plain or t._array.dtype.kind not in "fcV":
            t._edge = None
        elif dirty:
            if single:
                set_history(t, node)
            else:
                t._edge = _output_edge(node, k, t._array)
        else:
            t._edge = node if single else _output_edge(node, k, t._array)


def _pack(node: BackwardCFunction, outputs: dict, dirty: set) -> None:
    packed = []
    for t in node._to_save:
        if t is not None and id(t) in outputs and (id(t) in dirty or outputs[id(t)][1] is t):
            k, out = outputs[id(t)]
            packed.append(_Saved(k, alias(out, Tensor)))
        else:
            packed.append(t)
    hooks = thread.state.hooks_saved
    if hooks and not isinstance(hooks[-1], str):
        packed = [Packed(t, hooks[-1]) if isinstance(t, Tensor) else t for t in packed]
    node.saved = tuple(packed)
    node._to_save = ()
    node.tensor_slots = tuple(range(len(packed)))


class InplaceFunction(Function):
    """`Function` under a name from before torch 0.4; `inplace` is kept as an attribute of an instance."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def once_differentiable(backward: Callable) -> Callable:
    """Decorator: the backward itself cannot be differentiated; trying raises."""

    @wraps(backward)
    def wrapper(ctx, *grads):
        with no_grad():
            results = backward(ctx, *grads)
        if not thread.state.grad or not any(isinstance(g, Tensor) and g._edge is not None for g in grads):
            return results
        many = results if isinstance(results, tuple) else (results,)
        marked = tuple(_undifferentiable(r) if isinstance(r, Tensor) else r for r in many)
        return marked if isinstance(results, tuple) else marked[0]

    return wrapper


class _Undifferentiable(Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def _undifferentiable(t: Tensor) -> Tensor:
    return _Undifferentiable.apply(t.detach().requires_grad_())
