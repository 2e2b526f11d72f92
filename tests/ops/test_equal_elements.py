"""Where equal elements end up in sort, topk and kthvalue: torch 2.13's places on a CPU."""

import numpy as np
import pytest

import rushlight as torch
from rushlight.compile.lower.eager import selection as generated
from rushlight.ops.reduce import selection

TORCHS = {
    "sort 5": [0, 1, 2, 3, 4],
    "falling 5": [2, 3, 4, 0, 1],
    "top 5 1": [2],
    "least 5 1": [1],
    "unsorted 5 1": [2],
    "top 5 4": [2, 4, 3, 0],
    "least 5 4": [1, 0, 4, 3],
    "unsorted 5 4": [2, 4, 3, 0],
    "kth 5": 0,
    "sort 17": [1, 16, 13, 6, 3, 2, 0, 5, 7, 8, 11, 12, 14, 4, 9, 10, 15],
    "falling 17": [15, 4, 9, 10, 14, 5, 7, 8, 11, 12, 16, 0, 13, 6, 3, 2, 1],
    "top 17 1": [10],
    "least 17 1": [13],
    "unsorted 17 1": [10],
    "top 17 4": [10, 4, 9, 15],
    "least 17 4": [13, 6, 1, 16],
    "unsorted 17 4": [10, 4, 9, 15],
    "kth 17": 12,
    "sort 40": [
        1,
        18,
        19,
        23,
        24,
        14,
        25,
        11,
        8,
        5,
        0,
        32,
        30,
        33,
        29,
        35,
        36,
        38,
        39,
        2,
        17,
        12,
        37,
        6,
        34,
        7,
        9,
        31,
        10,
        27,
        13,
        22,
        21,
        20,
        28,
        26,
        15,
        16,
        4,
        3,
    ],
    "falling 40": [
        26,
        3,
        4,
        28,
        16,
        15,
        13,
        27,
        22,
        21,
        20,
        31,
        12,
        34,
        10,
        9,
        7,
        6,
        37,
        39,
        33,
        32,
        30,
        35,
        29,
        36,
        38,
        17,
        2,
        25,
        24,
        23,
        19,
        18,
        14,
        11,
        8,
        5,
        1,
        0,
    ],
    "top 40 1": [16],
    "least 40 1": [25],
    "unsorted 40 1": [16],
    "top 40 4": [16, 28, 26, 15],
    "least 40 4": [25, 14, 24, 11],
    "unsorted 40 4": [16, 28, 26, 15],
    "kth 40": 2,
    "nan top": [41, 9, 3, 15],
    "nan few": [3],
    "nan falling": [41, 9, 3, 40, 4, 39, 45, 35, 30, 28, 15, 60],
    "nan kth": 20,
    "digits": [0, 19, 20, 24, 28, 37],
    "not by digits": [17388, 17327, 17335, 17348, 17351, 17352],
}


def _x(n, m):
    return torch.tensor([(i * i * 31 + i * 17) % 101 % m for i in range(n)], dtype=torch.float32)


@pytest.mark.parametrize(("n", "m"), [(5, 2), (17, 3), (40, 4)])
def test_places_of_equal_elements(n, m):
    x = _x(n, m)
    assert torch.sort(x).indices.tolist() == TORCHS[f"sort {n}"]
    assert torch.argsort(x.int()).tolist() == TORCHS[f"sort {n}"]
    assert torch.argsort(x, descending=True).tolist() == TORCHS[f"falling {n}"]
    for k in (1, 4):
        assert torch.topk(x, k).indices.tolist() == TORCHS[f"top {n} {k}"]
        assert torch.topk(x.bfloat16(), k, largest=False).indices.tolist() == TORCHS[f"least {n} {k}"]
        assert torch.topk(x.long(), k, sorted=False).indices.tolist() == TORCHS[f"unsorted {n} {k}"]
    assert torch.kthvalue(x, n // 2).indices.item() == TORCHS[f"kth {n}"]
    columns = torch.stack([x, x.flip(0)], 1)
    assert torch.topk(columns, 4, 0).indices[:, 0].tolist() == TORCHS[f"top {n} 4"]


def test_places_of_nan():
    y = _x(70, 6)
    y[[3, 9, 41]] = float("nan")
    assert torch.topk(y, 4).indices.tolist() == TORCHS["nan top"]
    assert torch.topk(y, 1).indices.tolist() == TORCHS["nan few"]
    assert torch.sort(y, descending=True).indices.tolist()[:12] == TORCHS["nan falling"]
    assert torch.kthvalue(y, 30).indices.item() == TORCHS["nan kth"]


def test_many_whole_numbers_are_sorted_by_their_digits():
    z = _x(40000, 7).int()
    assert torch.argsort(z).tolist()[:6] == TORCHS["digits"]
    assert torch.argsort(z, descending=True).tolist()[:6] == TORCHS["not by digits"]


@pytest.mark.skipif(not generated.available(), reason="no generated code here")
@pytest.mark.parametrize("how", [selection.SORT, selection.TOP, selection.TOP_UNSORTED, selection.KTH])
def test_generated_code_is_the_python_that_it_was_made_of(how):
    rng = np.random.default_rng(how)
    for _ in range(40):
        rows, n, most = (int(rng.integers(1, top)) for top in (4, 150, 30))
        k = int(rng.integers(1, n + 1))
        keys = rng.integers(0, most, (rows, n))
        places = np.tile(np.arange(n), (rows, 1))
        lists = keys.ravel().tolist(), places.ravel().tolist()
        selection.select(*lists, rows, n, k, how)
        generated.select(keys, places, rows, n, k, how)
        assert (keys.ravel().tolist(), places.ravel().tolist()) == lists


def test_bad_pivots_end_in_a_heap():
    """What defeats the median of three is still sorted in n log n steps."""
    half, n = 300, 600
    keys = [0] * n
    for i in range(half):
        keys[i if i % 2 == 0 else half + i - 1] = i + 1
    for i in range(1, half, 2):
        keys[i] = half + i
    places = list(range(n))
    selection.select(keys, places, 1, n, 0, selection.SORT)
    assert keys == sorted(keys)
    assert sorted(places) == list(range(n))
