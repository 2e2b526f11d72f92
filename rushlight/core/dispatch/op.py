"""One record per operator: its kernel, gradient rules, names and samples, and the entry points made from them.

`@primitive` turns a kernel into the public function. The parameters before `/` in the kernel's signature are arrays,
those after it metadata:

    @primitive(method=True)
    def softmax(input, /, dim):
        ...                                          # the reference kernel, on raw arrays
    @softmax.vjp                                     # or @softmax.vjp("input"), one rule for each input:
    def _(g, out, dim):                              # parameter names say what backward keeps
        ...                                          # in the tensor language

A rule's parameters are `g` (the incoming gradient), `out` (the result), an array parameter's name (the tensor itself is
kept), `<array>_shape`, `<array>_dtype` or `<array>_strides` (only that is kept; strides are in bytes), `<arrays>_rest` (of `*arrays` all but the first `rest=`),
a metadata parameter's name, or `needs` (which inputs want a gradient, for a joint rule that returns a tuple). A rule never undoes broadcasting or promotion: the engine sums and
casts a gradient to the shape and type of the value that it belongs to.

An entry point is generated source (`entry.py`), because a generic call costs four times as much as NumPy's work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib import introspect

from ..interrupts import may_register
from ..locks import making
from ..tensor.channels_last import follow_channels
from ..tensor.node import Node, of_number
from ..tensor.strides import ordered, return_columns
from ..tensor.tensor import Tensor
from . import docs, entry, signatures
from .autocast import followed
from .inplace import make_inplace, make_inplace_operator
from .mode import take_target
from .number_options import options_of
from .torch_kernels import lacking
from .wrong_arguments import EXPLAINED_METHODS, explained

OPS: dict[str, Callable[..., Any]] = {}  # every operator by its public name (aliases included)
FUNCTIONAL: set[str] = set()  # the names that torch has in nn.functional
RECORDS: list[Op] = []  # every operator's record, also of operators without a public name
JIT_CANDIDATES: list[Op] = []  # the records with `jit_min_elements`
NEVER = 1 << 62  # `jit_min_elements` of a row that no program replaces
LARGE_ROW = 1 << 17  # elements: NumPy works on them for as long as waking a second thread takes
MEMORY_BOUND: dict[str, Any] = {"jit_min_elements": LARGE_ROW, "jit_warmup": 40_000_000}
"""Options of a kernel of one or two passes over memory, 0.3 to 1 ns an element, as most rows are: a program uses all cores."""
SCALAR_ROW: dict[str, Any] = {"jit_min_elements": 1 << 12, "jit_warmup": 2_500_000}
"""Options of a row whose function NumPy computes one element at a time, in 5 to 30 ns: a program takes 0.5 to 3."""
_WIDE = 8  # results of a row that are larger than its first operand, until entry points look at both: 0.3 us


def _are_scalar() -> bool:
    """Whether NumPy computes the arctangent so, and other functions by shorter vectors: it does without AVX-512."""
    loops = introspect.opt_func_info(func_name="^arctan$", signature="float32")["arctan"].values()
    return all(loop["current"].startswith("baseline") for loop in loops)


FUNCTION_ROW = SCALAR_ROW if _are_scalar() else {}
"""Options of a row whose function NumPy computes by long vectors where the processor has them."""
SVML_ROW = FUNCTION_ROW or {"jit_min_elements": NEVER}
"""The same for functions whose long vectors on one core are faster than a program on two."""


_NAMESPACES = ("linalg_", "linalg.", "fft_", "fft.", "special_", "special.")  # whose functions have no names in `torch`
NOTHING: Mapping[str, Any] = {}


class Op:
    """What is known of one operator.

    name: the public name; kernel: on raw arrays; kind: "general", or "unary" and "binary" for a row of the table;
    promote: how array inputs of different types are brought together; view: the result shares memory with the first
    input; rest: of `*arrays`, where those begin that `<arrays>_rest` keeps; outputs: None for one result, or the number
    of differentiable results (-1: a tuple of unknown length); extras: names of arrays that the kernel returns after its
    one result for backward's use only: rules receive them by these names, as tensors without history; returns: the named
    tuple class of several results; rules: gradient rules by array name, or one joint rule under None; node: torch's name
    of the node where `node_name` does not give it; number_nodes: its names where the second operand of a row is a number, and
    where the first is; inplace, out: also `name_`, accepts `out=`; samples: inputs for tests; draws: "shape" or "data" where the kernel takes random numbers, by
    what decides how many; unrounded: "other" or "any" where a number (as the second operand, or as either) meets 16-bit floats
    in float32; follows: positions of arrays whose channels-last layout the result takes, and follows_volumes: whether of volumes too, or a function of the
    arguments that says so; jit_min_elements: for a kernel of
    many NumPy calls, from how many elements of its array `sized_by` on it is worth a program of its own (None: never), and
    jit_warmup: once calls with the same shapes have worked on how many; laid_as: given the call's arguments, the places of arrays
    in the order in which torch looks at their memory's order for that of the result (None: as they come); host_indices: all arrays but the first may be the
    host's where that one is on a device, as torch takes indices; number_first: the numbers that older programs give before
    the tensors that they multiply (`number_first.py`); numbers: all operands may be Python numbers;
    columns: positions of results that are matrices stored column by column; lacks: the kinds of types that torch's kernel lacks
    (`torch_kernels.py`); options: the numbers among its options, and the types that hold them
    (`number_options.py`); of_complex: the kernel for complex numbers, where it is another one; public: users call it by its name, and torch's messages are those of wrong calls;
    keeps: inputs that torch saves as a view made in the call, so that backward reads the memory of that
    time also after `t.data = ...`, each with a test of the saved array where that is not always so, or None.
    """

    __slots__ = (
        "_node_class", "checks", "columns", "differentiable", "doc", "draws", "extras", "follows", "follows_volumes", "function", "host_indices", "inplace",
        "keeps", "jit_min_elements", "jit_warmup", "kernel", "kind", "lacks", "laid_as", "large", "name", "node", "number_first", "options", "shown", "number_nodes", "numbers", "of_complex", "out", "outputs",
        "places", "promote", "public", "reference", "rest", "returns", "rules", "samples", "scope", "signature", "sized_by", "unrounded", "view", "wide",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        kernel: Callable,
        *,
        kind: str = "general",
        doc: str | None = None,
        promote: str | None = None,
        view: bool = False,
        rest: int = 1,
        outputs: int | None = None,
        extras: tuple[str, ...] = (),
        returns: Any = None,
        rules: dict[str | None, Callable] | None = None,
        node: str | None = None,
        number_nodes: tuple[str, ...] = (),
        differentiable: bool = True,
        inplace: bool = False,
        out: bool = False,
        samples: Callable | None = None,
        draws: str = "",
        unrounded: str = "",
        follows: tuple[int, ...] = (),
        follows_volumes: bool | Callable[..., bool] = True,
        jit_min_elements: int | None = None,
        jit_warmup: int = 10_000_000,
        sized_by: int = 0,
        laid_as: Callable[[Sequence], Sequence[int]] | None = None,
        host_indices: bool = False,
        number_first: tuple[str, ...] = (),
        numbers: bool = False,
        of_complex: Callable | None = None,
        columns: tuple[int, ...] = (),
        keeps: Mapping[str, Callable[[Any], bool] | None] = NOTHING,
        shown: tuple[str, ...] = ("input", "other"),
        public: bool = True,
    ):
        RECORDS.append(self)
        self.name, self.public, self.of_complex = name, public, of_complex
        self.host_indices = host_indices
        self.number_first, self.numbers, self.shown = number_first, numbers, shown
        if kind != "general" and jit_min_elements is None:
            jit_min_elements, jit_warmup = MEMORY_BOUND.values()
        self.jit_min_elements, self.jit_warmup, self.laid_as = jit_min_elements, jit_warmup, laid_as
        self.sized_by, self.wide = sized_by, 0
        if jit_min_elements is not None:
            JIT_CANDIDATES.append(self)
        self.follows, self.columns, self.keeps = follows, columns, keeps
        self.follows_volumes = follows_volumes
        self.reference = return_columns(kernel, columns) if columns else kernel  # devices run this one
        self.kernel = self._laid_out(kernel)
        self.large: Callable | None = None  # what runs it for `jit_min_elements` and more
        self.kind = kind
        self.doc = doc or kernel.__doc__
        if doc and promote:
            self.doc = docs.of_row(name, kind, promote, out, doc, shown)
        self.promote, self.view, self.rest = promote, view, rest
        self.outputs, self.extras, self.returns = outputs, extras, returns
        self.differentiable, self.inplace, self.out = differentiable, inplace, out
        self.samples, self.draws, self.unrounded = samples, draws, unrounded
        self.signature = entry.Signature(kernel) if self.kind == "general" else entry.POINTWISE[self.kind]
        self.lacks = lacking(name)
        self.options = options_of(name, self.signature.metadata)
        self.places: Callable | None = None  # where it writes in place, for a tensor whose elements share memory
        self.checks: list[Callable] = []  # `checks.guard` adds them: they raise torch's errors, given the operands
        self.rules: dict[str | None, Callable] = rules or {}
        self.node = node or node_name(name)
        self.number_nodes = number_nodes
        self._node_class: type[Node] | None = None
        self.function: Any = None
        self.scope: dict[str, Any] = {}

    @property
    def node_class(self) -> type[Node]:
        """The class of the operator's nodes in the graph, made when the first one is needed."""
        if self._node_class is None:
            with making:
                if self._node_class is None:
                    self._node_class = type(self.node, (Node,), {"__slots__": (), "op": self})
        return self._node_class

    def number_class(self, position: int) -> type[Node]:
        """The class of its nodes where the operand at `position` is a number, for which torch has an operator of its own."""
        index = 1 - position
        name = self.number_nodes[index] if index < len(self.number_nodes) else self.node
        return of_number(self.node_class, name, position)

    def _laid_out(self, kernel: Callable) -> Callable:
        """The kernel whose results have the declared memory order."""
        if self.columns:
            kernel = return_columns(kernel, self.columns)
        return follow_channels(kernel, self.follows, self.follows_volumes) if self.follows else kernel

    def ordered_as_on_the_cpu(self, kernel: Callable) -> Callable:
        """A kernel of the operator, whose results have the memory order that entry points give to those of the CPU."""
        kernel = follow_channels(kernel, self.follows, self.follows_volumes) if self.follows else kernel
        return _in_first_order(kernel) if self.kind == "binary" and self.laid_as is None else kernel

    def vjp(self, rule: Any) -> Any:
        """Decorator: the gradient rule. `@op.vjp` for a single or joint rule, `@op.vjp("weight")` for one input's."""
        if isinstance(rule, str):
            return lambda f: self._add_rule(rule, f)
        single = len(self.signature.arrays) == 1 and not self.signature.variadic
        return self._add_rule(self.signature.arrays[0] if single else None, rule)

    def _add_rule(self, array: str | None, rule: Callable) -> Callable:
        self.rules[array] = rule
        entry.build(self)
        return rule

    def override(self, kernel: Callable) -> None:
        """Use `kernel` on the CPU in place of the reference kernel, which stays at `self.reference`.

        It is given NumPy's arrays and nothing else: it may read their addresses.
        """
        self.replace(self._laid_out(kernel))

    def replace(self, kernel: Callable) -> None:
        """Use exactly this kernel on the CPU, which gives results in the declared memory order."""
        self.kernel = self.scope["kernel"] = kernel
        self.wide = 0

    def override_large(self, run: Callable) -> None:
        """Run the CPU's kernel by `run` where the first array has `jit_min_elements` and more; it may call `self.kernel`."""
        self.large = run
        if "large" in self.scope:
            self.scope["large"] = run

    def compute(self, arguments: tuple, keywords: dict[str, Any]) -> Any:
        """What the CPU's kernel gives; NumPy's own functions write in place where the call does."""
        kernel = self.kernel_of(arguments[0])
        if type(kernel) is np.ufunc and take_target(arguments[0]):
            return kernel(*arguments, arguments[0])
        return kernel(*arguments, **keywords)

    def chosen(self, a: Any, b: Any) -> Callable:
        """The CPU's kernel of a row for two operands, by how many elements come out."""
        least = self.jit_min_elements
        if type(a) is not np.ndarray or type(b) is not np.ndarray or least is None or a.size * b.size < least:
            return self.kernel
        n = max(a.size, b.size)
        if n < least and 1 in (a.shape if a.ndim >= b.ndim else b.shape):
            try:
                n = np.broadcast(a, b).size
            except ValueError:  # the kernel says it better
                return self.kernel
        return (n >= least and self.large) or self.kernel

    def widened(self) -> None:
        """A row's result was larger than its first operand, and large: after some, entry points look at both operands."""
        self.wide += 1
        if self.wide == _WIDE:
            self.scope["kernel"] = lambda a, b: self.chosen(a, b)(a, b)

    def kernel_of(self, first: Any) -> Callable:
        """The CPU's kernel of any size for arrays of which this is the first."""
        return self.of_complex if self.of_complex is not None and is_complex(first) else self.kernel

    def kernel_for(self, first: Any) -> Callable:
        """The CPU's kernel for arrays of which this is the first."""
        least = self.jit_min_elements
        if self.of_complex is not None and is_complex(first):
            return self.of_complex
        is_large = least is not None and type(first) is np.ndarray and first.size >= least
        return (is_large and self.large) or self.kernel

    def invoke(self, f: Callable, arrays: Sequence, metadata: tuple) -> Any:
        """Call `f` (the kernel on arrays, or the public function on tensors) with metadata in the signature's order."""
        sig = self.signature
        n = len(sig.positional)
        keyword = (
            dict(zip(sig.keyword, metadata[len(metadata) - len(sig.keyword) :], strict=True)) if sig.keyword else {}
        )
        star = metadata[n] if sig.star else ()
        return f(*arrays, *metadata[:n], *star, **keyword)

    def complete_scope(self) -> dict[str, Any]:
        """The global names of the entry points, all of them, to be read or replaced."""
        return entry.complete_scope(self)

    def specialise(self) -> None:
        """Compile the entry points now rather than at the first call."""
        entry.specialise(self)

    def bundle(self, results: list) -> Any:
        """The results of an operator with several: a tuple, or torch's named tuple."""
        return self.returns(*results) if self.returns else tuple(results)

    @property
    def __signature__(self) -> Any:
        return signatures.of_entry(self)  # read by inspect.signature of the public function

    def __repr__(self) -> str:
        return f"<operator {self.name}>"


def is_complex(a: Any) -> bool:
    """Whether an array, or a number, is complex."""
    return a.dtype.kind == "c" if hasattr(a, "dtype") else type(a) is complex


def _in_first_order(kernel: Callable) -> Callable:
    """A kernel of two operands whose result has the order of the first one's axes."""

    def run(x: Any, y: Any) -> Any:
        r = kernel(x, y)
        looked_at = isinstance(r, np.ndarray) and r.ndim > 1 and isinstance(x, np.ndarray)
        return ordered(r, x, y) if looked_at else r

    return run


def node_name(name: str) -> str:
    """torch's node name for an operator: 'max_pool2d' -> 'MaxPool2DBackward0'."""
    words = name.split(".")[-1].strip("_").split("_")
    return "".join(w.title() for w in words) + "Backward0"


def primitive(
    *,
    name: str | None = None,
    method: bool | str = False,
    functional: bool = False,
    aliases: tuple[str, ...] = (),
    public: bool = True,
    **options: Any,
) -> Callable[[Callable], Any]:
    """Decorator: an operator with its own kernel. See the module's text for the signature's meaning.

    method: also a method of Tensor. functional: also in nn.functional. inplace: also `name_`. out: accepts `out=`.
    public=False: a building block of other operators, not exported.
    """

    def register(kernel: Callable) -> Any:
        own = name or kernel.__name__
        is_called = public or bool(method) or own.startswith(_NAMESPACES)
        record = Op(own, kernel, public=is_called, **options)
        function = entry.build(record)
        _publish(record.name, function, method, functional, aliases, public)
        if record.inplace:
            _publish_inplace(record, aliases)
        return function

    return register


def _publish(
    name: str,
    function: Any,
    method: bool | str,
    functional: bool | tuple[str, ...],
    aliases: tuple[str, ...],
    public: bool = True,
) -> None:
    """Give a function its public names."""
    if isinstance(functional, tuple):
        FUNCTIONAL.update(functional)
    for n in (name, *aliases):
        if public:
            if not may_register(OPS.get(n), function):
                raise ValueError(f"operator {n!r} is registered twice")
            OPS[n] = function
            if functional is True:
                FUNCTIONAL.add(n)
        if method:
            setattr(Tensor, n if method is True else method, function)


def _publish_inplace(record: Op, aliases: tuple[str, ...]) -> None:
    function = make_inplace(record)
    for n in (record.name, *aliases):
        setattr(Tensor, n + "_", function)
        if record.kind == "unary":
            OPS[n + "_"] = function


def composite(
    *,
    name: str | None = None,
    method: bool = False,
    functional: bool = False,
    aliases: tuple[str, ...] = (),
    function: bool = True,
    out: bool = False,
) -> Callable[[Any], Any]:
    """Decorator: an operator that is a plain function of others, or another name of one that there is.

    method: also a method of Tensor. function=False: no function; with `method` only that, as Python's operators are,
    properties, and in-place forms with code of their own. out: accepts `out=`, which receives a copy.
    """

    def register(f: Any) -> Any:
        _name_as_shown(f, name)
        shown = name or f.__name__
        is_explained = function or shown in EXPLAINED_METHODS or shown.startswith("linalg_")
        g = explained(shown, f, not function and method) if is_explained else f
        g = followed(name or f.__name__, g)
        if out:
            g = entry.accept_out(g)
            g.explains_arguments = True
        _publish(name or f.__name__, g, method, functional, aliases, function)
        return g

    return register


def _name_as_shown(f: Any, name: str | None) -> None:
    """Give a function the name that users know, for Python names it in the error of a missing argument."""
    if isinstance(f, property):  # has a name since Python 3.13, which cannot be set
        return
    inner = getattr(f, "__name__", "")
    if name is not None and inner.startswith("_") and not inner.startswith("__"):
        f.__name__ = f.__qualname__ = name
    elif "<locals>" in getattr(f, "__qualname__", ""):
        f.__qualname__ = inner


def unary(
    name: str,
    kernel: Callable,
    rule: Callable | None,
    doc: str,
    *,
    promote: str = "float",
    method: bool = True,
    functional: bool | tuple[str, ...] = False,
    inplace: bool = True,
    out: bool = True,
    aliases: tuple[str, ...] = (),
    export: bool = True,
    **options: Any,
) -> Any:
    """A row of the table of operators on one array. The rule's parameters are among g, x, out.

    promote: "float" (integers become the default float type), "same" (the type stays), "bool" (the result is bool).
    functional: also in nn.functional, or the names that are. export=False: the public function is a composite around it.
    """
    rules: dict[str | None, Callable] = {"x": rule} if rule else {}
    record = Op(name, kernel, kind="unary", doc=doc, rules=rules, promote=promote, inplace=inplace, out=out, **options)
    function = entry.build(record)
    _publish(name, function, method, functional, aliases, export)
    if inplace:
        _publish_inplace(record, aliases)
    return function


def binary(
    name: str,
    kernel: Callable,
    rule_x: Callable | None,
    rule_y: Callable | None,
    doc: str,
    *,
    promote: str = "same",
    operator: str | None = None,
    method: bool = True,
    inplace: bool = True,
    aliases: tuple[str, ...] = (),
    export: bool = True,
    **options: Any,
) -> Any:
    """A row of the table of operators on two arrays, either of which may be a Python number (the first: reflected).

    The rules' parameters are among g, x, y, out. promote: "same" (the common type), "float" (integers become the
    default float type), "bool" (compared in the common type, the result is bool).
    operator: the Python operator without underscores, such as "add": gives `__add__`, `__radd__`, `__iadd__`.
    export=False: the public function of this name is a composite around the row.
    """
    rules: dict[str | None, Callable] = {k: r for k, r in (("x", rule_x), ("y", rule_y)) if r}
    record = Op(
        name, kernel, kind="binary", doc=doc, rules=rules, promote=promote, inplace=inplace, out=True, **options
    )
    function = entry.build(record)
    if export:
        _publish(name, function, method, False, aliases)
    if inplace:
        _publish_inplace(record, aliases)
    if operator:
        publish_operator(record, operator)
    return function


_COMPARISONS = {"lt", "le", "gt", "ge", "eq", "ne"}
_COMMUTATIVE = {"add", "mul"}  # 2 * x is x * 2, as in torch, also in the graph that it leaves


def publish_operator(record: Op, operator: str) -> None:
    """Bind a binary operator to Python's operator."""
    plain, reflected = entry.operators(record)
    setattr(Tensor, f"__{operator}__", plain)
    if operator in _COMPARISONS:
        return
    setattr(Tensor, f"__r{operator}__", plain if operator in _COMMUTATIVE else reflected)
    if record.inplace:
        setattr(Tensor, f"__i{operator}__", make_inplace_operator(record))
