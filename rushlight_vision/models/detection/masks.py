"""Masks of objects: from a map of each box to the image, and back for the loss (He et al., arXiv 1703.06870)."""

import rushlight as torch
from rushlight import float32, int64
from rushlight.nn import functional as F
from rushlight_vision.ops.registered import is_recorded
from rushlight_vision.ops.roi import roi_align


def maskrcnn_inference(x, labels):
    """Logits (K, classes, M, M) and each image's labels -> a list of each image's probabilities (k, 1, M, M)."""
    counts = [label.shape[0] for label in labels]
    classes = torch.cat(labels)
    rows = torch.arange(x.shape[0], device=classes.device)
    return x.sigmoid()[rows, classes][:, None].split(counts, dim=0)


def project_masks_on_boxes(gt_masks, boxes, matched_idxs, M):
    """Masks (objects, H, W) within boxes (K, 4), each of the object that `matched_idxs` (K,) says -> (K, M, M)."""
    rois = torch.cat([matched_idxs.to(boxes)[:, None], boxes], dim=1)
    return roi_align(gt_masks[:, None].to(rois), rois, (M, M), 1.0)[:, 0]


def maskrcnn_loss(mask_logits, proposals, gt_masks, gt_labels, mask_matched_idxs):
    """The mean cross entropy of the pixels of each box's mask, of its class alone; a scalar."""
    size = mask_logits.shape[-1]
    labels = torch.cat([label[chosen] for label, chosen in zip(gt_labels, mask_matched_idxs)], dim=0)
    images = zip(gt_masks, proposals, mask_matched_idxs)
    wanted = torch.cat([project_masks_on_boxes(*image, size) for image in images], dim=0)
    if wanted.numel() == 0:  # the mean of nothing is not a number
        return mask_logits.sum() * 0
    rows = torch.arange(labels.shape[0], device=labels.device)
    return F.binary_cross_entropy_with_logits(mask_logits[rows, labels], wanted)


def expand_boxes(boxes, scale):
    """Boxes (K, 4) grown about their centres."""
    x1, y1, x2, y2 = boxes.unbind(1)
    half_width, half_height = (x2 - x1) * 0.5 * scale, (y2 - y1) * 0.5 * scale
    x, y = (x2 + x1) * 0.5, (y2 + y1) * 0.5
    return torch.stack((x - half_width, y - half_height, x + half_width, y + half_height), dim=1)


def expand_masks(mask, padding):
    """Masks (*, M, M) with a border of zeros, and by how much that makes them larger."""
    size = mask.shape[-1]
    return F.pad(mask, (padding,) * 4), float(size + 2 * padding) / size


def paste_mask_in_image(mask, box, im_h, im_w):
    """A mask (M, M) stretched over a box of integers (4,), in an image of zeros (im_h, im_w)."""
    left, top, right, bottom = (int(side) for side in box)
    size = (max(bottom - top + 1, 1), max(right - left + 1, 1))
    stretched = F.interpolate(mask[None, None], size=size, mode="bilinear", align_corners=False)[0, 0]
    image = torch.zeros((im_h, im_w), dtype=mask.dtype, device=mask.device)
    x0, x1 = max(left, 0), min(right + 1, im_w)
    y0, y1 = max(top, 0), min(bottom + 1, im_h)
    image[y0:y1, x0:x1] = stretched[y0 - top : y1 - top, x0 - left : x1 - left]
    return image


def paste_masks_in_image(masks, boxes, img_shape, padding=1):
    """Masks (K, 1, M, M) of boxes (K, 4) -> (K, 1, *img_shape)."""
    masks, scale = expand_masks(masks, padding)
    corners = expand_boxes(boxes, scale).to(dtype=int64)
    if is_recorded():
        return _pasted_at_once(masks, corners, *img_shape)
    corners = corners.tolist()
    pasted = [paste_mask_in_image(mask[0], box, *img_shape) for mask, box in zip(masks, corners)]
    return torch.stack(pasted, dim=0)[:, None] if pasted else masks.new_empty((0, 1, *img_shape))


def _pasted_at_once(masks, corners, height, width):
    """The same as two products, for a graph, in which the number of boxes may change."""
    across = _shares(corners[:, 0, None], corners[:, 2, None], masks.shape[-1], width)
    down = _shares(corners[:, 1, None], corners[:, 3, None], masks.shape[-1], height)
    return (down @ masks[:, 0] @ across.transpose(1, 2))[:, None]


def _shares(start, end, size, length):
    """(K, length, size): how much each of `size` pixels, stretched from `start` to `end` (K, 1), is of each of `length`."""
    places = torch.arange(length, device=start.device)
    scale = size / (end - start + 1).clamp(min=1).to(float32)
    source = ((places - start).to(float32) + 0.5) * scale - 0.5
    source = source.clamp(min=0, max=size - 1)[:, :, None]
    shares = (1 - (source - torch.arange(size, device=start.device)).abs()).clamp(min=0)
    inside = (places >= start) & (places <= end)
    return shares * inside[:, :, None].to(float32)
