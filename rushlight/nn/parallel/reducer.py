"""Averages gradients over processes while backward still runs.

Parameters are put into buckets in the order in which backward reaches them (the reverse of their own). When all
gradients of a bucket have been accumulated, its sum over the processes begins, in a thread; the last one waits for all.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Set
from typing import Any

import numpy as np

from rushlight.autograd.pass_hooks import when_all_done
from rushlight.backend.onednn.address import address
from rushlight.core.dispatch.mode import emit_event, no_grad, thread
from rushlight.core.tensor.node import Leaf
from rushlight.core.tensor.storage import storage_of
from rushlight.core.tensor.strides import dense_order
from rushlight.core.tensor.tensor import Tensor, wrap
from rushlight.ops import cat, zeros_like
from rushlight.sparse.coo import SparseTensor, replace
from rushlight.sparse.create import from_rows

from .grad_bucket import GradBucket
from .join import distributed_package

FIRST_BUCKET_BYTES = 1 << 20
ALONE_BYTES = 1 << 19  # a gradient of this size is a bucket of its own, and is averaged where it is


class Part:
    """A parameter's place in the flat tensor of its bucket.

    There its elements have the order that they have in the parameter's memory, as in torch: a gradient that is a part of the
    bucket has the parameter's strides. The order is that of the beginning, when the processes have compared theirs.
    """

    __slots__ = ("back", "order", "parameter", "place", "shape")

    def __init__(self, parameter: Tensor, at: int):
        self.parameter, self.place = parameter, slice(at, at + parameter._array.size)
        self.order = dense_order(parameter._array)
        shape = parameter._array.shape
        self.shape = shape if self.order is None else tuple(shape[i] for i in self.order)
        self.back = None if self.order is None else np.argsort(self.order).tolist()

    def shaped(self, values: np.ndarray) -> np.ndarray:
        """Its elements, which are given flat, in the parameter's shape."""
        part = values.reshape(self.shape)
        return part if self.back is None else part.transpose(self.back)

    def own_memory(self) -> np.ndarray | None:
        """The memory of the parameter's gradient, flat, if the average can be made there."""
        gradient = self.parameter._grad
        if gradient is None or gradient.is_sparse or gradient.dtype != self.parameter.dtype:
            return None
        laid = gradient._array if self.order is None else gradient._array.transpose(self.order)
        return laid.reshape(-1) if laid.flags.c_contiguous and laid.flags.writeable else None

    def view(self, flat: Tensor) -> Tensor:
        """Its elements of a flat tensor, in the parameter's shape."""
        part = flat[self.place].view(self.shape)
        return part if self.back is None else part.permute(self.back)

    def in_order(self, gradient: Tensor) -> Tensor:
        """A gradient's elements, flat, as they are in the bucket."""
        return (gradient if self.order is None else gradient.permute(self.order)).reshape(-1)


class Bucket:
    """Parameters of one type, whose gradients travel together in one flat tensor, which is used again in each pass.

    is_alone: a single large parameter, whose gradient is averaged in its own memory where that can be. is_sparse: a single
    parameter whose gradient is sparse.
    """

    def __init__(self, parameters: list[Tensor], is_sparse: bool = False):
        self.parameters, self.is_sparse = parameters, is_sparse
        self.total: Any = None  # of a sparse gradient
        self.parts: list[Part] = []
        self.size = 0
        for p in parameters:
            self.parts.append(Part(p, self.size))
            self.size += p._array.size
        self.is_alone = len(parameters) == 1 and parameters[0].nbytes >= ALONE_BYTES
        self.waiting = 0
        self.gradients: Tensor | None = None
        self.views: dict[int, Tensor] = {}  # of `gradients`, what was made the gradient of the parameter of an identity
        self.averages: list[np.ndarray] | None = None  # of each parameter, flat; often parts of `gradients`
        self.finish: Callable[[], Any] | None = None
        self.is_captured = False  # whether `gradients` is a tensor that a recorder knows

    def own_memory(self) -> list[np.ndarray] | None:
        """The memory of the gradients, each flat, if the averages can be made there."""
        found = [memory for part in self.parts if (memory := part.own_memory()) is not None]
        if len(found) < len(self.parts):
            return None
        gradients = [p._grad for p in self.parameters]
        return found if len({id(storage_of(g)) for g in gradients if g is not None}) == len(found) else None

    def parts_of(self, flat: np.ndarray) -> list[np.ndarray]:
        """Each parameter's elements of a flat array, flat."""
        return [flat[part.place] for part in self.parts]

    def collect(self) -> np.ndarray:
        """The gradients, flat; zeros for those that are missing."""
        dtype = self.parameters[0]._array.dtype
        if self.gradients is None:
            self.gradients = wrap(np.empty(self.size, dtype))
        flat = self.gradients._array
        for part in self.parts:
            p = part.parameter
            if p._grad is None:
                flat[part.place] = 0
            elif p._grad.is_sparse:
                raise NotImplementedError(
                    "DistributedDataParallel averages sparse gradients of Embedding(sparse=True) and "
                    "EmbeddingBag(sparse=True) only, not of another module's"
                )
            else:
                np.copyto(part.shaped(flat[part.place]), p._grad._array, casting="unsafe")
        storage_of(self.gradients).wrote("DistributedDataParallel")
        return flat


def nothing() -> None:
    """A reference to what is not there."""


class Mark:
    """The hook of each parameter. may_wait: it may be called when the whole pass is done, which can then be one program.

    It comes after the hooks of programs, whenever they are registered: those see, and change, what this process has computed.
    Between processes of one host there is little to gain by sums that begin earlier: they use the same processors.
    """

    __slots__ = ("call", "may_wait")
    comes_last = True

    def __init__(self, call: Callable[[Tensor], None], may_wait: bool):
        self.call, self.may_wait = call, may_wait

    def __call__(self, p: Tensor) -> None:
        self.call(p)


def make_buckets(parameters: list[Tensor], limit_bytes: int, sparse: Set[int] = frozenset()) -> list[Bucket]:
    """Buckets of up to `limit_bytes` each, the first one smaller, so that its sum begins early; large parameters alone.

    sparse: the identities of parameters whose gradients are sparse; each is alone.
    """
    buckets: list[Bucket] = []
    open_by_type: dict[Any, tuple[list[Tensor], int]] = {}
    limit = min(FIRST_BUCKET_BYTES, limit_bytes)
    for p in reversed(parameters):
        if p.nbytes >= ALONE_BYTES or id(p) in sparse:
            buckets.append(Bucket([p], id(p) in sparse))
            continue
        members, size = open_by_type.get(p.dtype, ([], 0))
        members, size = [*members, p], size + p.nbytes
        if size >= limit:
            buckets.append(Bucket(members))
            members, size, limit = [], 0, limit_bytes
        open_by_type[p.dtype] = members, size
    return buckets + [Bucket(members) for members, _ in open_by_type.values() if members]


class Reducer:
    """The buckets of a module's parameters, and the averages over `group` that are under way.

    In a compiled function the recorder hears of the sums, and of `act`, which is done in each replay, where the pass is over.

    group: `size()`, `key()`, `all_reduce(key, array, op)`, `sum_in_place(key, arrays, factor)`, `start(task)`, `run(task)` and
    `is_local()` of a process group. late: the identities of parameters whose averages begin after all others'. sparse: of those
    whose gradients are sparse. as_views: gradients become parts of their buckets.
    """

    name, writes, assigns = "the end of DistributedDataParallel's averages", False, ()

    def __init__(
        self,
        parameters: list[Tensor],
        names: list[str],
        group: Any,
        sum_op: Any,
        limit: int,
        late: Set[int] = frozenset(),
        as_views: bool = False,
        sparse: Set[int] = frozenset(),
    ):
        self.group, self.sum_op, self.as_views = group, sum_op, as_views
        self.names = dict(zip(map(id, parameters), names, strict=True))
        self.buckets = make_buckets([p for p in parameters if id(p) not in late], limit, sparse)
        self.buckets += make_buckets([p for p in parameters if id(p) in late], limit, sparse)
        self.share = 1.0 / group.size()
        self.bucket_of = {id(p): bucket for bucket in self.buckets for p in bucket.parameters}
        self.ready: set[int] = set()
        self.active = self.begun = False  # whether a backward pass is expected, and has come
        self.next = 0  # the bucket whose sum begins next: the same order in every process
        self.unused: set[int] | None = None
        self.looks_for_unused = False  # find_unused_parameters or static_graph
        self.used: set[int] = set()  # then: what has had a gradient since the last averages, also in no_sync()
        self.skipped: set[int] = set()  # what the forward pass used, and the backward pass that was averaged did not
        self.waits_for_end = False  # static_graph: a gradient may be added to until the whole backward pass is over
        self.ending = False  # whether the backward pass whose averages have been made still runs
        self.hook: Callable[[Any, GradBucket], Any] | None = None
        self.hook_state: Any = None
        self.heard_by: Callable[[], Any] = nothing  # a weak reference to the recorder that has heard of this pass
        mark = Mark(self._reached, group.is_local())
        self.handles = [p.register_post_accumulate_grad_hook(mark) for p in parameters]

    # ------------------------------------------------------------------------------------------ one backward pass

    def prepare(self, output: Any = None, waits_for_end: bool = False) -> None:
        """Expect the gradients of the next backward pass; with `output`, only of those parameters that it depends on.

        waits_for_end: average all gradients when the pass is over, which may reach a parameter several times, or never.
        """
        if self.active and self.begun:
            missing = [self.names[i] for i in self.bucket_of if i not in self.ready]
            raise RuntimeError(_UNFINISHED + f" Parameters without a gradient in the prior iteration: {missing}.")
        self.active, self.begun, self.next, self.ready = True, False, 0, set()
        for bucket in self.buckets:
            bucket.waiting, bucket.finish, bucket.averages = len(bucket.parameters), None, None
        self.unused, self.waits_for_end, self.ending, self.skipped = None, waits_for_end, False, set()
        if output is not None:
            used = _reached_from(output)
            self.unused = {i for i in self.bucket_of if i not in used}
            for bucket in self.buckets:
                for p in bucket.parameters:
                    if id(p) in self.unused:
                        self._mark(p)

    def rest(self) -> None:
        """Let the next backward pass accumulate without averaging."""
        self.active, self.skipped = False, set()

    def act(self) -> None:
        """In a program: its pass is over."""
        self.active = False

    @property
    def condition(self) -> tuple[Any, Callable[[], bool]]:
        """What has to hold where a program begins."""
        return ("reducer", id(self)), self.holds

    def holds(self) -> bool:
        """Whether a program may make the averages as it was captured."""
        return self.hook is None and distributed_package().captured.is_ready(self.group)

    def _is_heard(self) -> bool:
        """Whether the listener is a recorder that has heard of this pass from its beginning."""
        listener = thread.state.listener
        return listener is not None and self.heard_by() is listener

    def _reached(self, p: Tensor) -> None:
        """The hook of a parameter: its gradient has been accumulated."""
        if self.looks_for_unused:
            self.used.add(id(p))
        if not self.active:
            if self.ending:
                self._reached_late(p)
            elif id(p) in self.skipped:
                raise RuntimeError(_SECOND_BACKWARD.format(self.names[id(p)]))
            return
        if thread.state.level > 1 and not self._is_heard():
            emit_event(
                "left",
                "a backward pass averages gradients between processes whose forward pass was outside of the compiled function",
            )
        if self.waits_for_end:
            if not self.begun:
                when_all_done(self._end)
            self.begun = True
            self.ready.add(id(p))
            return
        if not self.begun and self.unused is not None:
            when_all_done(self._end_without)
        self.begun = True
        if id(p) in self.ready:
            raise RuntimeError(_READY_TWICE.format(self.names[id(p)]))
        self._mark(p)
        if self.next == len(self.buckets):
            self._finish()
            self.ending = True
            when_all_done(self._has_ended)

    def _reached_late(self, p: Tensor) -> None:
        """A gradient has been added to one whose average has been made: by another pass within this one."""
        if self.unused is not None:
            raise RuntimeError(_READY_TWICE.format(self.names[id(p)]))
        warnings.warn(_REACHED_LATE.format(self.names[id(p)]), stacklevel=2)

    def _has_ended(self, succeeded: bool) -> None:
        self.ending = False

    def _end(self, succeeded: bool) -> None:
        """Average all gradients at the end of a pass that has been waited for."""
        if not succeeded or not self.active:
            return
        self.unused = set()
        for bucket in self.buckets:
            self._begin(bucket)
        self._finish()

    def _end_without(self, succeeded: bool) -> None:
        """With find_unused_parameters: average although outputs, and so parameters, were not part of the loss."""
        if not succeeded or not self.active:
            return
        missing = [p for bucket in self.buckets for p in bucket.parameters if id(p) not in self.ready]
        self.skipped = set(map(id, missing))
        for p in missing:
            self._mark(p)
        self._finish()

    def _mark(self, p: Tensor) -> None:
        self.ready.add(id(p))
        self.bucket_of[id(p)].waiting -= 1
        while self.next < len(self.buckets) and not self.buckets[self.next].waiting:
            self._begin(self.buckets[self.next])
            self.next += 1

    def _begin(self, bucket: Bucket) -> None:
        """Start the sum of a bucket: each process divides first, as torch does, so that sums cannot overflow."""
        if bucket.is_sparse:
            self._begin_sparse(bucket, self._sparse_gradient(bucket))
            return
        if thread.state.level > 1 and self._is_heard():
            self._begin_captured(bucket)
            return
        own = None if self.hook is not None or self.looks_for_unused or self.as_views else bucket.own_memory()
        if own is not None:
            bucket.gradients = None
        self._begin_flat(bucket, bucket.collect() if own is None else own)

    def _begin_flat(self, bucket: Bucket, memory: np.ndarray | list[np.ndarray]) -> None:
        """Start the sum, in a flat array or in one for each parameter."""
        if self.hook is not None:
            assert bucket.gradients is not None
            bucket.finish = self._begin_by_hook(bucket, bucket.gradients)
            return
        parts = memory if isinstance(memory, list) else bucket.parts_of(memory)
        bucket.averages = parts
        key, group, share = self.group.key(), self.group, self.share
        bucket.finish = self.group.start(lambda: group.sum_in_place(key, parts, share)).wait

    def _sparse_gradient(self, bucket: Bucket) -> Any:
        """The gradient of a bucket's parameter, which is sparse; one without entries where it is missing."""
        (p,) = bucket.parameters
        if p._grad is not None and not p._grad.is_sparse:
            raise RuntimeError(
                f"DistributedDataParallel: {self.names[id(p)]} belongs to a module with sparse=True, and its gradient is dense"
            )
        return _without_entries(p) if p._grad is None else p._grad

    def _begin_sparse(self, bucket: Bucket, gradient: Any) -> None:
        with no_grad():
            if self.hook is not None:
                bucket.finish = self._begin_by_hook(bucket, gradient.coalesce().clone())
                return
            call = distributed_package().collectives.sparse_sum(self.group, gradient.coalesce() * self.share)

        def task() -> None:
            bucket.total = call()

        bucket.finish = self.group.start(task).wait

    def _begin_captured(self, bucket: Bucket) -> None:
        """`_begin` in operators, and a sum or its halves, that a recorder hears of."""
        own = None if self.as_views else bucket.own_memory()
        if own is not None and self.group.is_local():
            self._begin_captured_whole(bucket)
            return
        if own is not None and bucket.is_alone and bucket.parts[0].order is None:
            self._begin_captured_alone(bucket)
            return
        with no_grad():
            # a hook of the program may have taken one
            gradients = [zeros_like(p) if p._grad is None else p._grad for p in bucket.parameters]
            flat = cat([part.in_order(g) for part, g in zip(bucket.parts, gradients, strict=True)])
        total = self._captured_sum(bucket)
        emit_event("exchanged", "begin", flat, total)
        total.start(flat._array)

        def finish() -> None:
            emit_event("exchanged", "end", flat, total)
            np.copyto(flat._array, total.wait())
            bucket.gradients, bucket.averages = flat, bucket.parts_of(flat._array)
            bucket.is_captured = True

        bucket.finish = finish

    def _captured_sum(self, bucket: Bucket) -> Any:
        group, share = self.group, self.share

        def call(key: bytes, array: np.ndarray) -> np.ndarray:
            flat = array.reshape(-1)
            group.sum_in_place(key, bucket.parts_of(flat), share)
            return flat

        total = distributed_package().captured.Collective("all_reduce(SUM)", group, call)
        total.is_bucket = True
        return total

    def _begin_captured_whole(self, bucket: Bucket) -> None:
        """In the memory of the gradients, at once: within a host the processes compute on the same processors."""
        orders = [part.order for part in bucket.parts]
        total = distributed_package().captured.SumInPlace(self.group, self.share, orders)
        gradients: list[Any] = [p._grad for p in bucket.parameters]
        emit_event("exchanged", "together", gradients, total)
        total.act(*[g._array for g in gradients])

        def finish() -> None:
            for g in gradients:
                storage_of(g).wrote("DistributedDataParallel")

        self._averaged_where_they_are(bucket, finish)

    def _begin_captured_alone(self, bucket: Bucket) -> None:
        """In the memory of the only gradient, in two halves."""
        p, total = bucket.parameters[0], self._captured_sum(bucket)
        gradient = p._grad
        assert gradient is not None  # it has memory
        emit_event("exchanged", "begin", gradient, total)
        total.start(gradient._array)

        def finish() -> None:
            emit_event("exchanged", "end", gradient, total)
            total._put(total.wait(), gradient._array)
            storage_of(gradient).wrote("DistributedDataParallel")

        self._averaged_where_they_are(bucket, finish)

    def _averaged_where_they_are(self, bucket: Bucket, finish: Callable[[], Any]) -> None:
        bucket.gradients = bucket.averages = None
        bucket.is_captured, bucket.finish = True, finish

    def _begin_by_hook(self, bucket: Bucket, gradients: Any) -> Callable[[], Any]:
        """Let the program's hook begin to combine the gradients, a flat tensor or a sparse one; what waits for its result."""
        with no_grad():
            view = GradBucket(self.buckets.index(bucket), len(self.buckets), gradients, bucket.parameters)
            future = self.hook(self.hook_state, view)  # type: ignore[misc]
        if not hasattr(future, "wait"):
            raise TypeError(f"a communication hook has to return a future of a tensor, not {type(future).__name__}")

        def finish() -> None:
            value = future.wait()
            if isinstance(value, (list, tuple)) and len(value) == 1:
                value = value[0]
            if not isinstance(value, Tensor) or value.numel() != gradients.numel():
                raise RuntimeError(
                    f"a communication hook's future has to give a tensor of {gradients.numel()} elements"
                )
            if bucket.is_sparse:
                bucket.total = value.detach()
            else:
                flat = gradients._array
                averages = value.detach()._array.reshape(-1).astype(flat.dtype, copy=False)
                if self.as_views and averages is not flat:
                    np.copyto(flat, averages)
                bucket.averages = bucket.parts_of(averages)

        return finish

    def _finish(self) -> None:
        everywhere_unused = set() if self.unused is None else self._unused_everywhere()
        for bucket in self.buckets:
            assert bucket.finish is not None
            bucket.finish()
            self._put_gradients(bucket, everywhere_unused)
        if thread.state.level > 1 and self._is_heard():
            emit_event("exchanged", "effect", None, self)
        self.active = False

    def _put_gradients(self, bucket: Bucket, unused: set[int]) -> None:
        if bucket.is_sparse:
            (p,), total, bucket.total = bucket.parameters, bucket.total, None
            if id(p) not in unused:
                with no_grad():
                    p.grad = total if p._grad is None else replace(p._grad, total) if total.is_sparse else total
            return
        flat, averages = bucket.gradients, bucket.averages
        if flat is None and bucket.is_captured:  # a program averages it where it is
            bucket.is_captured, bucket.finish = False, None
            return
        assert averages is not None
        bucket.averages = bucket.finish = None  # they keep the gradients
        if bucket.is_captured:
            assert flat is not None
            bucket.gradients = None  # the memory of one call
            bucket.views = {}
            bucket.is_captured = False
            with no_grad():
                for part in bucket.parts:
                    p, average = part.parameter, part.view(flat)
                    if self.as_views:
                        p.grad = average
                    elif p._grad is None:
                        p.grad = average.clone()
                    else:
                        p._grad.copy_(average)
            return
        for part, average in zip(bucket.parts, averages, strict=True):
            p = part.parameter
            if id(p) in unused:
                continue
            if self.as_views:
                assert flat is not None
                if p._grad is None or bucket.views.get(id(p)) is not p._grad:
                    with no_grad():
                        p.grad = bucket.views[id(p)] = part.view(flat)
            else:
                _put_gradient(p, part.shaped(average))
        if self.as_views and flat is not None:
            storage_of(flat).wrote("DistributedDataParallel")

    def take_part(self, looks_for_unused: bool) -> None:
        """Take part with zeros in the averages of a backward pass that other processes make."""
        for bucket in self.buckets:
            bucket.finish = None
            if bucket.is_sparse:
                self._begin_sparse(bucket, _without_entries(bucket.parameters[0]))
                continue
            flat = bucket.collect()
            flat[:] = 0
            self._begin_flat(bucket, flat)
        if looks_for_unused:
            self._unused_everywhere()
        for bucket in self.buckets:
            bucket.finish()  # type: ignore[misc]

    def _unused_everywhere(self) -> set[int]:
        """The parameters that no process has used since the last averages: their gradients stay as they are."""
        order = list(self.bucket_of)
        used = np.array([i in self.used for i in order], np.int32)
        self.used = set()
        key = self.group.key()
        total = self.group.run(lambda: self.group.all_reduce(key, used, self.sum_op))
        return {i for i, n in zip(order, total, strict=True) if not n}


_UNFINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that "
    "your module has parameters that were not used in producing loss. You can enable unused parameter detection by "
    "passing the keyword argument `find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by "
    "making sure all `forward` function outputs participate in calculating loss."
)


_READY_TWICE = (
    "Expected to mark a variable ready only once. This error is caused by one of the following reasons: 1) Use of a module "
    "parameter outside the `forward` function. Please make sure model parameters are not shared across multiple concurrent "
    "forward-backward passes. 2) Reused parameters in multiple reentrant backward passes. For example, if you use multiple "
    "`checkpoint` functions to wrap the same part of your model, it would result in the same set of parameters been used "
    "by different reentrant backward passes multiple times, and hence marking a variable ready multiple times. DDP does "
    "support such use cases with static_graph=True. The parameter is {}."
)

_REACHED_LATE = (
    "DistributedDataParallel: a backward pass within the backward pass (a reentrant checkpoint) has added to the gradient of "
    "{} after its average was made, so that the processes' gradients differ. Use static_graph=True, or "
    "checkpoint(..., use_reentrant=False)."
)

_SECOND_BACKWARD = (
    "DistributedDataParallel(find_unused_parameters=True): a second backward pass after one forward pass has reached {}, "
    "which the first one, whose gradients have been averaged, had left out. Call backward() once, on the sum of the losses."
)


def _put_gradient(p: Tensor, values: np.ndarray) -> None:
    if p._grad is None:
        p.grad = wrap(values.copy("K"))
    else:
        if address(values) != address(p._grad._array):
            np.copyto(p._grad._array, values)
        storage_of(p._grad).wrote("DistributedDataParallel")


def _without_entries(p: Tensor) -> SparseTensor:
    """A sparse gradient of zeros."""
    return from_rows(wrap(np.zeros((0, *p.shape[1:]), p._array.dtype)), wrap(np.zeros(0, np.int64)), len(p))


def _reached_from(output: Any) -> set[int]:
    """The identities of the leaves on which the tensors in `output` depend."""
    stack = [t._edge for t in _tensors_in(output) if t._edge is not None]
    seen: set[int] = set()
    leaves: set[int] = set()
    while stack:
        edge = stack.pop()
        if id(edge) in seen:
            continue
        seen.add(id(edge))
        if type(edge) is Leaf:
            leaves.add(id(edge.ref()))
        else:
            stack.extend(e for e in edge.edges if e is not None)
    return leaves


def _tensors_in(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        value = list(vars(value).values()) if hasattr(value, "__dataclass_fields__") else []
    return [t for part in value for t in _tensors_in(part)]
