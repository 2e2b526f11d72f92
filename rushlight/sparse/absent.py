"""The sparse layouts that do not exist here: their makers raise at the call."""

from __future__ import annotations

from typing import Any


def _absent(name: str) -> Any:
    def make(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"torch.{name} is not implemented: there are the sparse layouts COO and CSR")

    make.__name__ = make.__qualname__ = name
    make.__doc__ = "Raises NotImplementedError: there are the sparse layouts COO and CSR."
    return make


sparse_csc_tensor = _absent("sparse_csc_tensor")
sparse_bsr_tensor = _absent("sparse_bsr_tensor")
sparse_bsc_tensor = _absent("sparse_bsc_tensor")
sparse_compressed_tensor = _absent("sparse_compressed_tensor")
hsmm = _absent("hsmm")
resize_as_sparse_ = _absent("resize_as_sparse_")
