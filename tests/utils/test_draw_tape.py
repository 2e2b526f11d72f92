"""`draw_tape`: the nodes and edges that torch's own tape has for the same programs, and pictures in which nothing overlaps."""

import itertools
import random
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight.utils.display import draw_tape
from rushlight.utils.display.layered_layout import arrange


def named(drawing):
    """The edges by the first lines of their boxes."""
    return Counter((drawing.nodes[a].lines[0], drawing.nodes[b].lines[0], n) for a, b, n in drawing.edges)


def test_a_network():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    loss = F.nll_loss(model(torch.rand(5, 3)).log_softmax(1), torch.zeros(5, dtype=torch.long))
    drawing = draw_tape(loss, dict(model.named_parameters()))
    assert named(drawing) == Counter(  # torch's next_functions, with each AccumulateGrad by its parameter's name
        [
            ("NllLossBackward0", "result", 0),
            ("LogSoftmaxBackward0", "NllLossBackward0", 0),
            ("AddmmBackward0", "LogSoftmaxBackward0", 0),
            ("2.bias", "AddmmBackward0", 0),
            ("ReluBackward0", "AddmmBackward0", 0),
            ("AddmmBackward0", "ReluBackward0", 0),
            ("0.bias", "AddmmBackward0", 0),
            ("TBackward0", "AddmmBackward0", 0),
            ("0.weight", "TBackward0", 0),
            ("TBackward0", "AddmmBackward0", 0),
            ("2.weight", "TBackward0", 0),
        ]
    )
    leaves = [node.lines for node in drawing.nodes if node.kind == "leaf"]
    assert ["0.weight", "[4, 3]", "AccumulateGrad"] in leaves and len(leaves) == 4
    assert [node.lines for node in drawing.nodes if node.kind == "result"] == [["result", "[]"]]


def test_shared_nodes_and_results_by_number():
    a = torch.ones(4, requires_grad=True)
    p, q = a.split(2)
    drawing = draw_tape({"first": (p * q.sin()).sum(), "second": q.exp(), "a": a}, {"a": a})
    assert named(drawing) == Counter(
        [
            ("SumBackward0", "first", 0),
            ("MulBackward0", "SumBackward0", 0),
            ("SplitBackward0", "MulBackward0", 0),
            ("SinBackward0", "MulBackward0", 0),
            ("SplitBackward0", "SinBackward0", 1),
            ("a", "SplitBackward0", 0),
            ("ExpBackward0", "second", 0),
            ("SplitBackward0", "ExpBackward0", 1),
            ("a", "a", 0),
        ]
    )
    assert sum(node.lines[0] == "SplitBackward0" for node in drawing.nodes) == 1
    twice = draw_tape(a * a)
    assert [node.lines for node in twice.nodes] == [["result", "[4]"], ["MulBackward0"], ["[4]", "AccumulateGrad"]]
    assert twice.edges == [(1, 0, 0), (2, 1, 0), (2, 1, 0)]
    for drawn, label in ((twice, "2\N{MULTIPLICATION SIGN}"), (draw_tape(p * q), "0, 1"), (draw_tape(q.exp()), "1")):
        assert re.findall('class="index">(.*?)<', drawn._repr_svg_()) == [label]


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, torch.ones(5))
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_saved_tensors():
    w = torch.ones(3, requires_grad=True)
    y = Doubled.apply(w).exp() * torch.ones(2, 1)

    def saved(drawing):
        return [node.lines for node in drawing.nodes if node.kind == "saved"]

    assert saved(draw_tape(y)) == []
    found = saved(draw_tape(y, saved=True))
    assert sorted(found) == [
        ["other", "[2, 1]"], ["result", "[3]"], ["saved_tensors[0]", "[3]"], ["saved_tensors[1]", "[5]"],
    ]  # fmt: skip
    y.sum().backward()
    assert ["saved tensors", "freed by a backward"] in saved(draw_tape(y, saved=True))


def test_what_has_no_tape():
    w = torch.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="no history"):
        draw_tape(w.detach() * 2)
    with pytest.raises(ValueError, match="cut has no history"):
        draw_tape({"whole": w * 2, "cut": w.detach()})
    with pytest.raises(ValueError, match="no tensors"):
        draw_tape([])
    with pytest.raises(TypeError, match="tensors has to be"):
        draw_tape(3)
    with pytest.raises(TypeError, match="params has to be"):
        draw_tape(w * 2, {"w": 3})


def test_names_are_escaped():
    name = 'a <&> "b" \\ \n \x00 漢字'
    a = torch.ones(2, requires_grad=True)
    drawing = draw_tape(a * 2, {name: a})
    root = ElementTree.fromstring(drawing._repr_svg_())
    texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert 'a <&> "b" \\ \ufffd \ufffd 漢字' in texts
    assert r'label="a <&> \"b\" \\ \n ' in str(drawing)
    assert str(drawing).count("\n") == 1 + 1 + len(drawing.nodes) + len(drawing.edges)


def test_dot():
    w = torch.ones(3, requires_grad=True)
    assert str(draw_tape((w * 2).sum(), {"w": w})) == (
        """\
digraph {
  node [fontname="monospace", fontsize=11, style=filled]
  n0 [label="result\\n[]", shape=box, fillcolor="#cdeccf"]
  n1 [label="SumBackward0", shape=box, fillcolor="#eceff4"]
  n2 [label="MulBackward0", shape=box, fillcolor="#eceff4"]
  n3 [label="w\\n[3]\\nAccumulateGrad", shape=box, fillcolor="#cfe3fb"]
  n1 -> n0
  n2 -> n1
  n3 -> n2
}"""
    )


def test_files(tmp_path):
    w = torch.ones(3, requires_grad=True)
    drawing = draw_tape(w * 2)
    for name in ("a.svg", "a.dot", "a.gv"):
        drawing.save(tmp_path / name)
    assert (tmp_path / "a.svg").read_text().startswith("<svg ") and (tmp_path / "a.gv").read_text() == f"{drawing}\n"
    with pytest.raises(ValueError, match=r"\.svg"):
        drawing.save(tmp_path / "a.png")


# ------------------------------------------------------------------------------------------------------------- the layout


def a_graph(count, seed):
    chance = random.Random(seed)
    edges = {(chance.randrange(max(0, n - 30), n), n) for n in range(1, count)}
    edges |= {(chance.randrange(n), n) for n in range(1, count)}
    return [(chance.uniform(20, 150), chance.choice((20, 50))) for _ in range(count)], sorted(edges)


@pytest.mark.parametrize("count", [1, 2, 40, 1000])
def test_boxes_do_not_overlap_and_edges_lead_down(count):
    sizes, edges = a_graph(count, count)
    layout = arrange(sizes, edges)
    boxes = [(x - w / 2, y - h / 2, x + w / 2, y + h / 2) for (x, y), (w, h) in zip(layout.nodes, sizes, strict=True)]
    assert all(
        x0 >= -1e-6 and y0 >= -1e-6 and x1 <= layout.width + 1e-6 and y1 <= layout.height + 1e-6
        for x0, y0, x1, y1 in boxes
    )
    rows = {}
    for n, (_, y) in enumerate(layout.nodes):
        rows.setdefault(y, []).append(boxes[n])
    for row in rows.values():
        row.sort()
        assert all(a[2] < b[0] for a, b in itertools.pairwise(row))
    tops = sorted(
        (y - max(b[3] - b[1] for b in row) / 2, y + max(b[3] - b[1] for b in row) / 2) for y, row in rows.items()
    )
    assert all(a[1] < b[0] for a, b in itertools.pairwise(tops))
    assert all(boxes[a][3] < boxes[b][1] for a, b in edges)
    assert sorted(line[4] for line in layout.lines if line[4] is not None) == list(range(len(edges)))


def test_a_chain_is_straight_and_crossings_are_avoided():
    sizes = [(40, 20)] * 6
    chain = arrange(sizes, [(n, n + 1) for n in range(5)])
    assert len({round(x, 6) for x, _ in chain.nodes}) == 1
    crossed = arrange(sizes, [(0, 5), (1, 4), (2, 3)])
    ends = {edge: (x0, x1) for x0, _, x1, _, edge in crossed.lines if edge is not None}
    assert all((a[0] - b[0]) * (a[1] - b[1]) > 0 for i, a in ends.items() for j, b in ends.items() if i < j)


def test_a_circle_is_refused():
    with pytest.raises(ValueError, match="circle"):
        arrange([(1, 1)] * 2, [(0, 1), (1, 0)])


def test_a_parameter_of_many_steps_is_one_line():
    cell, h = nn.RNNCell(3, 3), torch.zeros(1, 3)
    for _ in range(150):
        h = cell(torch.rand(1, 3), h)
    drawing = draw_tape(h.sum(), dict(cell.named_parameters()))
    svg = drawing._repr_svg_()
    assert len(drawing.nodes) > 900 and sum("AccumulateGrad" in node.lines for node in drawing.nodes) == 4
    assert len(re.findall("<path", svg)) < 6 * len(drawing.nodes)  # of edges drawn each by itself: above 90,000


def test_the_style_is_for_this_drawing_alone():
    svg = draw_tape(torch.ones(2, requires_grad=True).sum())._repr_svg_()
    rules = re.findall(r"([^{}]+)\{", re.findall("<style>(.*?)</style>", svg, re.DOTALL)[0])
    assert rules and all(rule.startswith(".rushlight-tape ") for rule in rules)  # in a page they hold for all pictures
    assert 'class="rushlight-tape"' in svg


def test_a_leaf_whose_tensor_is_gone_has_its_shape():
    drawing = draw_tape((torch.ones(2, 3, requires_grad=True) * 2).sum())
    assert [node.lines for node in drawing.nodes if node.kind == "leaf"] == [["[2, 3]", "AccumulateGrad"]]
