"""The parameters of the names in `unavailable.py`, as torch 2.13 has them: without annotations.

Names without a row here have none in torch (functions in C++), or a default that Rushlight has no object for: their
stand-ins take any arguments.
"""

from __future__ import annotations

__all__ = ["PARAMETERS"]

# {parameters: names}
_NAMES = {
    "()": """
        cuda.init cuda.current_device cuda.ipc_collect cuda.current_blas_handle cuda.cudart
        cuda.current_solver_handle cuda.get_allocator_backend cuda.get_sync_debug_mode
        cuda.graph_pool_handle cuda.is_current_stream_capturing cuda.reset_accumulated_host_memory_stats
        cuda.reset_peak_host_memory_stats cuda.random.initial_seed cuda.profiler.start cuda.profiler.stop
        cuda.profiler.profile cuda.nvtx.range_pop xpu.init xpu.current_device xpu.initial_seed mtia.init
        mtia.initial_seed mtia.current_device mtia.empty_cache mtia.snapshot mps.synchronize mps.seed
        mps.empty_cache mps.current_allocated_memory mps.driver_allocated_memory mps.recommended_max_memory
        mps.profiler.stop backends.mps.get_name backends.mps.get_core_count accelerator.current_device_index
        accelerator.empty_cache accelerator.empty_host_cache library.get_ctx library.fallthrough_kernel
        utils.cpp_extension.verify_ninja_availability
        distributed.tensor.parallel.loss_parallel""",
    "(device=None)": """
        cuda.get_device_name cuda.get_device_properties cuda.get_device_capability cuda.synchronize
        cuda.current_stream cuda.default_stream cuda.utilization cuda.clock_rate cuda.power_draw
        cuda.temperature cuda.memory_usage cuda.device_memory_used cuda.get_per_process_memory_fraction
        cuda.reset_accumulated_memory_stats cuda.memory.mem_get_info cuda.memory.reset_peak_memory_stats
        cuda.memory.reset_max_memory_allocated cuda.memory.reset_max_memory_cached xpu.get_device_name
        xpu.get_device_properties xpu.get_device_capability xpu.synchronize xpu.current_stream
        xpu.mem_get_info xpu.reset_peak_memory_stats xpu.reset_accumulated_memory_stats
        xpu.get_per_process_memory_fraction mtia.synchronize mtia.current_stream mtia.default_stream
        mtia.get_device_capability mtia.get_device_properties""",
    "(device_index=None, /)": """
        accelerator.get_memory_info accelerator.memory_allocated accelerator.max_memory_allocated
        accelerator.memory_reserved accelerator.max_memory_reserved accelerator.memory_stats
        accelerator.reset_peak_memory_stats accelerator.reset_accumulated_memory_stats""",
    "(stream)": "xpu.set_stream mtia.set_stream mtia.stream accelerator.set_stream",
    "(device)": "cuda.set_device xpu.set_device mtia.set_device",
    "(msg)": "cuda.nvtx.range_push cuda.nvtx.range_start cuda.nvtx.mark",
    "(device=None, /)": "accelerator.current_stream accelerator.synchronize accelerator.get_device_capability",
    "(to, func, args=None, kwargs=None, timeout=-1.0)": """
        distributed.rpc.remote distributed.rpc.rpc_async distributed.rpc.rpc_sync""",
    "(data_ptr, device=None)": "cuda.get_stream_from_external xpu.get_stream_from_external",
    "(fraction, device=None)": "cuda.memory.set_per_process_memory_fraction xpu.set_per_process_memory_fraction",
    "(device=None, priority=0, **kwargs)": "cuda.Stream xpu.Stream",
    "(enable_timing=False)": "xpu.Event mps.Event",
    "(source)": "mps.compile_shader mps.load_metallib",
    "(mode='interval', wait_until_completed=False)": "mps.profiler.start mps.profiler.profile",
    "(input, A, *, out=None)": "lstsq solve",
    "(self, eigenvectors=False)": "Tensor.eig Tensor.symeig",
    "(self, other)": "Tensor.lstsq Tensor.solve",
    "(name, sources, *args, **kwargs)": "utils.cpp_extension.CppExtension utils.cpp_extension.CUDAExtension",

    "(*, input_layouts=None, output_layouts=None, use_local_output=True)": """
        distributed.tensor.parallel.ColwiseParallel distributed.tensor.parallel.RowwiseParallel""",
    "(device, peer_device)": "cuda.can_device_access_peer",
    "(res)": "cuda.check_error",
    "(debug_mode)": "cuda.set_sync_debug_mode",
    "(callables, sample_args, num_warmup_iters=3, allow_unused_input=False, pool=None)":
        "cuda.make_graphed_callables",
    "(size, device=None, stream=None)": "cuda.caching_allocator_alloc",
    "(mem_ptr)": "cuda.caching_allocator_delete",
    "(allocator)": "cuda.change_current_allocator",
    "(pool, device=None)": "cuda.use_mem_pool",
    "(device=None, abbreviated=False)": "cuda.memory.memory_summary",
    "(mempool_id=None, include_traces=True)": "cuda.memory.memory_snapshot",
    "(device='cuda')": "cuda.random.get_rng_state",
    "(enable_timing=False, blocking=False, interprocess=False, external=False)": "cuda.Event",
    "(keep_graph=False)": "cuda.CUDAGraph",
    (
        "(cuda_graph, pool=None, stream=None, capture_error_mode='global', enable_annotations=False, "
        "check_input_liveness=False)"
    ): "cuda.graph",
    "(allocator=None, use_on_oom=False, no_split=False)": "cuda.MemPool",
    "(path_to_so_file, alloc_fn_name, free_fn_name)": "cuda.CUDAPluggableAllocator",
    "(stream_ptr, device=None, **kwargs)": "cuda.ExternalStream",
    "(range_id)": "cuda.nvtx.range_end",
    "(device='xpu')": "xpu.get_rng_state",
    "(device, peer)": "xpu.can_device_access_peer",
    "(device='mtia')": "mtia.get_rng_state",
    "(enabled='all', stacks='python', max_entries=0)": "mtia.record_memory_history",
    "(observer)": "mtia.attach_out_of_memory_observer",
    "(device='mps')": "mps.get_rng_state",
    "(new_state, device='mps')": "mps.set_rng_state",
    "(fraction)": "mps.set_per_process_memory_fraction",
    "(major, minor)": "backends.mps.is_macos_or_newer",
    "(device, /)": "accelerator.set_device_index",
    "(keep_graph=False, *, pool=None, capture_error_mode='default')": "accelerator.Graph",
    "(self, eigenvectors=False, *, e=None, v=None)": "eig",
    "(input, eigenvectors=False, upper=True, *, out=None)": "symeig",
    "(input, tol=None, symmetric=False, *, out=None)": "matrix_rank",
    "(self, reward)": "Tensor.reinforce",
    "(gradcheck)": "sparse.as_sparse_gradcheck",
    "(original_tensor, transposed=False, alg_id=0)": "sparse.to_sparse_semi_structured",
    (
        "(shape, packed, meta, packed_t, meta_t, compressed_swizzled_bitmask, fuse_transpose_cusparselt=False, "
        "alg_id_cusparselt=0, requires_grad=False)"
    ): "sparse.SparseSemiStructuredTensor",
    "(tensor, pattern, **axes_lengths)": "func.rearrange",
    "(op, dispatch_key)": "library.get_kernel",
    "(triton_kernel, /)": "library.wrap_triton",
    "(op, torch_dispatch_class, func=None, /, *, lib=None)": "library.register_torch_dispatch",
    "(op, device_type, cast_inputs, /, *, lib=None)": "library.register_autocast",
    "(self, torch_dispatch_class, fn=None, /)": "library.CustomOpDef.register_torch_dispatch",
    "(self, device_type, cast_inputs)": "library.CustomOpDef.register_autocast",
    "(self, fn, dispatch_key='', *, with_keyset=False)": "library.Library.fallback",
    "(self, path, device=None)": "profiler.profile.export_memory_timeline",
    "(symbolic_name, symbolic_fn, opset_version)": "onnx.register_custom_op_symbolic",
    "(treespec, protocol=None)": "utils._pytree.treespec_dumps",
    "(serialized)": "utils._pytree.treespec_loads",
    "(targets, get_raw=False)": "utils.flop_counter.register_flop_formula",
    "(script_module, optimization_blocklist=None, preserved_methods=None, backend='CPU')":
        "utils.mobile_optimizer.optimize_for_mobile",
    (
        "(name, sources, extra_cflags=None, extra_cuda_cflags=None, extra_sycl_cflags=None, extra_ldflags=None, "
        "extra_include_paths=None, build_directory=None, verbose=False, with_cuda=None, with_sycl=None, "
        "is_python_module=True, is_standalone=False, keep_intermediates=True)"
    ): "utils.cpp_extension.load",
    (
        "(name, cpp_sources, cuda_sources=None, sycl_sources=None, functions=None, extra_cflags=None, "
        "extra_cuda_cflags=None, extra_sycl_cflags=None, extra_ldflags=None, extra_include_paths=None, "
        "build_directory=None, verbose=False, with_cuda=None, with_sycl=None, is_python_module=True, "
        "with_pytorch_error_handling=True, keep_intermediates=True, use_pch=False, no_implicit_headers=False)"
    ): "utils.cpp_extension.load_inline",
    "(device_type='cpu', torch_include_dirs=True)": "utils.cpp_extension.include_paths",
    "(device_type='cpu', torch_include_dirs=True, cross_target_platform=None)": "utils.cpp_extension.library_paths",
    "(**options)": "utils.cpp_extension.BuildExtension.with_options",
    "(rank=0, skip=0, timeout_s=3600)": "distributed.breakpoint",
    "(optimizer_class, params_rref, *args, **kwargs)": "distributed.optim.DistributedOptimizer",
    (
        "(*, num_worker_threads=16, rpc_timeout=60.0, init_method='env://', device_maps=None, devices=None, "
        "_transports=None, _channels=None)"
    ): "distributed.rpc.TensorPipeRpcBackendOptions",
    "(worker_name=None)": "distributed.rpc.get_worker_info",
    "(name, backend=None, rank=-1, world_size=None, rpc_backend_options=None)": "distributed.rpc.init_rpc",
    "(graceful=True, timeout=0)": "distributed.rpc.shutdown",
    "(module, device_mesh=None, partition_fn=None, input_fn=None, output_fn=None)":
        "distributed.tensor.distribute_module",
    (
        "(*, input_layouts=None, desired_input_layouts=None, input_kwarg_layouts=None, "
        "desired_input_kwarg_layouts=None, use_local_output=False)"
    ): "distributed.tensor.parallel.PrepareModuleInput",
    "(*, output_layouts, desired_output_layouts, use_local_output=True)":
        "distributed.tensor.parallel.PrepareModuleOutput",
    "(*, sequence_dim=1, use_local_output=False)": "distributed.tensor.parallel.SequenceParallel",
    "(module, device_mesh=None, parallelize_plan=None, *, src_data_rank=0)":
        "distributed.tensor.parallel.parallelize_module",
}  # fmt: skip

PARAMETERS = {name: parameters for parameters, names in _NAMES.items() for name in names.split()}
