"""The seeds of loaders, samplers and workers, drawn as torch draws them."""

from rushlight import ops
from rushlight.core.random import manual_seed
from rushlight.core.tensor.dtype import int64


def draw_seed(generator=None) -> int:
    """A seed in [0, 2^63 - 1), drawn from `generator` or the default one."""
    return int(ops.empty((), dtype=int64).random_(generator=generator).item())


def seed_worker(base_seed: int, worker_id: int) -> int:
    """Seed Python's, Rushlight's and NumPy's generators in a worker process; return the worker's seed."""
    import random

    import numpy as np

    seed = base_seed + worker_id
    random.seed(seed)
    manual_seed(seed)
    np.random.seed(numpy_seed(base_seed, worker_id))
    return seed


def numpy_seed(base_seed: int, worker_id: int):
    """Four uint32 words; mixed, because `random` and NumPy's legacy generator are both Mersenne twisters."""
    import numpy as np

    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return np.random.SeedSequence(words).generate_state(4)
