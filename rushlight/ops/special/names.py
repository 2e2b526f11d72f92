"""Names of `torch.special` for functions that are registered under other names."""

from ...core.dispatch.op import OPS, composite
from ..pointwise import elementary  # noqa: F401  (registers exp2, expm1, log1p, round)
from . import error_functions, gamma_functions, logistic, modified_bessel  # noqa: F401  (register the others)

_REGISTERED_AS = {
    "gammaln": "lgamma", "psi": "digamma", "multigammaln": "mvlgamma", "expit": "sigmoid",
    **{name: name for name in ("erf", "erfc", "erfinv", "digamma", "polygamma", "i0", "xlogy", "sinc", "logit", "exp2",
                               "expm1", "log1p", "round")},
    **{name: "special_" + name for name in ("erfcx", "ndtr", "log_ndtr", "ndtri", "zeta", "i0e", "i1", "i1e", "xlog1py",
                                            "entr")},
}  # fmt: skip
for _name, _registered in _REGISTERED_AS.items():
    composite(name="special." + _name)(OPS[_registered])
