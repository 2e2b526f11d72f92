"""Averages over groups of several sizes, each with a period of its own, by arithmetic."""

import pytest
from several import results_of

import rushlight as torch
from rushlight.distributed.algorithms.model_averaging.hierarchical_model_averager import HierarchicalModelAverager


def pairs_and_all(rank, size):
    """Values of a parameter after each of 7 steps, and of one without a gradient."""
    p, still = torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.full((1,), float(rank)))
    averager, seen = HierarchicalModelAverager({2: 2, 4: size}, warmup_steps=1), []
    for step in range(7):
        p.grad = torch.zeros(2)
        with torch.no_grad():
            p += (rank + 1) * 10.0**step
        averager.average_parameters([{"params": [p, still]}])
        seen.append(p.tolist())
    return seen, still.item(), averager.step


def refused(rank, size):
    """The messages of wrong arguments."""
    said = []
    for periods, warmup in (({}, 0), ({0: size}, 0), ({2: 2, 4: 2}, 0), ({2: size}, -1)):
        with pytest.raises(ValueError) as caught:
            HierarchicalModelAverager(periods, warmup)
        said.append(str(caught.value))
    with pytest.warns(UserWarning, match="period_group_size_dict"):
        HierarchicalModelAverager({1: size})
    return said


def test_small_groups_often_and_all_seldom(tmp_path):
    results = results_of([pairs_and_all, refused], 4, tmp_path)
    values = [0.0] * 4
    for step in range(7):
        values = [v + (rank + 1) * 10.0**step for rank, v in enumerate(values)]
        if step == 4:  # 0 is before the first average
            values = [sum(values) / 4] * 4
        elif step in (2, 6):
            values = [sum(values[rank // 2 * 2 :][:2]) / 2 for rank in range(4)]
        for rank, result in enumerate(results):
            seen, still, count = result["pairs_and_all"]
            assert seen[step] == pytest.approx([values[rank]] * 2)
            assert (still, count) == (rank, 7)
    assert [text.split()[-1] for text in results[0]["refused"]] == ["empty.", "value.", "4.", "number."]
