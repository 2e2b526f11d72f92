"""Event files, against those that torch writes for the same calls. Skipped where the package tensorboard is missing."""

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import rushlight as torch

GOLDEN = Path(__file__).parent.parent / "golden" / "tensorboard.json"


def test_without_the_package():
    program = (
        "import sys; sys.modules['tensorboard'] = None\n"
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'tensorboard' else find(name, *a)\n"
        "try: import rushlight.utils.tensorboard\n"
        "except ModuleNotFoundError as error: print(error.name, error)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.startswith("tensorboard ") and "pip install tensorboard" in said


def test_names_are_known_without_the_package(tmp_path):
    """`status`, and `rushlight check` of a program with such names."""
    (tmp_path / "train.py").write_text("from torch.utils.tensorboard import SummaryWriter, NoSuchWriter\n")
    program = (
        "import importlib.util as u, sys; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'tensorboard' else find(name, *a)\n"
        "import rushlight.alias; rushlight.alias.install()\n"
        "from rushlight.alias.lookup import status\n"
        "for name in ('', '.SummaryWriter', '.writer.SummaryWriter', '.summary.hparams', '.NoSuchWriter'):\n"
        "    print(status('torch.utils.tensorboard' + name))\n"
        "from rushlight.cli.check import check_programs\n"
        "check_programs(['train.py'], False)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:5] == ["here", "here", "here", "here", "unknown"]
    assert "NoSuchWriter" in done.stdout and "tensorboard.SummaryWriter" not in done.stdout


@pytest.fixture
def writer(tmp_path):
    pytest.importorskip("tensorboard")
    from rushlight.utils.tensorboard import SummaryWriter

    made = SummaryWriter(tmp_path / "log", purge_step=3)
    yield made
    made.close()


def test_events(writer, tmp_path):
    from tensorboard_calls import events_below, make_calls

    make_calls(torch, np, writer)
    expected = json.loads(GOLDEN.read_text())
    assert events_below(tmp_path / "log") == expected


def pictures(folder):
    from io import BytesIO

    from PIL import Image
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

    (path,) = folder.glob("*tfevents*")
    values = [v for event in LegacyEventFileLoader(str(path)).Load() for v in event.summary.value]
    return {v.tag: np.array(Image.open(BytesIO(v.image.encoded_image_string))) for v in values}


def test_pictures(writer, tmp_path):
    colours = torch.arange(60.0).reshape(3, 4, 5) / 60
    writer.add_image("float", colours)
    writer.add_image("bytes", (colours * 200).to(torch.uint8).permute(1, 2, 0), dataformats="HWC")
    writer.add_image("grey", colours[0], dataformats="HW")
    writer.add_images("grid", torch.stack([colours] * 9))
    writer.add_image_with_boxes(
        "box", torch.zeros(3, 40, 40), torch.tensor([[3, 3, 30, 30]]), labels=["cat"], rescale=2
    )
    writer.close()
    seen = pictures(tmp_path / "log")
    pixels = (colours.numpy() * np.float32(255)).astype(np.uint8).transpose(1, 2, 0)
    assert np.array_equal(seen["float"], pixels)
    assert np.array_equal(seen["bytes"], (colours * 200).to(torch.uint8).numpy().transpose(1, 2, 0))
    assert np.array_equal(seen["grey"], np.repeat(pixels[:, :, :1], 3, 2))
    assert seen["grid"].shape == (8, 40, 3) and np.array_equal(seen["grid"][4:, :5], pixels)
    assert seen["box"].shape == (80, 80, 3) and seen["box"][:, :, 0].max() == 255


def test_figures(writer, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(1, 2), dpi=20)
    writer.add_figure("one", figure, close=False)
    assert pyplot.fignum_exists(figure.number)
    writer.add_figure("two", [figure, figure])
    assert not pyplot.fignum_exists(figure.number)
    writer.close()
    seen = pictures(tmp_path / "log")
    assert seen["one"].shape == (40, 20, 3) and seen["two"].shape == (40, 40, 3)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 4)
        self.body = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 2), torch.nn.ReLU())
        self.drop = torch.nn.Dropout()
        self.shift = torch.nn.Buffer(torch.ones(2))
        self.calls = 0

    def forward(self, x, more):
        self.calls += 1
        y = self.drop(self.fc(x)).relu()
        return self.body(y.view(2, 1, 2, 2)).flatten(1) + self.shift, [y * 2 + more["a"]]


def nodes_of(folder):
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    (path,) = folder.glob("*tfevents*")
    (text,) = [event.graph_def for event in LegacyEventFileLoader(str(path)).Load() if event.graph_def]
    return list(GraphDef.FromString(text).node)


def test_graph(writer, tmp_path):
    hooks = len(Net().fc._forward_hooks)
    net = Net()
    writer.add_graph(net, (torch.ones(2, 3), {"a": torch.ones(4)}))
    writer.close()
    nodes = nodes_of(tmp_path / "log")
    assert [node.name for node in nodes if node.op in ("IO Node", "prim::GetAttr")] == [
        "input/x", "input/more", "Net/Linear[fc]/weight", "Net/Linear[fc]/bias", "Net/Sequential[body]/Conv2d[0]/weight",
        "Net/Sequential[body]/Conv2d[0]/bias", "Net/shift", "output/output.1", "output/output.2",
    ]  # fmt: skip
    # scopes, operators and edges as in torch's graph, where dropout is a node more and flatten is not written as a view
    assert [(node.name, node.op, list(node.input)) for node in nodes if node.op.startswith("aten::")] == [
        ("Net/Linear[fc]/linear", "aten::linear", ["input/x", "Net/Linear[fc]/weight", "Net/Linear[fc]/bias"]),
        ("Net/relu", "aten::relu", ["Net/Linear[fc]/linear"]),
        ("Net/view", "aten::view", ["Net/relu"]),
        (
            "Net/Sequential[body]/Conv2d[0]/convolution",
            "aten::convolution",
            ["Net/view", "Net/Sequential[body]/Conv2d[0]/weight", "Net/Sequential[body]/Conv2d[0]/bias"],
        ),
        ("Net/Sequential[body]/ReLU[1]/relu", "aten::relu", ["Net/Sequential[body]/Conv2d[0]/convolution"]),
        ("Net/view_1", "aten::view", ["Net/Sequential[body]/ReLU[1]/relu"]),
        ("Net/add", "aten::add", ["Net/view_1", "Net/shift"]),
        ("Net/mul", "aten::mul", ["Net/relu"]),
        ("Net/add_1", "aten::add", ["Net/mul", "input/more"]),
    ]
    assert [list(node.input) for node in nodes if node.name.startswith("output")] == [["Net/add"], ["Net/add_1"]]
    (convolution,) = [node for node in nodes if node.op == "aten::convolution"]
    (shape,) = convolution.attr["_output_shapes"].list.shape
    assert [dim.size for dim in shape.dim] == [2, 2, 1, 1]
    assert net.calls == 1 and len(net.fc._forward_hooks) == hooks


def test_a_module_that_is_called_twice(writer, tmp_path):
    shared = torch.nn.ReLU()
    writer.add_graph(
        torch.nn.Sequential(torch.nn.Linear(2, 3), shared, torch.nn.Linear(3, 3), shared), torch.ones(4, 2)
    )
    writer.close()
    found = [(n.name, list(n.input)[:1]) for n in nodes_of(tmp_path / "log") if n.op.startswith("aten::")]
    names = [
        f"Sequential/{part}" for part in ("Linear[0]/linear", "ReLU[1]/relu", "Linear[2]/linear", "ReLU[1]/relu_1")
    ]
    assert found == [(b, [a]) for a, b in pairwise(["input/input", *names])]


def test_a_graph_is_of_evaluation(writer):
    layers = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3), torch.nn.Dropout(0.5))
    layers[1].eval()
    torch.manual_seed(0)
    writer.add_graph(layers, torch.ones(4, 2))
    after = torch.rand(1)
    torch.manual_seed(0)
    assert torch.equal(after, torch.rand(1)) and layers[1].num_batches_tracked == 0
    assert layers.training and layers[1].training  # torch sets the parts' mode to the whole's


def test_video(writer, tmp_path):
    from io import BytesIO

    from PIL import Image
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

    ramp = torch.arange(3.0).reshape(1, 3, 1, 1, 1) / 4
    writer.add_video("v", (ramp + torch.zeros(2, 3, 3, 4, 5)), fps=10)
    writer.close()
    (path,) = (tmp_path / "log").glob("*tfevents*")
    (shown,) = [v.image for event in LegacyEventFileLoader(str(path)).Load() for v in event.summary.value]
    assert (shown.height, shown.width, shown.colorspace) == (4, 10, 3)
    with Image.open(BytesIO(shown.encoded_image_string)) as clip:
        assert (clip.format, clip.n_frames, clip.info["duration"], clip.info["loop"]) == ("GIF", 3, 100, 0)
        for frame in range(3):
            clip.seek(frame)
            assert np.array_equal(np.array(clip.convert("RGB")), np.full((4, 10, 3), int(frame / 4 * 255)))


def test_onnx_graph(writer, tmp_path):
    pytest.importorskip("onnx")
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    torch.onnx.export(
        torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU()), torch.ones(2, 3), tmp_path / "m.onnx"
    )
    writer.add_onnx_graph(str(tmp_path / "m.onnx"))
    writer.close()
    (path,) = (tmp_path / "log").glob("*tfevents*")
    (text,) = [event.graph_def for event in LegacyEventFileLoader(str(path)).Load() if event.graph_def]
    nodes = [(node.name, node.op, list(node.input)) for node in GraphDef.FromString(text).node]
    assert nodes == [  # torch's for the same file
        ("input", "Variable", []),
        ("relu", "Variable", []),
        ("gemm", "Gemm", ["input", "0.weight", "0.bias"]),
        ("relu", "Relu", ["gemm"]),
    ]
    (attribute,) = [dict(node.attr) for node in GraphDef.FromString(text).node if node.op == "Gemm"]
    assert attribute["parameters"].s == b"transB = 1 = 2"


def test_functions_of_summary_by_keyword():
    """torch's names of the parameters, and what `torch.utils.tensorboard` exports."""
    pytest.importorskip("tensorboard")
    from rushlight.utils import tensorboard
    from rushlight.utils.tensorboard import summary

    assert set(tensorboard.__all__) == {"FileWriter", "RecordWriter", "SummaryWriter"}
    assert tensorboard.RecordWriter.__name__ == "RecordWriter"
    assert summary.scalar(name="a", tensor=2.0, collections=None).value[0].simple_value == 2.0
    assert summary.histogram(name="h", values=np.arange(4), bins=2).value[0].tag == "h"
    started = summary.hparams(hparam_dict={"a": 1}, metric_dict={"m": 1.0}, hparam_domain_discrete={"a": [1, 2]})
    assert started[1].value[0].tag == "_hparams_/session_start_info"
    shape = summary.mesh(
        "m", torch.ones(1, 2, 3), None, None, config_dict=None, display_name="shown", description="what"
    )
    assert shape.value[0].metadata.display_name == "shown"


def test_mistakes(writer):
    for call, error, words in (
        (lambda: writer.add_scalar("x", torch.ones(2)), AssertionError, "contain one element"),
        (lambda: writer.add_scalar("x", [1]), NotImplementedError, "Got <class 'list'>"),
        (lambda: writer.add_image("x", torch.ones(2)), AssertionError, "input format are different"),
        (lambda: writer.add_histogram("x", torch.ones(0)), ValueError, "no element"),
        (lambda: writer.add_hparams([1], {}), TypeError, "should be dictionary"),
        (lambda: writer.add_graph(torch.nn.ReLU()), ValueError, "input_to_model"),
        (lambda: writer.add_custom_scalars_marginchart(["a"]), AssertionError, "Expected 3 tags"),
    ):
        with pytest.raises(error, match=words):
            call()


def test_the_folder(writer, tmp_path, monkeypatch):
    from rushlight.utils.tensorboard import SummaryWriter

    monkeypatch.chdir(tmp_path)
    with SummaryWriter(comment="_c") as unnamed:
        assert unnamed.get_logdir().startswith("runs") and unnamed.get_logdir().endswith("_c")
    writer.close()
    writer.add_scalar("after", 1)  # a new file
    writer.close()
    assert len(list((tmp_path / "log").iterdir())) == 2


def test_summary_has_hparams():
    pytest.importorskip("tensorboard")
    from rushlight.utils.tensorboard.summary import hparams

    assert [type(part).__name__ for part in hparams({"a": 1}, {"m": 1.0})] == ["Summary"] * 3
