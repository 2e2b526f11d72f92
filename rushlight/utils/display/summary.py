"""`summary`: the layers of a model as a tree, with what they return, their parameters and their multiply-adds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any

import numpy as np

from ... import ops
from ...compile.stance import set_stance
from ...core.dispatch.mode import no_grad
from ...core.tensor.dtype import dtype as DType
from ...core.tensor.dtype import get_default_dtype
from ...core.tensor.size import Size
from ...nn.modules.module import Module
from ...nn.parameter import is_lazy
from .copies import copied, unobserved
from .forms import form, size_bytes, tensors_in
from .multiply_adds import counting
from .summary_text import html, plain, rich_parts, shown

__all__ = ["Layer", "Summary", "summary"]


@dataclass
class Layer:
    """One module. All counts include those of the modules inside it; what is in it twice counts once.

    Attributes:
        name: as in `named_modules`; "" for the model itself.
        kind: the name of its class.
        depth: 0 for the model itself.
        calls: how often it was called.
        outputs: a text for each form of its results, such as "[2, 10]", in the order in which they first came.
        output_shapes: the shapes of all tensors that its first call returned.
        parameters, trainable: how many numbers it has, and how many of them want gradients.
        parameter_bytes, buffer_bytes: their memory.
        multiply_adds: of all its calls.
        same_as: the name under which this module came before, or None.
        tied: "its parameter's name is earlier name" for each parameter that an earlier module has too.
        lazy: whether a parameter has no shape yet; it counts as 0.
        inner: the modules inside it.
    """

    name: str
    kind: str
    depth: int
    calls: int = 0
    outputs: list[str] = field(default_factory=list)
    output_shapes: list[Size] = field(default_factory=list)
    output_bytes: int = 0
    parameters: int = 0
    trainable: int = 0
    parameter_bytes: int = 0
    buffer_bytes: int = 0
    multiply_adds: int = 0
    same_as: str | None = None
    tied: list[str] = field(default_factory=list)
    lazy: bool = False
    inner: list[Layer] = field(default_factory=list)

    def __iter__(self) -> Iterator[Layer]:
        """This layer and all inside it, in the order of `named_modules`."""
        yield self
        for layer in self.inner:
            yield from layer


@dataclass
class Summary:
    """What `summary` returns. It prints as a table; `show` does that in colours, and in a notebook it shows itself.

    Attributes:
        model: the model's own `Layer`, with all others in `inner`; iterating over it gives all of them.
        ran: whether there was an input, so that outputs and multiply-adds are known.
        input_bytes: the memory of all input tensors.
        output_bytes: that of what the innermost layers that were called returned, all calls together.
    """

    model: Layer
    ran: bool = False
    input_bytes: int = 0
    output_bytes: int = 0
    depth: int | None = None

    @property
    def parameters(self) -> int:
        """Numbers in parameters, shared ones once."""
        return self.model.parameters

    @property
    def trainable(self) -> int:
        """Those that want gradients."""
        return self.model.trainable

    @property
    def multiply_adds(self) -> int:
        """Of the whole call."""
        return self.model.multiply_adds

    @property
    def parameter_bytes(self) -> int:
        """The parameters' memory."""
        return self.model.parameter_bytes

    @property
    def buffer_bytes(self) -> int:
        """The buffers' memory."""
        return self.model.buffer_bytes

    def __str__(self) -> str:
        return plain(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html(self)

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        yield from rich_parts(self, options.max_width)

    def show(self, file: Any = None) -> None:
        """Print it to a file, by default standard output: in colours where that is a terminal and `rich` is installed."""
        shown(self, file)


def summary(
    model: Module,
    input: Any = None,
    *,
    input_size: Any = None,
    dtypes: Any = None,
    device: Any = None,
    mode: str = "eval",
    depth: int | None = None,
    **kwargs: Any,
) -> Summary:
    """The layers of a model as a tree: classes, shapes of outputs, parameters, multiply-adds; and the totals.

    A copy of the model runs once without gradients, so that the model stays as it is: its mode, hooks, buffers and
    gradients, and the random streams. The copy takes the model's memory once more while it runs. Hooks of the model run too.

    Args:
        input: a tensor; a tuple of the arguments, each of any nesting; a dict of keyword arguments; or another single
            argument. None, and no `input_size`: the model does not run, and the parameters alone are listed.
        input_size: in place of an input, the shape of the argument, or a list or dict of shapes. Floating-point inputs are
            drawn from [0, 1), all others are zeros.
        dtypes: the dtype of these inputs, or a list or dict of one for each; by default the default dtype.
        device: where these inputs are; by default where the first parameter is.
        mode: "eval", "train", or "same" for the mode in which the model's parts are.
        depth: how many levels of inner modules are printed; None prints all. The fields always have all.
        kwargs: further keyword arguments of the model.
    Counted as multiply-adds are matrix products, convolutions, attention (all of it, also under a causal mask), recurrent
    layers; elementwise operators are not.
    Raises:
        TypeError: what is no module, as in `summary(1)`.
        ValueError: both `input` and `input_size`, `dtypes` that do not fit `input_size`, or an unknown `mode`, as in
            `summary(nn.Linear(2, 3), mode="test")`.

    >>> from rushlight import nn, summary
    >>> report = summary(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), input_size=(3, 4))
    >>> print(report)
    Layer         Output  Parameters  Multiply-adds
    -----------------------------------------------
    Sequential    [3, 2]          58            144
    ├─ 0: Linear  [3, 8]          40             96
    ├─ 1: ReLU    [3, 8]           0              0
    └─ 2: Linear  [3, 2]          18             48
    -----------------------------------------------
    Parameters: 58 (58 trainable, 0 frozen)
    Multiply-adds: 144
    Memory: parameters 232 B, buffers 0 B, input 48 B, outputs of layers 216 B
    >>> report.multiply_adds
    144
    """
    model = getattr(model, "_orig_mod", model)  # a compiled module's own
    if not isinstance(model, Module):
        raise TypeError(f"summary: the model has to be a torch.nn.Module, not {type(model).__name__}")
    if mode not in ("eval", "train", "same"):
        raise ValueError(f'summary: mode has to be "eval", "train" or "same", not {mode!r}')
    if input is not None and input_size is not None:
        raise ValueError("summary: give either input or input_size, not both")
    runs = input is not None or input_size is not None or bool(kwargs)
    if not runs:
        return Summary(_layers(model, None), depth=depth)
    calls = _Calls()
    with unobserved(calls.call), no_grad():
        if input_size is not None:
            input = _made(input_size, dtypes, device if device is not None else _device_of(model))
        twin, (args, keywords) = copied(model, _arguments(input, kwargs))
        input_bytes = sum(map(size_bytes, tensors_in([args, keywords])))
        if mode != "same":
            twin.train(mode == "train")
        with set_stance("force_eager"), counting(calls.add):
            twin(*args, **keywords)
        layers = _layers(twin, calls)
    innermost = [
        layer for layer in layers if layer.same_as is None and not any(x.calls for x in layer if x is not layer)
    ]
    return Summary(layers, True, input_bytes, sum(layer.output_bytes for layer in innermost), depth)


# ------------------------------------------------------------------------------------------------------------ the input


def _arguments(input: Any, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    if input is None:
        return (), kwargs
    if isinstance(input, tuple) and not hasattr(input, "_fields"):
        return input, kwargs
    if isinstance(input, Mapping) and all(isinstance(name, str) for name in input):
        return (), {**input, **kwargs}
    return (input,), kwargs


def _device_of(model: Module) -> Any:
    return next((t.device for t in (*model.parameters(), *model.buffers())), None)


def _is_shape(size: Any) -> bool:
    return isinstance(size, (tuple, list)) and all(isinstance(n, (int, np.integer)) for n in size)


def _made(size: Any, dtypes: Any, device: Any) -> Any:
    """Inputs of these shapes: one for a shape, else a tuple or a dict of arguments."""
    if _is_shape(size):
        if isinstance(dtypes, (list, tuple)) and len(dtypes) == 1:
            (dtypes,) = dtypes
        return (_nested(size, dtypes, device),)
    made = _nested(size, dtypes, device)
    return tuple(made) if isinstance(made, list) else made


def _nested(size: Any, dtypes: Any, device: Any) -> Any:
    if _is_shape(size):
        if dtypes is not None and not isinstance(dtypes, DType):
            raise ValueError(f"summary: dtypes has {dtypes!r} for the shape {tuple(size)}, and not one dtype")
        kind = get_default_dtype() if dtypes is None else dtypes
        floating = kind.is_floating_point or kind.is_complex
        made = ops.rand(size, dtype=kind if kind.itemsize > 1 else None) if floating else ops.zeros(size, dtype=kind)
        return made.to(device=device, dtype=kind)
    if not isinstance(size, (list, tuple, Mapping)):
        raise ValueError(f"summary: input_size has {size!r}, which is no shape and no list or dict of shapes")
    keys = list(size) if isinstance(size, Mapping) else range(len(size))
    if isinstance(dtypes, (list, tuple)):
        if isinstance(size, Mapping) or len(dtypes) != len(size):
            raise ValueError(
                f"summary: dtypes has {len(dtypes)} entries, which do not fit those of input_size ({len(size)})"
            )
        found = dict(enumerate(dtypes))
    elif isinstance(dtypes, Mapping):
        if unknown := set(dtypes) - set(keys):
            raise ValueError(f"summary: dtypes names {sorted(map(str, unknown))}, which input_size does not have")
        found = dtypes
    else:
        found = dict.fromkeys(keys, dtypes)
    made = {key: _nested(size[key], found.get(key), device) for key in keys}
    return made if isinstance(size, Mapping) else list(made.values())


# ------------------------------------------------------------------------------------------------------------- the run


class _Calls:
    """What each module returned and computed, by its identity."""

    def __init__(self) -> None:
        self.thread = get_ident()
        self.modules: dict[int, Module] = {}  # kept, so that no identity comes twice
        self.running: list[int] = []
        self.outputs: dict[int, list[Any]] = defaultdict(list)
        self.multiply_adds: dict[frozenset[int], int] = defaultdict(int)  # by the modules that ran

    def call(self, module: Module, call: Any, hooked: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call a module, as `module_caller` in extension_points.py does, and note what it returns."""
        if get_ident() != self.thread:
            return call(module, hooked, args, kwargs)
        self.modules[id(module)] = module
        self.running.append(id(module))
        try:
            result = call(module, hooked, args, kwargs)
        finally:
            self.running.pop()
        self.outputs[id(module)].append((form(result), [(t.shape, size_bytes(t)) for t in tensors_in(result)]))
        return result

    def add(self, count: int) -> None:
        """Multiply-adds of an operator: of every module that is running."""
        self.multiply_adds[frozenset(self.running)] += count

    def multiply_adds_of(self, model: Module) -> dict[int, int]:
        """Of each module of a model by its identity: while it, or a module inside it, ran."""
        around: dict[int, set[int]] = defaultdict(set)
        for module in model.modules():
            for inner in module.modules():
                around[id(inner)].add(id(module))
        found: dict[int, int] = defaultdict(int)
        for running, count in self.multiply_adds.items():
            for module in set().union(running, *(around[m] for m in running if m in around)):
                found[module] += count
        return found


def _layers(model: Module, calls: _Calls | None) -> Layer:
    """The tree of a model's layers."""
    names: dict[int, str] = {}  # of the modules so far
    owners: dict[int, str] = {}  # of the parameters so far
    multiply_adds = {} if calls is None else calls.multiply_adds_of(model)

    def layer(module: Module, name: str, depth: int) -> Layer:
        made = Layer(name, _kind(module), depth, same_as=names.get(id(module)))
        for p in _unique(module.parameters()):
            made.lazy |= is_lazy(p)
            made.parameters += 0 if is_lazy(p) else p.numel()
            made.trainable += p.numel() if p.requires_grad and not is_lazy(p) else 0
            made.parameter_bytes += size_bytes(p)
        made.buffer_bytes = sum(map(size_bytes, _unique(module.buffers())))
        if calls is not None:
            _add_calls(made, calls.outputs.get(id(module), []), multiply_adds.get(id(module), 0))
        if made.same_as is not None:
            return made
        names[id(module)] = name
        for own, p in module._parameters.items():
            full = f"{name}.{own}".lstrip(".")
            if p is not None and owners.setdefault(id(p), full) != full:
                made.tied.append(f"{full} is {owners[id(p)]}")
        made.inner = [
            layer(inner, f"{name}.{own}".lstrip("."), depth + 1)
            for own, inner in module._modules.items()
            if inner is not None
        ]
        return made

    return layer(model, "", 0)


def _add_calls(layer: Layer, outputs: list[Any], multiply_adds: int) -> None:
    layer.calls, layer.multiply_adds = len(outputs), multiply_adds
    layer.outputs = list(dict.fromkeys(text for text, _ in outputs))
    layer.output_shapes = [shape for shape, _ in outputs[0][1]] if outputs else []
    layer.output_bytes = sum(size for _, tensors in outputs for _, size in tensors)


def _kind(module: Module) -> str:
    """The name of its class, of a scripted module that of the class that was scripted."""
    return getattr(module, "original_name", None) or module._get_name()


def _unique(tensors: Any) -> list[Any]:
    return list({id(t): t for t in tensors}.values())
