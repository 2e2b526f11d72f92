"""`torch.distributed.elastic.utils.logging`: loggers whose level is the environment's LOGLEVEL."""

import inspect
import logging
import os

__all__ = ["get_logger"]


def get_logger(name: str | None = None) -> logging.Logger:
    """The logger of a name, by default of the calling module, with LOGLEVEL's level, or WARNING's."""
    frame = inspect.currentframe()
    caller = frame.f_back if frame is not None else None
    module = inspect.getmodule(caller) if caller is not None else None
    logger = logging.getLogger(name or (module.__name__ if module is not None else None))
    logger.setLevel(os.environ.get("LOGLEVEL", "WARNING"))
    return logger
