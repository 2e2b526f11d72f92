"""Settings for the part of torch's compiler that makes backward graphs. Nothing here depends on them."""

import sys

from ...utils._config_module import OpenConfigModule, install_config_module

functionalize_rng_ops = strict_autograd_cache = debug_partitioner = False
donated_buffer = enable_autograd_cache = True
activation_memory_budget = 1.0

install_config_module(sys.modules[__name__], OpenConfigModule)
