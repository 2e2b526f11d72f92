"""Objects that have a state: what `save` asks for it, and `load` gives it back to."""

from typing import Any, Protocol, TypeVar, runtime_checkable

__all__ = ["Stateful", "StatefulT"]


@runtime_checkable
class Stateful(Protocol):
    """What has `state_dict()` and `load_state_dict(state)`: `save` and `load` accept it in place of its state."""

    def state_dict(self) -> dict[str, Any]:
        """The state. `load` calls this, too, and fills the tensors in place."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state that was loaded."""
        ...


StatefulT = TypeVar("StatefulT", bound=Stateful)
