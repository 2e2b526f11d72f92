"""`torch.distributed.checkpoint`: checkpoints of several processes, as safetensors files and an index; no pickles.

>>> import tempfile, warnings, rushlight
>>> warnings.simplefilter("ignore")  # there is one process
>>> folder = tempfile.mkdtemp()
>>> _ = save({"w": rushlight.arange(3), "step": 7}, checkpoint_id=folder)
>>> state = {"w": rushlight.zeros(3, dtype=rushlight.int64), "step": 0}
>>> load(state, checkpoint_id=folder)
>>> state
{'w': tensor([0, 1, 2]), 'step': 7}
"""

from .api import CheckpointException
from .default_planner import DefaultLoadPlanner, DefaultSavePlanner
from .filesystem import FileSystemReader, FileSystemWriter
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorStorageMetadata
from .planner import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem
from .state_dict_loader import load, load_state_dict
from .state_dict_saver import async_save, save, save_state_dict
from .storage import StorageReader, StorageWriter

__all__ = [
    "BytesStorageMetadata",
    "CheckpointException",
    "ChunkStorageMetadata",
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "FileSystemReader",
    "FileSystemWriter",
    "LoadPlan",
    "LoadPlanner",
    "Metadata",
    "ReadItem",
    "SavePlan",
    "SavePlanner",
    "StorageReader",
    "StorageWriter",
    "TensorStorageMetadata",
    "WriteItem",
    "async_save",
    "load",
    "load_state_dict",
    "save",
    "save_state_dict",
]
