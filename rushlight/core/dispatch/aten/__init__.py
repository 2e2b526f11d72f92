"""`torch.ops.aten`: torch's inner operators by name, their overloads and schemas, and calls of ours as calls of theirs.

operators.py has the objects that programs hold, compare and call; schemas.py tells which overload a call takes, from
torch's own schemas (schemas.txt); calls.py writes a call of one of our operators as torch would make it;
torch_dispatch.py asks `__torch_dispatch__` of classes and of modes.
"""

from .operators import Operators, OpOverload, OpOverloadPacket, operator

__all__ = ["OpOverload", "OpOverloadPacket", "Operators", "operator"]
