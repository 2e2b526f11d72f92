"""Settings for torch's code generator. They may be set and read back.

Nothing here depends on them but for `post_grad_custom_pre_pass` and `post_grad_custom_post_pass`: functions that change the
graphs of what `torch.compile` is given afterwards.
"""

import sys
from types import SimpleNamespace

from ...utils._config_module import OpenConfigModule, install_config_module

benchmark_kernel = coordinate_descent_check_all_directions = coordinate_descent_tuning = debug = False
fallback_random = force_fuse_int_mm_with_mul = freezing = max_autotune = max_autotune_gemm = False
max_autotune_pointwise = False
post_grad_custom_pre_pass = post_grad_custom_post_pass = None
epilogue_fusion = fx_graph_cache = layout_optimization = pattern_matcher = shape_padding = True
max_autotune_gemm_backends = "ATEN,TRITON,CPP"
triton, cpp, cuda, aot_inductor, trace = (SimpleNamespace() for _ in range(5))

install_config_module(sys.modules[__name__], OpenConfigModule)
