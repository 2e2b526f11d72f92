"""`torch.special`: the operators that are registered under "special.<name>"."""

from ..ops import OPS

globals().update({name.removeprefix("special."): f for name, f in OPS.items() if name.startswith("special.")})
logsumexp = OPS["logsumexp"]
__all__ = ["logsumexp", *[name.removeprefix("special.") for name in OPS if name.startswith("special.")]]
