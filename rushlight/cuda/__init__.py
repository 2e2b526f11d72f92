"""`torch.cuda` where there is no CUDA device: questions are answered, seeds accepted, the rest raises and says why."""

from ..core.legacy_types import CUDA_TYPES
from .absent import (
    Event, OutOfMemoryError, Stream, can_device_access_peer, current_blas_handle, current_device, current_stream, default_stream,
    device, device_count, device_of, get_arch_list, get_device_capability, get_device_name, get_device_properties,
    get_gencode_flags, init, ipc_collect, is_available, is_bf16_supported, is_initialized, set_device, set_stream, stream,
    synchronize, utilization,
)  # fmt: skip
from .memory import (
    empty_cache, max_memory_allocated, max_memory_cached, max_memory_reserved, mem_get_info, memory_allocated, memory_cached,
    memory_reserved, memory_snapshot, memory_stats, memory_summary, reset_max_memory_allocated, reset_max_memory_cached,
    reset_peak_memory_stats, set_per_process_memory_fraction,
)  # fmt: skip
from .random import (
    get_rng_state, get_rng_state_all, initial_seed, manual_seed, manual_seed_all, seed, seed_all, set_rng_state,
    set_rng_state_all,
)  # fmt: skip

(
    FloatTensor, DoubleTensor, HalfTensor, BFloat16Tensor, ByteTensor, CharTensor, ShortTensor, IntTensor, LongTensor,
    BoolTensor,
) = CUDA_TYPES  # fmt: skip
default_generators = ()
has_half = True
has_magma = False
