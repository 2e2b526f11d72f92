"""`aot_function` and its relatives: forward and backward of a function as two graphs, each given to a compiler.

The function is traced with its backward at the first call of each description of its arguments (`proxy_tensor.py`), and
split (`partitioners.py`). The forward's compiler is asked then, the backward's where the first backward comes, as in torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...autograd.backward import grad
from ...autograd.function import Function
from ...core.dispatch.mode import enable_grad, no_grad, thread
from ...core.tensor.tensor import Tensor
from ...func.calls import functional_call
from ...fx import GraphModule
from ...nn.modules.module import Module
from ...utils._pytree import tree_flatten, tree_unflatten
from .partitioners import default_partition
from .proxy_tensor import BACKWARD, GraphTracer, checked, copied, kept_stream

__all__ = ["aot_function", "aot_module", "aot_module_simplified", "make_boxed_compiler", "make_boxed_func"]


def make_boxed_func(f: Callable) -> Callable[[list], Any]:
    """`f` as a function of the list of its arguments, which compilers return."""

    def boxed(args: list) -> Any:
        return f(*args)

    boxed._boxed_call = True  # type: ignore[attr-defined]
    return boxed


def make_boxed_compiler(compiler: Callable) -> Callable:
    """A compiler whose results take the list of their arguments."""

    def boxed(module: GraphModule, inputs: Sequence[Any]) -> Callable[[list], Any]:
        return make_boxed_func(compiler(module, inputs))

    return boxed


class _Compilers:
    """What is asked for the graphs: forward without and with a backward, backward, the split, the decompositions."""

    def __init__(
        self,
        fw_compiler: Callable,
        bw_compiler: Callable | None = None,
        partition_fn: Callable = default_partition,
        decompositions: Mapping[Any, Callable] | None = None,
        inference_compiler: Callable | None = None,
    ):
        self.forward, self.backward = fw_compiler, bw_compiler or fw_compiler
        self.inference, self.split = inference_compiler or fw_compiler, partition_fn
        self.decompositions = decompositions


def _boxed(compiled: Any) -> Callable[[list], Any]:
    return compiled if hasattr(compiled, "_boxed_call") else make_boxed_func(compiled)


class CompiledFunction(Function):
    """A traced forward with its backward, as one node of history."""

    @staticmethod
    def forward(ctx: Any, compiled: _WithBackward, *inputs: Any) -> Any:
        """The results; what the backward graph needs is kept."""
        count = compiled.count
        results = list(compiled.forward(list(inputs)))
        ctx.compiled = compiled
        ctx.save_for_backward(*results[count:])
        ctx.mark_non_differentiable(*(r for i, r in enumerate(results[:count]) if i not in compiled.differentiable))
        return tuple(results[:count])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The backward graph's results, None for what requires no grad. They cannot be differentiated again."""
        compiled = ctx.compiled
        with no_grad():
            results = compiled.run_backward([*ctx.saved_tensors, *(grads[i] for i in compiled.differentiable)])
        if thread.state.grad:  # create_graph=True
            results = [_NoSecondBackward.apply(r.requires_grad_()) if isinstance(r, Tensor) else r for r in results]
        return None, *results


class _NoSecondBackward(Function):
    """A gradient by a graph, of which there is no history."""

    @staticmethod
    def forward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        raise RuntimeError("torch.compile with aot_autograd does not currently support double backward")


class _WithBackward:
    """A function that was traced with its backward.

    count: its tensor results. differentiable: the places of those that require grad.
    """

    def __init__(self, f: Callable, values: Sequence[Any], compilers: _Compilers):
        joint, self.others, self.places, self.differentiable = _joint(f, values, compilers.decompositions)
        self.count, self.compilers = len(self.places), compilers
        tangents = [n.meta["val"] for n in joint.graph.nodes if n.op == "placeholder"][len(values) :]
        split = compilers.split(joint, (values, tangents), num_fwd_outputs=self.count, static_lifetime_input_indices=[])
        module, self.backward_module = split
        self.forward = _boxed(compilers.forward(module, list(values)))
        self.backward: Callable[[list], Any] | None = None

    def __call__(self, values: Sequence[Any]) -> list:
        """The function's results."""
        return _merged(self.others, self.places, CompiledFunction.apply(self, *values))

    def run_backward(self, given: list) -> Any:
        """The gradients of the inputs."""
        if self.backward is None:
            with no_grad():
                self.backward = _boxed(self.compilers.backward(self.backward_module, list(given)))
        return self.backward(given)


class _Inference:
    """A function that was traced without a backward."""

    def __init__(self, f: Callable, values: Sequence[Any], compilers: _Compilers):
        tracer = GraphTracer(compilers.decompositions)
        with kept_stream(), no_grad():
            given = [copied(v) for v in values]
            for i, value in enumerate(given):
                tracer.placeholder(f"arg{i}_1", value)
            with tracer:
                results = list(f(*given))
            self.places = [i for i, r in enumerate(results) if isinstance(r, Tensor)]
            self.others = [None if isinstance(r, Tensor) else r for r in results]
            module = tracer.finish(tuple(results[i] for i in self.places))
            checked(lambda *a: [r for r in f(*a) if isinstance(r, Tensor)], module, values)
        self.forward = _boxed(compilers.inference(module, list(values)))

    def __call__(self, values: Sequence[Any]) -> list:
        """The function's results."""
        return _merged(self.others, self.places, self.forward(list(values)))


def _merged(others: list, places: list[int], tensors: Sequence[Any]) -> list:
    results = list(others)
    for i, t in zip(places, tensors, strict=True):
        results[i] = t
    return results


def _joint(
    f: Callable, values: Sequence[Any], decompositions: Mapping[Any, Callable] | None
) -> tuple[GraphModule, list, list[int], list[int]]:
    """(the joint graph, results that are no tensors, places of those that are, which of these require grad)."""
    tracer = GraphTracer(decompositions)
    with kept_stream():
        given = [copied(v) for v in values]
        for i, value in enumerate(given):
            tracer.placeholder(f"primals_{i + 1}", value)
        with tracer:
            results = list(f(*given))
        places = [i for i, r in enumerate(results) if isinstance(r, Tensor)]
        tensors = [results[i] for i in places]
        differentiable = [i for i, t in enumerate(tensors) if t.requires_grad]
        tangents = [tensors[i].detach().clone() for i in differentiable]
        for i, t in enumerate(tangents):
            tracer.placeholder(f"tangents_{i + 1}", t)
        tracer.tag = BACKWARD
        with tracer:
            gradients = _gradients([tensors[i] for i in differentiable], given, tangents)
        module = tracer.finish((*tensors, *gradients))

        def both(*flat: Any) -> list:
            inputs, outer = list(flat[: len(values)]), flat[len(values) :]
            made = [r for r in f(*inputs) if isinstance(r, Tensor)]
            return [*made, *_gradients([made[i] for i in differentiable], inputs, outer)]

        checked(both, module, [*values, *tangents])
    return module, [None if isinstance(r, Tensor) else r for r in results], places, differentiable


def _gradients(results: list, inputs: Sequence[Any], tangents: Sequence[Any]) -> list:
    """The gradient of each input, None where it has none."""
    at = [i for i, v in enumerate(inputs) if isinstance(v, Tensor) and v.requires_grad]
    found: list[Any] = [None] * len(inputs)
    if results and at:
        for i, g in zip(at, grad(results, [inputs[i] for i in at], tangents, allow_unused=True), strict=True):
            found[i] = g
    return found


class _Traced:
    """A function of a flat list of tensors and numbers, traced for each description of them."""

    def __init__(self, f: Callable, compilers: _Compilers):
        self.f, self.compilers = f, compilers
        self.made: dict[tuple, _WithBackward | _Inference] = {}

    def __call__(self, values: Sequence[Any]) -> list:
        """The function's results."""
        is_recorded = thread.state.grad and any(isinstance(v, Tensor) and v.requires_grad for v in values)
        key = (is_recorded, *map(_description, values))
        compiled = self.made.get(key)
        if compiled is None:
            kind = _WithBackward if is_recorded else _Inference
            with enable_grad():
                compiled = self.made[key] = kind(self.f, values, self.compilers)
        return compiled(values)


def _description(value: Any) -> Any:
    if isinstance(value, Tensor):
        return tuple(value.shape), value.stride(), value.dtype, value.device, value.requires_grad
    return type(value), repr(value)


def aot_function(
    fn: Callable,
    fw_compiler: Callable,
    bw_compiler: Callable | None = None,
    partition_fn: Callable = default_partition,
    decompositions: Mapping[Any, Callable] | None = None,
    num_params_buffers: int = 0,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Callable | None = None,
    *,
    dynamic: bool = False,
    enable_log: bool = True,
) -> Callable:
    """`fn`, whose forward and backward are graphs of `torch.ops.aten` that run by what the compilers make of them.

    Args:
        fw_compiler: called with the forward's `GraphModule` and its inputs; returns a callable of them (`make_boxed_func`
            for one that takes their list). bw_compiler: likewise of the backward; fw_compiler without it.
        partition_fn: makes (forward, backward) of the joint graph. decompositions: functions to call instead of overloads.
        inference_compiler: asked where nothing requires grad. dynamic, num_params_buffers, keep_inference_input_mutations,
            enable_log: without effect; graphs write to inputs where the function does.

    Raises:
        NotImplementedError: the graph would not compute what the function does (`make_fx`).

    >>> from rushlight import ones
    >>> square = aot_function(lambda x: x * x, fw_compiler=lambda graph, inputs: graph)
    >>> square(ones(2) * 3)
    tensor([9., 9.])
    """
    compilers = _Compilers(fw_compiler, bw_compiler, partition_fn, decompositions, inference_compiler)
    made: dict[str, tuple[_Traced, list]] = {}

    def compiled(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree_flatten((args, kwargs))
        known = made.get(repr(structure))
        if known is None:
            shape: list = [None]

            def flat(*values: Any) -> list:
                given, options = tree_unflatten(list(values), structure)
                results, shape[0] = tree_flatten(fn(*given, **options))
                return results

            known = made[repr(structure)] = _Traced(flat, compilers), shape
        traced, shape = known
        return tree_unflatten(traced(leaves), shape[0])

    return compiled


def aot_module(mod: Module, *args: Any, **kwargs: Any) -> Module:
    """A module that computes as `mod`, with its parameters and buffers, by `aot_function`; the arguments are that one's."""

    def call(state: dict, given: tuple, options: dict) -> Any:
        return functional_call(mod, state, given, options)

    compiled = aot_function(call, *args, **kwargs)

    class AOTModule(Module):
        """A module whose forward and backward are graphs."""

        def __init__(self) -> None:
            super().__init__()
            self.orig_module = mod

        def forward(self, *given: Any, **options: Any) -> Any:
            """The module's result."""
            return compiled({**dict(mod.named_parameters()), **dict(mod.named_buffers())}, given, options)

    return AOTModule()


def aot_module_simplified(
    mod: Module,
    args: Sequence[Any],
    fw_compiler: Callable,
    bw_compiler: Callable | None = None,
    partition_fn: Callable = default_partition,
    decompositions: Mapping[Any, Callable] | None = None,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Callable | None = None,
    **options: Any,
) -> Callable:
    """A callable of the module's inputs, flat tensors and numbers like `args`, by graphs as in `aot_function`.

    Parameters and buffers of the module become the first inputs of the graphs.

    Raises:
        RuntimeError: at the call, where the module does not return a tuple or list.
    """
    state = {**dict(mod.named_parameters()), **dict(mod.named_buffers())}
    names = list(state)

    def flat(*values: Any) -> list:
        given = dict(zip(names, values[: len(names)], strict=True))
        result = functional_call(mod, given, values[len(names) :]) if names else mod(*values)
        if not isinstance(result, (tuple, list)):
            raise RuntimeError(
                "Graph output must be a (). This is so that we can avoid pytree processing of the outputs."
            )
        return list(result)

    traced = _Traced(flat, _Compilers(fw_compiler, bw_compiler, partition_fn, decompositions, inference_compiler))

    def forward(*given: Any) -> Any:
        current = {**dict(mod.named_parameters()), **dict(mod.named_buffers())}
        return traced([*(current[name] for name in names), *given])

    forward.named_parameters, forward.named_buffers = mod.named_parameters, mod.named_buffers  # type: ignore[attr-defined]
    return forward
