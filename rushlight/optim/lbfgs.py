"""L-BFGS with an optional line search for the strong Wolfe conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight import ops
from rushlight.core.dispatch.mode import enable_grad, no_grad, thread
from rushlight.core.tensor.tensor import Tensor, wrap
from rushlight.ops.pointwise.multiply_add import multiply_add

from .algorithm import check_lr, number, to_scalar
from .optimizer import Optimizer, ParamsT

__all__ = ["LBFGS"]

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


class LBFGS(Optimizer):
    """L-BFGS: quasi-Newton steps from the last `history_size` changes of parameters and gradient.

    `step(closure)` takes up to `max_iter` iterations with up to `max_eval` evaluations of the closure (default
    1.25 * max_iter) and stops early when no gradient element exceeds `tolerance_grad` or the loss or all parameters
    change by less than `tolerance_change`. `line_search_fn` is None (steps of `lr`) or "strong_wolfe".

    There is one parameter group only; its state belongs to the first parameter.

    Source: Nocedal and Wright, Numerical Optimization, 2006, algorithms 7.4, 7.5 and 3.5.

    Shape: parameters (*) -> the same, in place; state of the first one: d and prev_flat_grad (number of all elements)
    Raises:
        ValueError: there are several groups, as in `LBFGS([{"params": [ones(1)]}, {"params": [ones(2)]}])`.

    >>> w = tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = LBFGS([w])
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (w * w).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure)
    tensor(5., grad_fn=<SumBackward0>)
    >>> w.abs().max() < 0.1
    tensor(True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:
        """Take up to ``max_iter`` iterations; ``closure`` evaluates the model, runs backward and returns the loss.

        Returns the loss of the first evaluation.
        """
        if len(self.param_groups) != 1:
            raise AssertionError(f"Expected exactly one param_group, but got {len(self.param_groups)}")
        closure = enable_grad()(closure)
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        orig_loss = closure()
        state["func_evals"] += 1
        flat_grad = self._gather_flat_grad()
        if flat_grad.abs().max() > self.param_groups[0]["tolerance_grad"]:
            self._iterate(closure, state, float(orig_loss), flat_grad)
        return orig_loss

    def _iterate(self, closure: Callable[[], Any], state: dict[str, Any], loss: float, flat_grad: Tensor) -> None:
        group = self.param_groups[0]
        lr, tolerance_change = to_scalar(group["lr"]), group["tolerance_change"]
        prev_flat_grad: Any
        prev_flat_grad, prev_loss = state.get("prev_flat_grad"), state.get("prev_loss")
        evals = 1
        for n_iter in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            first = state["n_iter"] == 1
            if first:
                d = flat_grad.neg()
                state.update(d=d, t=None, old_dirs=[], old_stps=[], ro=[], H_diag=1)
            else:
                self._remember(state, flat_grad.sub(prev_flat_grad), group["history_size"])
                state["d"] = d = _direction(state, flat_grad, group["history_size"])
            if prev_flat_grad is None:
                prev_flat_grad = flat_grad.clone()
            else:
                prev_flat_grad.copy_(flat_grad)
            prev_loss = loss
            t = state["t"] = min(1.0, 1.0 / flat_grad.abs().sum()) * lr if first else lr
            slope = flat_grad.dot(d)
            if slope > -tolerance_change:
                break
            last = n_iter == group["max_iter"]
            loss, flat_grad, t, new_evals = self._advance(closure, t, d, loss, flat_grad, slope, evals, last)
            state["t"] = t
            evals += new_evals
            state["func_evals"] += new_evals
            if last or evals >= group["max_eval"]:
                break
            if flat_grad.abs().max() <= group["tolerance_grad"]:
                break
            if d.mul(t).abs().max() <= tolerance_change or abs(loss - prev_loss) < tolerance_change:
                break
        if "prev_loss" not in state:  # the order of torch's state, where `al` is added first
            state |= {key: state.pop(key) for key in ("d", "t", "old_dirs", "old_stps", "ro", "H_diag")}
        state["prev_flat_grad"], state["prev_loss"] = prev_flat_grad, prev_loss

    @staticmethod
    def _remember(state: dict[str, Any], y: Tensor, history_size: int) -> None:
        """Add the change ``y`` of the gradient and the step that caused it to the history, if curvature is positive."""
        old_dirs, old_stps, ro = state["old_dirs"], state["old_stps"], state["ro"]
        s = state["d"].mul(state["t"])
        ys = y.dot(s)
        if ys > 1e-10:
            if len(old_dirs) == history_size:
                for history in (old_dirs, old_stps, ro):
                    history.pop(0)
            old_dirs.append(y)
            old_stps.append(s)
            ro.append(1.0 / ys)
            state["H_diag"] = ys / y.dot(y)

    def _advance(
        self,
        closure: Callable[[], Any],
        t: Any,
        d: Tensor,
        loss: float,
        flat_grad: Tensor,
        slope: Tensor,
        evals: int,
        last: bool,
    ) -> tuple[float, Tensor, Any, int]:
        """Move the parameters along ``d``; return loss and gradient there, the step length and the evaluations used."""
        group = self.param_groups[0]
        if group["line_search_fn"] is None:
            self._add_grad(t, d)
            if last:  # no later iteration needs the loss there
                return loss, flat_grad, t, 0
            loss = float(closure())
            return loss, self._gather_flat_grad(), t, 1
        if group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        start = [p.clone() for p in self._params]

        def evaluate(_start, t, d):
            self._add_grad(t, d)
            loss = float(closure())
            flat_grad = self._gather_flat_grad()
            for p, value in zip(self._params, start, strict=True):
                p.copy_(value)
            return loss, flat_grad

        max_ls = group["max_eval"] - evals
        loss, flat_grad, t, new_evals = _strong_wolfe(evaluate, start, t, d, loss, flat_grad, slope, max_ls=max_ls)
        self._add_grad(t, d)
        return loss, flat_grad, t, new_evals

    def _gather_flat_grad(self) -> Tensor:
        """All gradients in one vector, zeros where there is none."""
        views = []
        for p in self._params:
            grad = ops.zeros_like(p) if p.grad is None else p.grad
            if grad.is_sparse:
                grad = grad.to_dense()
            view = grad.reshape(-1)
            views.append(ops.view_as_real(view).view(-1) if view.is_complex() else view)
        return ops.cat(views, 0)

    def _add_grad(self, step_size: Any, update: Tensor) -> None:
        """Add ``step_size`` times the flat ``update`` to the parameters."""
        step_size, offset = number(step_size), 0
        for p in self._params:
            if p.is_complex():
                p = ops.view_as_real(p)
            end = offset + p.numel()
            p.add_(update[offset:end].view_as(p), alpha=step_size)
            offset = end


def _direction(state: dict[str, Any], flat_grad: Tensor, history_size: int) -> Tensor:
    """Minus the approximate inverse Hessian times the gradient, by the two-loop recursion."""
    old_dirs, old_stps, ro = state["old_dirs"], state["old_stps"], state["ro"]
    al = state.setdefault("al", [None] * history_size)
    if thread.state.level == 0 and _are_plain([flat_grad, *old_dirs, *old_stps, *ro]):
        return thread.state.run(_direction_of_arrays, al, old_dirs, old_stps, ro, flat_grad, state["H_diag"])
    q = flat_grad.neg()
    for i in reversed(range(len(old_dirs))):
        al[i] = old_stps[i].dot(q) * ro[i]
        q.add_(old_dirs[i], alpha=-number(al[i]))
    r = ops.mul(q, state["H_diag"])
    for i in range(len(old_dirs)):
        be = old_dirs[i].dot(r) * ro[i]
        r.add_(old_stps[i], alpha=number(al[i] - be))
    return r


def _are_plain(tensors: list[Tensor]) -> bool:
    """Whether these are arrays in the CPU's memory, of floats of one type."""
    d = tensors[0]._array.dtype
    return d in _FLOATS and all(type(t._array) is np.ndarray and t._array.dtype is d for t in tensors)


def _direction_of_arrays(
    al: list, old_dirs: list[Tensor], old_stps: list[Tensor], ro: list[Tensor], flat_grad: Tensor, diagonal: Any
) -> Tensor:
    """`_direction` by the same kernels. Through tensors its 4 calls for each step of the history take most of a small model's time."""
    dot, changes, steps = ops.dot.record.kernel, [y._array for y in old_dirs], [s._array for s in old_stps]
    q = -flat_grad._array
    weights: list[Any] = [None] * len(changes)
    for i in reversed(range(len(changes))):
        weights[i] = dot(steps[i], q) * ro[i]._array
        multiply_add(changes[i], -float(weights[i]), q, q)
    r = wrap(q) * diagonal
    for i, (y, s) in enumerate(zip(changes, steps, strict=True)):
        multiply_add(s, float(weights[i] - dot(y, r._array) * ro[i]._array), r._array, r._array)
        al[i] = wrap(np.asarray(weights[i]))
    return r


def _cubic_interpolate(x1, f1, g1, x2, f2, g2, bounds=None):
    """Minimum within ``bounds`` of the cubic with values f1, f2 and slopes g1, g2 at x1, x2."""
    low, high = bounds if bounds is not None else (x1, x2) if x1 <= x2 else (x2, x1)
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    d2_square = d1**2 - g1 * g2
    if d2_square < 0:
        return (low + high) / 2.0
    d2 = d2_square.sqrt()
    if x1 <= x2:
        minimum = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        minimum = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(minimum, low), high)


def _strong_wolfe(obj_func, x, t, d, f, g, gtd, c1=1e-4, c2=0.9, tolerance_change=1e-9, max_ls=25):
    """Find a step length along ``d`` that lowers the loss enough (c1) where the slope is flat enough (c2).

    ``obj_func(x, t, d)`` gives loss and gradient t d away from x; f, g, gtd are loss, gradient and slope at x. Returns
    loss, gradient, step length and the number of evaluations. torch's name and parameters: torchmin imports it.
    """

    def evaluate(t):
        return obj_func(x, t, d)

    bracket, done, evals = _bracket(evaluate, t, d, f, g.clone(), gtd, c1, c2, max_ls)
    low = 0 if bracket[0][1] <= bracket[-1][1] else 1
    if not done:
        low, evals = _zoom(evaluate, bracket, low, d, f, gtd, c1, c2, tolerance_change, evals, max_ls)
    t, f_new, g_new, _ = bracket[low]
    return f_new, g_new, t, evals


def _bracket(evaluate, t, d, f, g, gtd, c1, c2, max_ls):
    """Walk out until the interval between the last two points must hold a good one, or a point is good itself.

    Returns the list of points [t, loss, gradient, slope], whether its only one is good, and the evaluations used.
    """
    previous = [0, f, g, gtd]
    f_new, g_new = evaluate(t)
    point = [t, f_new, g_new, g_new.dot(d)]
    for ls_iter in range(max_ls):
        t, f_new, _, slope = point
        if f_new > (f + c1 * t * gtd) or (ls_iter > 1 and f_new >= previous[1]):
            return [previous, point], False, ls_iter + 1
        if abs(slope) <= -c2 * gtd:
            return [point], True, ls_iter + 1
        if slope >= 0:
            return [previous, point], False, ls_iter + 1
        bounds = (t + 0.01 * (t - previous[0]), t * 10)
        t = _cubic_interpolate(previous[0], previous[1], previous[3], t, f_new, slope, bounds=bounds)
        previous = point
        f_new, g_new = evaluate(t)
        point = [t, f_new, g_new, g_new.dot(d)]
    return [[0, f, g, gtd], point], False, max(max_ls, 0) + 1


def _zoom(evaluate, bracket, low, d, f, gtd, c1, c2, tolerance_change, evals, max_ls):
    """Shrink ``bracket``, two points, in place until one meets both conditions.

    Returns the index of the point with the lower loss and the evaluations used.
    """
    d_norm = d.abs().max()
    stalled = False
    while evals <= max_ls:
        left, right = bracket
        if abs(right[0] - left[0]) * d_norm < tolerance_change:
            break
        t = _cubic_interpolate(left[0], left[1], left[3], right[0], right[1], right[3])
        t, stalled = _keep_off_the_ends(t, min(left[0], right[0]), max(left[0], right[0]), stalled)
        f_new, g_new = evaluate(t)
        evals += 1
        point = [t, f_new, g_new, g_new.dot(d)]
        high = 1 - low
        if f_new > (f + c1 * t * gtd) or f_new >= bracket[low][1]:
            bracket[high] = point
            low = 0 if bracket[0][1] <= bracket[1][1] else 1
            continue
        done = abs(point[3]) <= -c2 * gtd
        if not done and point[3] * (bracket[high][0] - bracket[low][0]) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = point
        if done:
            break
    return low, evals


def _keep_off_the_ends(t, start, end, stalled):
    """Move a trial point that is for the second time, or wholly, at the end of its interval a tenth inwards."""
    margin = 0.1 * (end - start)
    if not min(end - t, t - start) < margin:
        return t, False
    if not (stalled or t >= end or t <= start):
        return t, True
    return (end - margin if abs(t - end) < abs(t - start) else start + margin), False
