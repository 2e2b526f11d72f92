"""Write serialization_*.pt, files by torch.save itself, a plain pickle, and serialization_names.json.  Run with torch installed."""

import inspect
import json
import pickle
from collections import Counter, OrderedDict
from pathlib import Path

import numpy as np
import torch
from torch import nn

HERE = Path(__file__).parent
DTYPES = (
    "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 uint16 uint32 uint64 bool complex64 complex128 "
    "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu"
)


def every_dtype():
    return {name: torch.tensor([0, 1, 2]).to(getattr(torch, name)) for name in DTYPES.split()}


def containers():
    base = torch.arange(12.0).reshape(3, 4)
    metadata = OrderedDict(weight=1)
    metadata._metadata = {"": {"version": 1}}
    noted = torch.zeros(2)
    noted.note = "kept"
    return {
        "base": base,
        "transposed": base.t(),
        "row": base[1],
        "column": base[:, 2],
        "expanded": torch.tensor([[7.0], [8.0]]).expand(2, 3),
        "empty": torch.zeros(0, 3),
        "scalar": torch.tensor(2.5, requires_grad=True),
        "parameter": nn.Parameter(torch.tensor([1.0, 2.0])),
        "frozen": nn.Parameter(torch.tensor([3.0]), requires_grad=False),
        "buffer": nn.Buffer(torch.tensor([4.0]), persistent=False),
        "noted": noted,
        "conjugate": torch.tensor([1 + 2j]).conj(),
        "size": torch.Size([2, 3]),
        "dtype": torch.bfloat16,
        "device": torch.device("cpu"),
        "ordered": metadata,
        "counter": Counter("aab"),
        "plain": [None, True, False, 0, -1, 300, 70000, 2**40, -(2**70), 1.5, "text", "\u00e9", b"bytes", b"", 2j],
        "nested": ((1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], {}, (), {1, 2}, bytearray(b"x"), [[{"a": [1]}]]),
    }


def training_state():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(4, 3)).square().sum().backward()
        optimizer.step()
        scheduler.step()
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "epoch": 3,
    }


def whole_module():
    torch.manual_seed(1)
    model = nn.Sequential(
        OrderedDict(first=nn.Linear(3, 4), act=nn.ReLU(), norm=nn.BatchNorm1d(4), last=nn.Linear(4, 2))
    )
    x = torch.randn(5, 3)
    model.eval()
    return {"model": model, "x": x, "y": model(x).detach()}


def pickled():
    """What programs put into plain pickles (joblib, copies between processes, datasets)."""
    base = torch.arange(6.0).reshape(2, 3)
    layer = nn.Linear(2, 1)
    with torch.no_grad():
        layer.weight.fill_(2)
        layer.bias.fill_(1)
    return {
        "transposed": base.t(),
        "brain": base.bfloat16(),
        "parameter": nn.Parameter(torch.ones(2)),
        "layer": layer,
        "size": torch.Size([2, 3]),
        "dtype": torch.int16,
        "device": torch.device("cpu"),
    }


def class_paths():
    """The module in which torch defines each public class of these packages."""
    paths = {}
    for package in (torch.nn, torch.optim, torch.optim.lr_scheduler, torch.utils.data):
        for name, value in vars(package).items():
            if inspect.isclass(value) and value.__module__.startswith("torch.") and not name.startswith("_"):
                paths[f"{package.__name__}.{name}"] = f"{value.__module__}.{value.__qualname__}"
    return paths


def main():
    torch.save(every_dtype(), HERE / "serialization_dtypes.pt")
    torch.save(containers(), HERE / "serialization_containers.pt")
    torch.save(training_state(), HERE / "serialization_training.pt")
    torch.save(whole_module(), HERE / "serialization_module.pt")
    torch.save({"x": torch.arange(3), "text": "t"}, HERE / "serialization_protocol4.pt", pickle_protocol=4)
    old = {name: tensor for name, tensor in every_dtype().items() if name not in ("uint16", "uint32", "uint64")}
    base = torch.arange(6.0)
    old |= {"base": base, "view": base[2:4], "parameter": nn.Parameter(torch.ones(2))}
    torch.save(old, HERE / "serialization_legacy.pt", _use_new_zipfile_serialization=False)
    torch.save({"float": np.float64(1.5), "int": np.int32(7), "array": np.arange(3)}, HERE / "serialization_numpy.pt")
    (HERE / "serialization_pickled.pkl").write_bytes(pickle.dumps(pickled()))
    (HERE / "serialization_names.json").write_text(json.dumps(class_paths(), indent=0) + "\n")


if __name__ == "__main__":
    main()
