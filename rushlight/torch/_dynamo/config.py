"""Settings of compiling. Unknown names raise AttributeError, those that would have to do more NotImplementedError.

cache_size_limit, recompile_limit: how many programs a function may have before it runs eagerly (8).
suppress_errors: a function that cannot be captured runs eagerly, after a warning, with `fullgraph=True` too (False).
verbose: errors have the user's line and torch's longer text in either case. The others say how sizes and scalars are
captured, which goes one way here (docs/how-a-step-compiles.md), or how torch's own compiler treats modules; they are
kept as they are set.
"""

import sys
from typing import Any

from ...compile.jit import step
from ...utils._config_module import ConfigModule, install_config_module

accumulated_cache_size_limit = accumulated_recompile_limit = 256
allow_rnn = capture_dynamic_output_shape_ops = capture_scalar_outputs = compiled_autograd = cprofile = False
allow_ignore_mark_dynamic = allow_unspec_int_on_nn_module = dynamo_profiler = specialize_float = specialize_int = False
force_unspec_int_unbacked_size_like_on_torchrec_kjt = optimize_ddp_lazy_compile = verbose = False
skip_fwd_side_effects_in_bwd_under_checkpoint = False
assume_static_by_default = automatic_dynamic_shapes = dynamic_shapes = force_parameter_static_shapes = True
force_nn_module_property_static_shapes = guard_nn_modules = inline_inbuilt_nn_modules = optimize_ddp = True
log_compilation_metrics = run_gc_after_compile = True


def _of_steps(name: str, kind: type) -> Any:
    """The setting `name` of compiled functions."""
    return property(lambda self: getattr(step.settings, name), lambda self, v: setattr(step.settings, name, kind(v)))


class _Settings(ConfigModule):
    absent = frozenset(
        [
            "disable",
            "error_on_recompile",
            "fail_on_cache_limit_hit",
            "fail_on_recompile_limit_hit",
            "minimum_call_count",
            "numpy_default_complex",
            "numpy_default_float",
            "numpy_default_int",
            "trace_numpy",
            "use_numpy_random_stream",
        ]
    )

    cache_size_limit = recompile_limit = _of_steps("limit", int)
    suppress_errors = _of_steps("suppress_errors", bool)


install_config_module(sys.modules[__name__], _Settings)
