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


def test_graph(writer, tmp_path):
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    shared = torch.nn.ReLU()
    writer.add_graph(
        torch.nn.Sequential(torch.nn.Linear(2, 3), shared, torch.nn.Linear(3, 3), shared), torch.ones(4, 2)
    )
    writer.close()
    (path,) = (tmp_path / "log").glob("*tfevents*")
    (text,) = [event.graph_def for event in LegacyEventFileLoader(str(path)).Load() if event.graph_def]
    edges = [(node.name, list(node.input)) for node in GraphDef.FromString(text).node]
    names = ["input/4x2"] + [f"Sequential/{part}" for part in ("0/Linear", "1/ReLU", "2/Linear", "1/ReLU_1")]
    assert edges == [(names[0], [])] + [(b, [a]) for a, b in pairwise(names)] + [("output/result", [names[-1]])]


def test_a_graph_is_of_evaluation(writer):
    layers = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3), torch.nn.Dropout(0.5))
    layers[1].eval()
    torch.manual_seed(0)
    writer.add_graph(layers, torch.ones(4, 2))
    after = torch.rand(1)
    torch.manual_seed(0)
    assert torch.equal(after, torch.rand(1)) and layers[1].num_batches_tracked == 0
    assert layers.training and layers[1].training  # torch sets the parts' mode to the whole's


def test_mistakes(writer):
    for call, error, words in (
        (lambda: writer.add_scalar("x", torch.ones(2)), AssertionError, "contain one element"),
        (lambda: writer.add_scalar("x", [1]), NotImplementedError, "Got <class 'list'>"),
        (lambda: writer.add_image("x", torch.ones(2)), AssertionError, "input format are different"),
        (lambda: writer.add_histogram("x", torch.ones(0)), ValueError, "no element"),
        (lambda: writer.add_hparams([1], {}), TypeError, "should be dictionary"),
        (lambda: writer.add_graph(torch.nn.ReLU()), ValueError, "input_to_model"),
        (lambda: writer.add_custom_scalars_marginchart(["a"]), AssertionError, "Expected 3 tags"),
        (lambda: writer.add_onnx_graph("x"), NotImplementedError, "add_onnx_graph"),
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
