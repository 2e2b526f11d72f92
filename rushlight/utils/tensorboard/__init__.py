"""torch.utils.tensorboard: figures of a training run, in files that TensorBoard shows. Needs the package `tensorboard`.

Importing this raises ModuleNotFoundError where the package is missing, as in torch, so that programs can go without.
"""

from importlib.util import find_spec as _find_spec

if _find_spec("tensorboard") is None:
    raise ModuleNotFoundError(
        "torch.utils.tensorboard writes files through the package tensorboard, which is not installed: "
        "pip install tensorboard (or rushlight[tensorboard])",
        name="tensorboard",
    )

from tensorboard.summary.writer.record_writer import RecordWriter  # pyright: ignore[reportMissingImports]

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
