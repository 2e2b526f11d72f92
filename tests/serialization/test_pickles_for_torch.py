"""Plain pickles of a program that imports Rushlight as torch name what torch has, so that torch reads them."""

import json
import subprocess
import sys

# what a pickle of tensors, parameters, modules and state dicts may name, for torch to read it
PROGRAM = """
import copy, io, json, pickle
import torch
from torch import nn

class Noting(pickle.Unpickler):
    def find_class(self, module, name):
        names.add(f"{module}.{name}")
        return super().find_class(module, name)

names = set()
base = torch.arange(6.0).reshape(2, 3)
mixed = [
    base, base[1], base.t(), nn.Parameter(base), torch.tensor(3), base > 1, base.bfloat16(), torch.ones(2, requires_grad=True),
    torch.empty(0), base.to(torch.complex64).conj(), base.to(torch.uint16), torch.ones(2, 3, device="meta"),
]
marked = torch.ones(2)
marked.note = "kept"
whole = [mixed, nn.Linear(2, 2).state_dict(), nn.Linear(2, 3), torch.float32, torch.bool, base.shape, marked]
for protocol in (2, 4, 5):
    back = Noting(io.BytesIO(pickle.dumps(whole, protocol=protocol))).load()
    tensors, state, layer, *rest, again = back
    for a, b in zip(mixed, tensors):
        assert type(a) is type(b) and a.dtype is b.dtype and a.shape == b.shape and a.requires_grad == b.requires_grad
        assert a.is_meta or torch.equal(a.detach(), b.detach())
    tensors[1].add_(10)
    assert tensors[0][1].tolist() == tensors[2][:, 1].tolist() == [13, 14, 15]  # they still share their memory
    assert rest == [torch.float32, torch.bool, base.shape] and again.note == "kept" and layer.in_features == 2
copied = copy.copy(base)
assert copied.data_ptr() == base.data_ptr()
try:
    torch.load(io.BytesIO(pickle.dumps(base)))
    refused = False
except (pickle.UnpicklingError, RuntimeError):
    refused = True
print(json.dumps([sorted(names), refused]))
"""


def test_names_and_values(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    run = subprocess.run([sys.executable, "-m", "rushlight", "run", str(file)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    names, refused = json.loads(run.stdout)
    assert refused
    assert set(names) == {
        "__builtin__.set", "_codecs.encode", "collections.OrderedDict", "torch.Size", "torch._tensor._rebuild_from_type_v2", "torch.Tensor",
        "torch._utils._rebuild_meta_tensor_no_storage", "torch._utils._rebuild_parameter",
        "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor_v3", "torch.bool", "torch.float32",
        "torch.nn.modules.linear.Linear", "torch.storage._load_from_bytes", "torch.uint16",
    }  # fmt: skip
