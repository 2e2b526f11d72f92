"""Libraries of other devices, under the names that `torch.backends` has for them: none is available."""

from types import SimpleNamespace

cusparselt = SimpleNamespace(
    is_available=lambda: False, version=lambda: None, get_max_alg_id=lambda: None, __doc__="Sparse products on CUDA."
)
kleidiai = SimpleNamespace(is_available=lambda: False, __doc__="Arm's kernels.")
miopen = SimpleNamespace(immediate=False, __doc__="AMD's kernels; the switch holds what it is set to.")
