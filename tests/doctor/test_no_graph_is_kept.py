"""The doctor holds no tensor of the program's: graphs end when the program drops them."""

import gc
import weakref

import rushlight as torch
from rushlight import nn
from rushlight.doctor import watch


def test_no_graph_is_kept():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    kept = []
    gc.disable()  # a graph that only a collection ends would be memory all the same
    try:
        with watch() as report:
            for _ in range(12):
                x = torch.randn(6, 4)
                out = model(x)
                loss = out.pow(2).mean()
                refs = [weakref.ref(v) for v in (x, out, out._edge, loss, loss._edge)]
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                del x, out, loss
                kept += [r for r in refs if r() is not None]
    finally:
        gc.enable()
    assert kept == []
    assert report.findings == []
