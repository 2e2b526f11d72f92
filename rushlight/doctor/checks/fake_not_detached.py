"""A loss also differentiates a network whose gradients are then cleared unread."""

from __future__ import annotations

from ..events import Backward, Step, Zero
from ..tape import Tape
from . import Check


class FakeNotDetached(Check):
    """The discriminator's loss runs back through the generator: wasted time, no wrong number."""

    name = "fake-not-detached"
    severity = "info"
    waits_for = "second_optimizer"

    def __init__(self, doctor):
        super().__init__(doctor)
        self.first_use: dict[
            int, dict[int, int]
        ] = {}  # by backward: optimizer -> the earliest time its tensors were used
        self.wasted: dict[int, Backward] = {}
        self.recent: dict[int, Backward] = {}

    def on_before_backward(self, event: Backward) -> None:
        if len(self.doctor.optimizers) > 1 and event.tape is not None and event.accumulates:
            self.first_use[event.number] = self._earliest(event.tape)
            self.recent[event.number] = event
            if len(self.recent) > 64:
                for number in sorted(self.recent)[:32]:
                    self.recent.pop(number)
                    self.first_use.pop(number, None)

    def _earliest(self, tape: Tape) -> dict[int, int]:
        found: dict[int, int] = {}
        for leaf in tape.leaves:
            tensor = leaf.ref()
            entry = None if tensor is None else self.doctor.ledger.known(tensor)
            for ref in () if entry is None else entry.owners:
                watched = ref()
                if watched is not None:
                    first = min((node.seq for node, _ in tape.users(leaf)), default=0)
                    found[watched.number] = min(found.get(watched.number, first), first)
        return found

    def on_zero(self, event: Zero) -> None:
        for entry in event.pending:
            if not entry.used and not entry.edited and entry.owners:
                for c in entry.contributions:
                    if c.number in self.recent and len(self.first_use.get(c.number, {})) > 1:
                        owner = entry.owners[0]()
                        if owner is not None:
                            self.wasted.setdefault(owner.number * 1_000_000_007 + c.number, self.recent[c.number])

    def on_stepped(self, event: Step) -> None:
        if event.optimizer is None or not self.wasted:
            return
        for key, backward in list(self.wasted.items()):
            del self.wasted[key]
            owner, number = divmod(key, 1_000_000_007)
            uses = self.first_use.get(number, {})
            others = [first for optimizer, first in uses.items() if optimizer != owner]
            if owner in uses and others and uses[owner] < min(others):
                self.doctor.report(
                    self,
                    backward.place,
                    "this loss also differentiates another optimizer's network, whose gradients are then cleared unread",
                    "detach what comes from that network: fake.detach()",
                    [(event.place, "the step")],
                )
