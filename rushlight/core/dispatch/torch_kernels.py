"""torch's CPU kernels by operator: what its messages call them, and the types of elements that they lack.

NumPy compares complex numbers, takes the maximum of bools and so on; a program that torch stops with `"lt_cpu" not
implemented for 'ComplexFloat'` must not go on here with numbers that mean nothing. An operator without a row has no such
type, or looks for it in its own kernel.
"""

from __future__ import annotations

import numpy as np

from ..tensor import dtype as dtypes
from ..tensor.dtype import type_word

_C64, _C128 = np.dtype(np.complex64), np.dtype(np.complex128)
_FLOATS = frozenset((np.dtype(np.float32), np.dtype(np.float64)))

# kinds of types lacking (b bool, c complex, i integers, h 16-bit floats): operator=kernel, or operator alone: operator_cpu
_ROWS = {
    "": "floor_divide=div_floor_cpu div.floor=div_floor_cpu div.trunc=div_trunc_cpu erf=erf_vml_cpu histc=aminmax_cpu "
    "amax=max_values_cpu amin=min_values_cpu aminmax=aminmax_cpu linalg_ldl_factor_ex=ldl_factor_kernel_cpu "
    "linalg_ldl_solve=ldl_solve_kernel_cpu linalg_lu_solve=linalg.lu_solve_cpu igammac=igammac_cpu",
    "c": "lt le gt ge max=max_all min=min_all gelu=GeluKernelImpl binary_cross_entropy=binary_cross_entropy cummax cummin digamma=digamma erfc=erfc_vml_cpu erfinv=erfinv_vml_cpu lgamma=lgamma_vml_cpu "
    "i0=i0_vml_cpu special_i0e=i0e_cpu special_i1=i1_cpu special_i1e=i1e_cpu special_entr=entr_cpu special_ndtr=erf_vml_cpu "
    "adaptive_avg_pool2d=adaptive_avg_pool2d adaptive_avg_pool3d=adaptive_avg_pool3d_cpu avg_pool2d=avg_pool2d "
    "adaptive_max_pool2d=adaptive_max_pool2d adaptive_max_pool3d=adaptive_max_pool3d_cpu max_pool2d=max_pool2d "
    "max_pool3d=max_pool3d fractional_max_pool2d=fractional_max_pool2d_out_frame mode=mode_cpu "
    "fractional_max_pool3d=fractional_max_pool3d_out_frame elu=elu_cpu celu=elu_cpu glu hardshrink hardsigmoid hardswish "
    "huber_loss=huber_cpu leaky_relu mish mse_loss=mse_cpu smooth_l1_loss=smooth_l1_cpu softplus softshrink=softshrink_check "
    "polygamma=polygamma max_pool.values=max_pool2d native_batch_norm=batch_norm native_group_norm=GroupNormKernelImpl "
    "native_layer_norm=LayerNormKernelImpl upsample_nearest1d=compute_indices_weights_nearest "
    "upsample_nearest2d=compute_indices_weights_nearest upsample_nearest3d=compute_indices_weights_nearest "
    "upsample_nearest_exact1d=compute_indices_weights_nearest upsample_nearest_exact2d=compute_indices_weights_nearest "
    "upsample_nearest_exact3d=compute_indices_weights_nearest upsample_linear1d=compute_indices_weights_linear "
    "upsample_bilinear2d=compute_indices_weights_linear upsample_trilinear3d=compute_indices_weights_linear "
    "upsample_bicubic2d=compute_indices_weights_cubic",
    "b": "fmod addcmul=addcmul_cpu_out trace=trace pow.tensor=pow convolution=slow_conv2d_cpu",
    "bc": "threshold",
    "h": "cdist=cdist",
    "i": "round.decimals=round_cpu",
    "ci": "log_sigmoid=log_sigmoid_cpu",
    "bci": "nll_loss=nll_loss_out_frame nll_loss2d=nll_loss2d_forward_out_frame max_unpool2d=max_unpool2d max_unpool3d=max_unpool3d prelu_kernel=prelu_cpu rrelu_with_noise=rrelu_with_noise_out_cpu "
    "binary_cross_entropy_with_logits=log_sigmoid_cpu grid_sampler_2d=grid_sampler_2d_cpu_kernel_impl "
    "grid_sampler_3d=grid_sampler3d_cpu",
    "ch": "avg_pool3d=avg_pool3d_out_frame special_erfcx=erfcx_cpu special_log_ndtr=log_ndtr_cpu special_ndtri=ndtri_cpu "
    "special_zeta=zeta_cpu special_spherical_bessel_j0=spherical_bessel_j0_cpu "
    + " ".join(f"special_bessel_{n}=bessel_{n}_cpu" for n in ("j0", "j1", "y0", "y1"))
    + " "
    + " ".join(f"special_{m}bessel_{n}={m}bessel_{n}_cpu" for m, n in (("modified_", "i0"), ("modified_", "i1"),
        ("modified_", "k0"), ("modified_", "k1"), ("scaled_modified_", "k0"), ("scaled_modified_", "k1")))
    + " "
    + " ".join(f"special_{s}chebyshev_polynomial_{n}={s}chebyshev_polynomial_{n}_cpu" for s in ("", "shifted_") for n in "tuvw")
    + " "
    + " ".join(f"special_{n}={n}_cpu" for n in ("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
        "legendre_polynomial_p")),
}  # fmt: skip
_KERNELS: dict[str, tuple[str, str]] = {}
for _kinds, _row in _ROWS.items():
    for _entry in _row.split():
        _name, _, _word = _entry.partition("=")
        _KERNELS[_name] = (_word or _name + "_cpu", _kinds)

# operators whose own checks say it: the error's class, its text, the kinds
_TEXTS: dict[str, tuple[type[Exception], str, str]] = {
    "deg2rad": (RuntimeError, "deg2rad is not supported for complex tensors.", "c"),
    "rad2deg": (RuntimeError, "rad2deg is not supported for complex tensors.", "c"),
    "fmax": (RuntimeError, "fmax not implemented for complex tensors.", "c"),
    "fmin": (RuntimeError, "fmin not implemented for complex tensors.", "c"),
    "nansum": (RuntimeError, "nansum on CPU does not support complex inputs", "c"),
    "signbit": (NotImplementedError, "signbit is not implemented for complex tensors.", "c"),
    "hardtanh": (NotImplementedError, "clamp is not supported for complex types", "c"),
    "argmax": (RuntimeError, "argmax(): does not support complex input", "c"),
    "argmin": (RuntimeError, "argmin(): does not support complex input", "c"),
    "max.dim": (RuntimeError, "max(): does not support complex input", "c"),
    "min.dim": (RuntimeError, "min(): does not support complex input", "c"),
    "topk": (RuntimeError, "{space}topk does not support {kind} dtypes on CPU", "bc"),
}


def kernel_word(name: str) -> str:
    """What torch's messages call the kernel of an operator."""
    return _KERNELS[name][0] if name in _KERNELS else name + "_cpu"


def lacking(name: str) -> str:
    """The kinds of types that torch's kernel of an operator lacks."""
    return _TEXTS[name][2] if name in _TEXTS else _KERNELS.get(name, ("", ""))[1]


def lacks(kinds: str, d: np.dtype) -> bool:
    """Whether a type of elements is of one of `kinds`."""
    if d in _FLOATS:
        return False
    return _kind(d) in kinds


def _kind(d: np.dtype) -> str:
    known = {"b": "b", "c": "c", "i": "i", "u": "i"}.get(d.kind)
    return known or ("h" if d.itemsize == 2 else "f")


def error_of(name: str, d: np.dtype) -> Exception:
    """torch's error where an operator meets a type that its kernel lacks."""
    if name in _TEXTS:
        kind, text, _ = _TEXTS[name]
        word = {"b": "bool", "c": "complex"}.get(d.kind, "")
        return kind(text.format(kind=word, space=" " if word == "complex" else ""))  # torch's space
    return NotImplementedError(f"\"{kernel_word(name)}\" not implemented for '{type_word(dtypes.from_numpy(d))}'")


def condition(kinds: str, d: str) -> str:
    """The condition in generated source: a type lacks, where `d` is the text of it. '' if none may."""
    if not kinds:
        return ""
    if kinds == "c":
        return f"({d} is not F32 and ({d} is C64 or {d} is C128))"
    return f"({d} is not F32 and lacks({kinds!r}, {d}))"


SCOPE = {"C64": _C64, "C128": _C128, "lacks": lacks}
