"""`torch.Future`: in torch the class, without Python, beneath `torch.futures.Future`."""

from __future__ import annotations


class Future:
    """What `isinstance(x, torch.Future)` asks for. `torch.futures.Future` makes them."""
