"""The collectives as methods of `ProcessGroup`, and their options, as torch's class has them; importing this adds them."""

from . import methods  # noqa: F401

__all__: list[str] = []
