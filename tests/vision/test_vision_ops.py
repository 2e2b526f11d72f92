"""vision.ops against plain Python."""

import math

import numpy as np
import pytest
from rushlight.vision import ops
from rushlight.vision.models.detection.masks import paste_masks_in_image

import rushlight as torch


def boxes(rng, n, size=30.0):
    corners = rng.random((n, 2)) * size
    return torch.from_numpy(np.concatenate([corners, corners + 0.5 + rng.random((n, 2)) * size], 1).astype(np.float32))


def iou(a, b):
    w = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    h = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    areas = [(x[2] - x[0]) * (x[3] - x[1]) for x in (a, b)]
    return w * h / (sum(areas) - w * h)


def test_box_iou():
    rng = np.random.default_rng(0)
    first, second = boxes(rng, 5), boxes(rng, 7)
    expected = [[iou(a, b) for b in second.tolist()] for a in first.tolist()]
    np.testing.assert_allclose(ops.box_iou(first, second).numpy(), expected, rtol=1e-5)
    for form in ("xywh", "cxcywh"):
        converted = [ops.box_convert(b, "xyxy", form) for b in (first, second)]
        np.testing.assert_allclose(ops.box_iou(*converted, fmt=form).numpy(), expected, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.7])
def test_nms_is_greedy(threshold):
    rng = np.random.default_rng(1)
    some, scores = boxes(rng, 40), torch.from_numpy(rng.random(40).astype(np.float32))
    left = sorted(range(40), key=lambda i: -scores[i].item())
    expected = []
    while left:
        best = left.pop(0)
        expected.append(best)
        left = [i for i in left if iou(some[best].tolist(), some[i].tolist()) <= threshold]
    assert ops.nms(some, scores, threshold).tolist() == expected


def test_nms_by_class():
    rng = np.random.default_rng(2)
    some, scores = boxes(rng, 30), torch.from_numpy(rng.random(30).astype(np.float32))
    classes = torch.from_numpy(rng.integers(0, 3, 30))
    kept = ops.batched_nms(some, scores, classes, 0.2).tolist()
    expected = set()
    for label in range(3):
        chosen = torch.where(classes == label)[0]
        expected |= set(chosen[ops.nms(some[chosen], scores[chosen], 0.2)].tolist())
    assert set(kept) == expected and kept == sorted(kept, key=lambda i: -scores[i].item())
    assert ops.batched_nms(some[:0], scores[:0], classes[:0], 0.2).tolist() == []


def sampled(image, y, x):
    """One interpolated value, with the rules of the operator at the border."""
    height, width = image.shape
    if y < -1 or y > height or x < -1 or x > width:
        return 0.0
    y, x = max(y, 0.0), max(x, 0.0)
    y0, x0 = min(int(y), height - 1), min(int(x), width - 1)
    y1, x1 = min(y0 + 1, height - 1), min(x0 + 1, width - 1)
    fy, fx = (0.0 if y0 == height - 1 else y - y0), (0.0 if x0 == width - 1 else x - x0)
    top = image[y0, x0] * (1 - fx) + image[y0, x1] * fx
    return top * (1 - fy) + (image[y1, x0] * (1 - fx) + image[y1, x1] * fx) * fy


ROIS = [[0, 2, 3, 20, 25], [1, -5, -5, 60, 60], [1, 3, 3, 3, 3], [0, 50, 50, 80, 80], [1, 7.3, 1.2, 11.9, 30.0]]


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("ratio", [-1, 2])
def test_roi_align(aligned, ratio):
    rng = np.random.default_rng(3)
    maps = rng.standard_normal((2, 3, 12, 14))
    found = ops.roi_align(torch.from_numpy(maps), torch.tensor(ROIS, dtype=torch.float64), (3, 4), 0.5, ratio, aligned)
    for k, (image, *corners) in enumerate(ROIS):
        x1, y1, x2, y2 = (c * 0.5 - (0.5 if aligned else 0.0) for c in corners)
        w, h = (x2 - x1, y2 - y1) if aligned else (max(x2 - x1, 1.0), max(y2 - y1, 1.0))
        ny, nx = (ratio, ratio) if ratio > 0 else (math.ceil(h / 3), math.ceil(w / 4))
        for c, p, q in np.ndindex(3, 3, 4):
            values = [
                sampled(maps[image, c], y1 + (p + (i + 0.5) / ny) * h / 3, x1 + (q + (j + 0.5) / nx) * w / 4)
                for i in range(ny)
                for j in range(nx)
            ]
            expected = sum(values) / max(len(values), 1)
            assert found[k, c, p, q].item() == pytest.approx(expected, abs=1e-9)


def test_roi_align_gradient():
    maps = torch.randn(1, 2, 6, 6, dtype=torch.float64, requires_grad=True)
    rois = torch.tensor([[0, 0.5, 0.7, 4.0, 5.2], [0, 1.0, 1.0, 3.0, 9.0]], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda m: ops.roi_align(m, rois, 2, 1.0, 2, True), (maps,))
    assert torch.autograd.gradcheck(lambda m: ops.roi_pool(m, rois, 2), (maps,))


def test_roi_pool():
    maps = torch.arange(64.0).reshape(1, 1, 8, 8)
    found = ops.roi_pool(maps, [torch.tensor([[0.0, 0.0, 7.0, 3.0]])], 2)
    assert found.tolist() == [[[[11.0, 15.0], [27.0, 31.0]]]]
    assert ops.ps_roi_pool(maps.expand(1, 4, 8, 8), torch.tensor([[0, 0, 0, 8.0, 8.0]]), 2).shape == (1, 1, 2, 2)


@pytest.mark.parametrize("name", ["roi_pool", "ps_roi_align", "ps_roi_pool", "masks_to_boxes"])
def test_boxes_do_not_become_constants_of_a_trace(name):
    calls = {"masks_to_boxes": lambda x, b: ops.masks_to_boxes(x[0] > 0)}
    call = calls.get(name, lambda x, b: getattr(ops, name)(x, [b], 2))
    boxes = torch.tensor([[0.0, 0.0, 4.0, 4.0], [1.0, 0.0, 5.0, 3.0], [5.0, 5.0, 9.0, 9.0]])
    with pytest.raises(NotImplementedError, match=rf"torch\.jit\.trace: {name}\(\) cannot be recorded"):
        torch.jit.trace(call, (torch.ones(1, 4, 10, 10), boxes))


def test_boxes_are_chosen_again_in_each_run_of_a_trace():
    def f(x, b):
        return ops.roi_align(x, [b], 2), ops.nms(b, b[:, 0], 0.4), ops.batched_nms(b, b[:, 0], b[:, 0].long() % 2, 0.4)

    few = torch.tensor([[0.0, 0.0, 4.0, 4.0], [1.0, 0.0, 5.0, 3.0]])
    more = torch.tensor([[0.0, 0.0, 4.0, 4.0], [0.5, 0.0, 4.0, 4.0], [5.0, 5.0, 9.0, 9.0], [5.0, 5.0, 9.0, 8.0]])
    program = torch.jit.trace(f, (torch.ones(1, 4, 10, 10), few))
    assert {"torchvision::nms", "torchvision::roi_align"} <= {n.kind() for n in program.graph.nodes()}
    maps = torch.arange(400.0).reshape(1, 4, 10, 10)
    for boxes in (more, few, few[:0]):
        for found, expected in zip(program(maps, boxes), f(maps, boxes), strict=True):
            assert torch.equal(found, expected)


def test_masks_are_pasted_alike_in_traces():
    boxes = torch.tensor([[2.0, 3.0, 17.5, 9.0], [-4.0, 5.0, 6.0, 40.0], [8.0, 8.0, 8.0, 8.0]])
    masks = torch.rand(3, 1, 7, 7, generator=torch.Generator().manual_seed(0))

    def paste(m, b):
        return paste_masks_in_image(m, b, (20, 24))

    program = torch.jit.trace(paste, (masks[:1], boxes[:1]))
    torch.testing.assert_close(program(masks, boxes), paste(masks, boxes), rtol=1e-5, atol=1e-5)
    assert program(masks[:0], boxes[:0]).shape == (0, 1, 20, 24)


def test_levels_of_a_pyramid():
    pool = ops.MultiScaleRoIAlign(["0", "1"], 2, 2)
    maps = {"0": torch.zeros(1, 1, 64, 64), "1": torch.ones(1, 1, 32, 32), "pool": torch.ones(1, 1, 1, 1)}
    some = [torch.tensor([[0.0, 0.0, 20.0, 20.0], [0.0, 0.0, 250.0, 250.0]])]
    out = pool(maps, some, [(256, 256)])
    assert out.flatten(1).mean(1).tolist() == [0.0, 1.0]


def test_convolution_without_offsets_is_a_convolution():
    torch.manual_seed(0)
    image = torch.randn(2, 4, 9, 8)
    layer = ops.DeformConv2d(4, 6, 3, stride=2, padding=1, groups=2)
    offset = torch.zeros(2, 18, 5, 4)
    expected = torch.nn.functional.conv2d(image, layer.weight, layer.bias, 2, 1, 1, 2)
    np.testing.assert_allclose(layer(image, offset).detach().numpy(), expected.detach().numpy(), atol=1e-5)
    moved = layer(image, offset + torch.tensor([1.0, 0.0]).repeat(9).reshape(1, 18, 1, 1))
    shifted = torch.nn.functional.pad(image, (0, 0, 0, 1))[:, :, 1:]
    expected = torch.nn.functional.conv2d(shifted, layer.weight, layer.bias, 2, 1, 1, 2)
    np.testing.assert_allclose(moved[:, :, 1:].detach().numpy(), expected[:, :, 1:].detach().numpy(), atol=1e-5)
    halved = layer(image, offset, torch.full((2, 9, 5, 4), 0.5)) - layer.bias.reshape(1, -1, 1, 1)
    full = layer(image, offset) - layer.bias.reshape(1, -1, 1, 1)
    np.testing.assert_allclose(halved.detach().numpy(), full.detach().numpy() / 2, atol=1e-6)


@pytest.mark.parametrize("loss", [ops.generalized_box_iou_loss, ops.distance_box_iou_loss, ops.complete_box_iou_loss])
def test_losses_of_boxes(loss):
    pairs = {
        ops.generalized_box_iou_loss: ops.generalized_box_iou,
        ops.distance_box_iou_loss: ops.distance_box_iou,
        ops.complete_box_iou_loss: ops.complete_box_iou,
    }
    rng = np.random.default_rng(4)
    first, second = boxes(rng, 6), boxes(rng, 6)
    expected = 1 - pairs[loss](first, second).diagonal()
    np.testing.assert_allclose(loss(first, second).numpy(), expected.numpy(), rtol=1e-4, atol=1e-6)
    assert loss(first, first, reduction="sum").item() == pytest.approx(0.0, abs=1e-5)
    assert loss(first, second, reduction="mean").item() == pytest.approx(expected.mean().item(), rel=1e-4)
    with pytest.raises(ValueError, match="Invalid Value for arg 'reduction'"):
        loss(first, second, reduction="x")


def test_focal_loss():
    logits, truth = torch.tensor([0.3, -2.0, 1.5]), torch.tensor([1.0, 0.0, 0.0])
    expected = []
    for x, t in zip(logits.tolist(), truth.tolist(), strict=True):
        p = 1 / (1 + math.exp(-x))
        p = p if t else 1 - p
        expected.append((0.25 if t else 0.75) * (1 - p) ** 2 * -math.log(p))
    np.testing.assert_allclose(ops.sigmoid_focal_loss(logits, truth).numpy(), expected, rtol=1e-5)


def test_boxes_of_masks_and_borders():
    masks = torch.zeros(2, 6, 7)
    masks[0, 1:4, 2:6] = 1
    assert ops.masks_to_boxes(masks).tolist() == [[2.0, 1.0, 5.0, 3.0], [0.0, 0.0, 0.0, 0.0]]
    some = torch.tensor([[-3.0, 2.0, 50.0, 9.0]])
    assert ops.clip_boxes_to_image(some, (8, 20)).tolist() == [[0.0, 2.0, 20.0, 8.0]]
    assert ops.remove_small_boxes(some, 8).tolist() == []


def test_rotated_boxes_go_round():
    some = torch.tensor([[3.0, 4.0, 5.0, 6.0, 30.0], [1.0, 2.0, 3.0, 4.0, -75.0]])
    corners = ops.box_convert(some, "cxcywhr", "xyxyxyxy")
    np.testing.assert_allclose(ops.box_convert(corners, "xyxyxyxy", "cxcywhr").numpy(), some.numpy(), rtol=1e-4)
    np.testing.assert_allclose(corners.reshape(2, 4, 2).mean(1).numpy(), some[:, :2].numpy(), rtol=1e-4)


def test_stochastic_depth_and_drop_block():
    torch.manual_seed(0)
    ones = torch.ones(1000, 2, 1, 1)
    rows = ops.stochastic_depth(ones, 0.25, "row")
    assert set(rows.flatten().tolist()) <= {0.0, float(np.float32(1 / 0.75))}
    assert (rows[:, 0] == rows[:, 1]).all() and rows.mean().item() == pytest.approx(1, abs=0.1)
    assert ops.StochasticDepth(0.5, "batch").eval()(ones) is ones
    dropped = ops.drop_block2d(torch.ones(4, 3, 16, 16), 0.3, 3)
    assert 0.1 < (dropped == 0).float().mean().item() < 0.5
    with pytest.raises(ValueError, match="drop probability"):
        ops.stochastic_depth(ones, 1.5, "row")


def test_frozen_batch_norm():
    layer = ops.FrozenBatchNorm2d(3)
    layer.load_state_dict({**torch.nn.BatchNorm2d(3).state_dict(), "running_mean": torch.tensor([1.0, 2.0, 3.0])})
    out = layer(torch.ones(1, 3, 2, 2))
    assert out[0, :, 0, 0].tolist() == pytest.approx([0.0, -1.0, -2.0], abs=1e-4)
    assert list(layer.parameters()) == []
