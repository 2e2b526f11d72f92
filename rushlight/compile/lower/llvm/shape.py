"""Sizes: how many vectors are side by side, what a unit is, what is cut in parts."""

from __future__ import annotations

from math import ceil, prod

from .plan import Plan, cost


class Shape:
    """Sizes: how many vectors side by side, units, blocks of lanes, parts of a reduction."""

    def __init__(self, plan: Plan):
        self.width, n = plan.vector, plan.lengths[plan.lane]
        self.step = self.width // plan.short  # points of the lanes' axis in a vector
        stores = [(s, e) for s in plan.stages for _, e in s.stores]
        total = prod(plan.lengths[a] for a in {*plan.outer, *plan.inner}) * plan.short
        self.costs = sum(2 + cost(e) for s, e in stores if s.inner)
        inner_bytes = sum(w.value.dtype.itemsize for w, _ in plan._memory() if w.value is not None)
        self.work_ns = total * (self.costs / self.width * 0.2 + inner_bytes / 50)
        vectors = ceil(n / self.step)
        reduces = any(s.kind is not None for s in plan.stages)
        outer = prod(plan.lengths[a] for a in plan.outer if a != plan.lane)
        self.block, self.parts, self.part_axis, self.part_length = n, 1, -1, 0
        if plan.rows:
            self.across = self._unroll_rows(plan, vectors) if reduces else 1
            if plan.is_map:
                self.block = self._map_block(n, outer)
        else:
            self.across = self._unroll_columns(plan, vectors, outer)
            self.block = self.across * self.width
        self.blocks = ceil(n / self.block)
        self.units = outer * self.blocks
        if plan.levels <= 2 and reduces and all(s.level == 0 for s in plan.stages if s.inner) and not plan.kept_rows():
            self._cut(plan)
        elif plan.is_map and not plan.rows:
            axis = plan.inner[0]
            self._part(plan, axis, 32)
        self.units *= self.parts
        kinds = [s for s in plan.stages if s.kind is not None]
        each = 1 if plan.rows else self.across * self.width
        self.scratch_bytes = 16 * each * len(kinds)

    def _unroll_rows(self, plan: Plan, vectors: int) -> int:
        x = 4 if self.costs <= 24 else 2 if self.costs <= 60 else 1
        return min(x, max(1, vectors))

    def _unroll_columns(self, plan: Plan, vectors: int, outer: int) -> int:
        if plan.is_map:
            return 1
        x = (
            16
            if self.costs <= 6
            else 8
            if self.costs <= 10
            else 4
            if self.costs <= 30
            else 2
            if self.costs <= 60
            else 1
        )
        while x > 1 and (x > vectors or (ceil(vectors / x) * x - vectors) * 4 > vectors):
            x //= 2
        single = all(s.level == 0 for s in plan.stages if s.inner)
        while x > 1 and not single and self.work_ns > 1e4 and outer * ceil(vectors / x) < 4:
            x //= 2
        return x

    def _map_block(self, n: int, rows: int) -> int:
        """Long rows in blocks, so that threads share them."""
        if n <= 4096 and rows >= 16 or n * rows <= 4096:
            return n
        step = 16 * self.step
        return min(4096, max(step, n * rows // 32 // rows // step * step))

    def _cut(self, plan: Plan) -> None:
        """Parts of the outermost inner loop where units alone give threads too little."""
        if self.work_ns < 2e4 or self.units >= 16:
            return
        axis = plan.inner[0]
        n = plan.lengths[axis]
        step = self.across * self.width if axis == plan.lane else 1
        wanted = min(64, max(2, int(self.work_ns / 5e3)))
        self._part(plan, axis, max(step, ceil(n / wanted / step) * step))

    def _part(self, plan: Plan, axis: int, length: int) -> None:
        n = plan.lengths[axis]
        if length < n:
            self.part_axis, self.part_length, self.parts = axis, length, ceil(n / length)
