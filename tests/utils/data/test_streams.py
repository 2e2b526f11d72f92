"""The same seed gives torch's batches: order, worker seeds, and what the workers' generators draw."""

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import rushlight.utils.data
from rushlight import ops
from rushlight.core.random import Generator, manual_seed

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning")

GOLDEN = Path(__file__).parents[2] / "golden"
DATA = json.loads((GOLDEN / "dataloader.json").read_text())

_spec = importlib.util.spec_from_file_location("make_dataloader", GOLDEN / "make_dataloader.py")
make = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make)

framework = SimpleNamespace(
    utils=SimpleNamespace(data=rushlight.utils.data),
    manual_seed=manual_seed,
    Generator=Generator,
    rand=ops.rand,
    randperm=ops.randperm,
)


def name(row):
    case = row["case"]
    return ",".join(
        f"{key}={value}" for key, value in {**case, **case.get("arguments", {})}.items() if key != "arguments"
    )


@pytest.mark.parametrize("row", DATA["cases"], ids=name)
def test_batches(row):
    assert make.outcome(framework, row["case"]) == row["outcome"]


@pytest.mark.parametrize("row", DATA["splits"], ids=name)
@pytest.mark.filterwarnings("ignore:Length of split:UserWarning")
def test_random_split(row):
    assert make.split_outcome(framework, row["case"]) == row["outcome"]


@pytest.mark.parametrize("row", DATA["distributed"], ids=name)
def test_distributed_sampler(row):
    assert make.distributed_outcome(framework, row["case"]) == row["outcome"]
