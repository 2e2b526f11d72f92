"""Keypoints as the pixel of a map within a box, and back (He et al., arXiv 1703.06870)."""

import rushlight as torch
from rushlight import float32
from rushlight.nn import functional as F
from rushlight_vision.ops.registered import registered


def keypoints_to_heatmap(keypoints, rois, heatmap_size):
    """Points (K, points, 3: x, y, visible) in boxes (K, 4) -> the pixel of each in a map, row by row, and whether it is
    visible within the map; both int64 (K, points)."""
    pixels, inside = [], keypoints[..., 2] > 0
    for axis in (0, 1):
        start, end = rois[:, axis, None], rois[:, axis + 2, None]
        at_end = keypoints[..., axis] == end
        place = ((keypoints[..., axis] - start) * (heatmap_size / (end - start))).floor().long()
        place[at_end] = heatmap_size - 1
        inside = inside & (place >= 0) & (place < heatmap_size)
        pixels.append(place)
    valid = inside.long()
    return (pixels[1] * heatmap_size + pixels[0]) * valid, valid


def heatmaps_to_keypoints(maps, rois):
    """Maps (K, points, M, M) of boxes (K, 4) -> points (K, points, 3: x, y, 1) and their scores (K, points).

    Each map is stretched over its box; the middle of its largest pixel is the point.
    """
    return _heatmaps_to_keypoints(maps, rois)


@registered("heatmaps_to_keypoints(Tensor maps, Tensor rois) -> (Tensor, Tensor)")  # torchvision traces a loop instead
def _heatmaps_to_keypoints(maps, rois):
    count = maps.shape[1]
    points = torch.zeros((len(rois), 3, count), dtype=float32, device=maps.device)
    scores = torch.zeros((len(rois), count), dtype=float32, device=maps.device)
    sides = (rois[:, 2:] - rois[:, :2]).clamp(min=1)
    rows = torch.arange(count, device=maps.device)
    for i, (across, down) in enumerate(sides.ceil().tolist()):
        wide, high = int(across), int(down)
        stretched = F.interpolate(maps[i][:, None], size=(high, wide), mode="bicubic", align_corners=False)[:, 0]
        best = stretched.reshape(count, -1).argmax(dim=1)
        x, y = best % wide, best // wide
        points[i, 0] = (x.float() + 0.5) * (sides[i, 0] / wide) + rois[i, 0]
        points[i, 1] = (y.float() + 0.5) * (sides[i, 1] / high) + rois[i, 1]
        points[i, 2] = 1
        scores[i] = stretched[rows, y, x]
    return points.permute(0, 2, 1), scores


def keypointrcnn_loss(keypoint_logits, proposals, gt_keypoints, keypoint_matched_idxs):
    """Cross entropy of each visible point over the pixels of its map (K, points, M, M); a scalar."""
    boxes, count, height, width = keypoint_logits.shape
    if height != width:
        raise ValueError(
            "keypoint_logits height and width (last two elements of shape) should be equal. Instead got "
            f"H = {height} and W = {width}"
        )
    images = zip(gt_keypoints, proposals, keypoint_matched_idxs)
    pairs = [keypoints_to_heatmap(points[chosen], boxes, height) for points, boxes, chosen in images]
    wanted, valid = (torch.cat([value.view(-1) for value in values], dim=0) for values in zip(*pairs))
    valid = torch.where(valid)[0]
    if wanted.numel() == 0 or len(valid) == 0:  # the mean of nothing is not a number
        return keypoint_logits.sum() * 0
    logits = keypoint_logits.view(boxes * count, height * width)
    return F.cross_entropy(logits[valid], wanted[valid])


def keypointrcnn_inference(x, boxes):
    """Maps (K, points, M, M) and each image's boxes -> lists of each image's points and of their scores."""
    counts = [box.size(0) for box in boxes]
    found = [heatmaps_to_keypoints(*image) for image in zip(x.split(counts, dim=0), boxes)]
    return [points for points, _ in found], [scores for _, scores in found]
