"""One function for each kind of entry: what it says, as TensorBoard's `Summary` message."""

# the package tensorboard is optional
# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

from rushlight.core.tensor import dtype as dtypes

from .hparams import hparams
from .images import frames_of, gif, make_np, png, to_bytes, to_rows
from .plugins import metadata

__all__ = [
    "audio",
    "custom_scalars",
    "histogram",
    "histogram_raw",
    "hparams",
    "image",
    "image_boxes",
    "mesh",
    "metadata",
    "pr_curve",
    "pr_curve_raw",
    "scalar",
    "tensor_proto",
    "text",
    "video",
]


def _one(tag: str, **fields: Any) -> Any:
    return Summary(value=[Summary.Value(tag=tag, **fields)])


def _shape(*sizes: int) -> Any:
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in sizes])


def scalar(
    name: str, tensor: Any, collections: Any = None, new_style: bool = False, double_precision: bool = False
) -> Any:
    """A number. new_style: as a tensor, of type float or (double_precision) double. collections: not used, as in torch."""
    array = make_np(tensor).squeeze()
    if array.ndim != 0:
        raise AssertionError(
            f"Tensor should contain one element (0 dimensions). Was given size: {array.size} and {array.ndim} dimensions."
        )
    number = float(array)
    if not new_style:
        return _one(name, simple_value=number)
    if double_precision:
        proto = TensorProto(double_val=[number], dtype="DT_DOUBLE")
    else:
        proto = TensorProto(float_val=[number], dtype="DT_FLOAT")
    return _one(name, tensor=proto, metadata=metadata("scalars"))


# ---------------------------------------------------------------------------------------------- tensors

_LISTS = {
    dtypes.float32: ("DT_FLOAT", "float_val"), dtypes.float64: ("DT_DOUBLE", "double_val"),
    dtypes.int8: ("DT_INT8", "int_val"), dtypes.int16: ("DT_INT16", "int_val"), dtypes.int32: ("DT_INT32", "int_val"),
    dtypes.int64: ("DT_INT64", "int64_val"), dtypes.uint8: ("DT_UINT8", "uint32_val"),
    dtypes.bool_: ("DT_BOOL", "bool_val"), dtypes.complex64: ("DT_COMPLEX64", "scomplex_val"),
    dtypes.complex128: ("DT_COMPLEX128", "dcomplex_val"), dtypes.float16: ("DT_HALF", "half_val"),
    dtypes.bfloat16: ("DT_BFLOAT16", "half_val"),
}  # fmt: skip


def tensor_proto(tag: str, tensor: Any) -> Any:
    """All elements of a tensor. Raises ValueError for a type that TensorBoard does not know, or 2 GB and more."""
    if tensor.numel() * tensor.itemsize >= 1 << 31:
        raise ValueError("tensor is bigger than protocol buffer's hard limit of 2GB in size")
    if tensor.dtype not in _LISTS:
        raise ValueError(f"{tag} has unsupported tensor dtype {tensor.dtype}")
    kind, field = _LISTS[tensor.dtype]
    flat = tensor.detach()._array.reshape(-1)
    if flat.dtype.kind == "c":
        flat = flat.view(flat.real.dtype)
    elif field == "half_val":  # the bits of each number as float32, as torch writes them
        flat = flat.astype(np.float32).view(np.int32)
    message = TensorProto(**{"dtype": kind, "tensor_shape": _shape(*tensor.shape), field: flat.tolist()})
    return _one(tag, tensor=message, metadata=metadata("tensor"))


# ---------------------------------------------------------------------------------------------- histograms


def histogram_raw(
    name: str, min: Any, max: Any, num: Any, sum: Any, sum_squares: Any, bucket_limits: Any, bucket_counts: Any
) -> Any:
    """A histogram that has been counted already."""
    counted = HistogramProto(
        min=min, max=max, num=num, sum=sum, sum_squares=sum_squares, bucket_limit=bucket_limits, bucket=bucket_counts
    )
    return _one(name, histo=counted)


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> Any:
    """How many values fall between the limits `bins`, at most `max_bins` of them. Raises ValueError without values."""
    flat = make_np(values).astype(float).reshape(-1)
    if not flat.size:
        raise ValueError("The input has no element.")
    counts, limits = np.histogram(flat, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        counts, limits = _fewer(counts, limits, len(counts) // max_bins)
    filled = np.flatnonzero(counts)
    if not filled.size:
        raise ValueError("The histogram is empty, please file a bug report.")
    start, end = int(filled[0]), int(filled[-1]) + 1
    # only right limits are written: an empty bin in front says where the first one begins
    counts = counts[start - 1 : end] if start else np.concatenate([[0], counts[:end]])
    limits = limits[start : end + 1]
    return histogram_raw(
        name, flat.min(), flat.max(), len(flat), flat.sum(), flat.dot(flat), limits.tolist(), counts.tolist()
    )


def _fewer(counts: np.ndarray, limits: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Every `step` bins as one."""
    rest = len(counts) % step
    counts = np.pad(counts, [[0, step - rest]]) if rest else counts
    counts = counts.reshape(-1, step).sum(axis=-1)
    joined = np.empty(counts.size + 1, limits.dtype)
    joined[:-1], joined[-1] = limits[:-1:step], limits[-1]
    return counts, joined


# ---------------------------------------------------------------------------------------------- pictures and sound


def _picture(pixels: np.ndarray, data: bytes) -> Any:
    height, width, channels = pixels.shape[-3:]
    return Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=data)


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> Any:
    """A picture, or several in a grid."""
    pixels = to_bytes(to_rows(make_np(tensor), dataformats))
    return _one(tag, image=_picture(pixels, png(pixels, rescale)))


def image_boxes(
    tag: str, tensor_image: Any, tensor_boxes: Any, rescale: float = 1, dataformats: str = "CHW", labels: Any = None
) -> Any:
    """A picture with boxes drawn on it."""
    pixels = to_bytes(to_rows(make_np(tensor_image), dataformats))
    return _one(tag, image=_picture(pixels, png(pixels, rescale, make_np(tensor_boxes), labels)))


def video(tag: str, tensor: Any, fps: float = 4) -> Any:
    """Clips side by side, as a GIF."""
    frames = to_bytes(frames_of(make_np(tensor)))
    return _one(tag, image=_picture(frames, gif(frames, fps)))


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Any:
    """A sound in one channel, from -1 to 1, as a WAV file."""
    import io
    import wave

    sound = make_np(tensor).squeeze()
    if abs(sound).max() > 1:
        print("warning: audio amplitude out of range, auto clipped.")
        sound = sound.clip(-1, 1)
    if sound.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    sound = (sound * np.iinfo(np.int16).max).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(sample_rate)
        writer.writeframes(sound.tobytes())
    message = Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=len(sound),
        encoded_audio_string=file.getvalue(),
        content_type="audio/wav",
    )
    return _one(tag, audio=message)


# ---------------------------------------------------------------------------------------------- text, curves, charts, meshes


def text(tag: str, text: str) -> Any:
    """A text, in Markdown."""
    from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

    tensor = TensorProto(dtype="DT_STRING", string_val=[text.encode()], tensor_shape=_shape(1))
    note = metadata("text", TextPluginData(version=0).SerializeToString())
    return _one(tag + "/text_summary", metadata=note, tensor=tensor)


MOST_THRESHOLDS = 127  # more break the message


def pr_curve_raw(
    tag: str,
    tp: Any,
    fp: Any,
    tn: Any,
    fn: Any,
    precision: Any,
    recall: Any,
    num_thresholds: int = 127,
    weights: Any = None,
) -> Any:
    """A precision-recall curve that has been computed already."""
    from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData

    rows = np.stack((tp, fp, tn, fn, precision, recall))
    content = PrCurvePluginData(version=0, num_thresholds=min(num_thresholds, MOST_THRESHOLDS)).SerializeToString()
    tensor = TensorProto(dtype="DT_FLOAT", float_val=rows.reshape(-1).tolist(), tensor_shape=_shape(*rows.shape))
    return _one(tag, metadata=metadata("pr_curves", content), tensor=tensor)


def pr_curve(
    tag: str, labels: np.ndarray, predictions: np.ndarray, num_thresholds: int = 127, weights: Any = None
) -> Any:
    """The precision-recall curve of probabilities (predictions) of truths (labels)."""
    n = min(num_thresholds, MOST_THRESHOLDS)
    return pr_curve_raw(tag, *_curve(labels, predictions, n, 1.0 if weights is None else weights), num_thresholds=n)


def _curve(labels: np.ndarray, predictions: np.ndarray, n: int, weights: Any) -> tuple[np.ndarray, ...]:
    """True and false positives and negatives at n thresholds from 0 to 1, precision and recall."""
    buckets = np.int32(np.floor(predictions * (n - 1)))
    truth = labels.astype(np.float64)

    def above(weight: np.ndarray) -> np.ndarray:
        counts, _ = np.histogram(buckets, bins=n, range=(0, n - 1), weights=weight)
        return np.cumsum(counts[::-1])[::-1]

    tp, fp = above(truth * weights), above((1.0 - truth) * weights)
    tn, fn = fp[0] - fp, tp[0] - tp
    return tp, fp, tn, fn, tp / np.maximum(1e-7, tp + fp), tp / np.maximum(1e-7, tp + fn)


def custom_scalars(layout: dict[str, dict[str, Any]]) -> Any:
    """Charts of several scalars: {category: {title: ['Multiline' or 'Margin', tags]}}."""
    from tensorboard.plugins.custom_scalar import layout_pb2

    def chart(title: str, kind: str, tags: Any) -> Any:
        if kind != "Margin":
            return layout_pb2.Chart(title=title, multiline=layout_pb2.MultilineChartContent(tag=tags))
        if len(tags) != 3:
            raise AssertionError(f"a Margin chart needs 3 tags (value, lower, upper), got {len(tags)}")
        series = layout_pb2.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])
        return layout_pb2.Chart(title=title, margin=layout_pb2.MarginChartContent(series=[series]))

    categories = [
        layout_pb2.Category(title=name, chart=[chart(title, *content[:2]) for title, content in charts.items()])
        for name, charts in layout.items()
    ]
    content = layout_pb2.Layout(category=categories).SerializeToString()
    tensor = TensorProto(dtype="DT_STRING", string_val=[content], tensor_shape=TensorShapeProto())
    return _one("custom_scalars__config__", tensor=tensor, metadata=metadata("custom_scalars"))


def mesh(
    tag: str,
    vertices: Any,
    colors: Any,
    faces: Any,
    config_dict: Any,
    display_name: str | None = None,
    description: str | None = None,
) -> Any:
    """Points, or a mesh of them. Shape: (B, N, 3) each."""
    import json

    from tensorboard.plugins.mesh import metadata as meshes
    from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData

    options = "{}" if config_dict is None else json.dumps(config_dict, sort_keys=True)
    kinds = (MeshPluginData.VERTEX, MeshPluginData.FACE, MeshPluginData.COLOR)
    parts = [(make_np(part), kind) for part, kind in zip((vertices, faces, colors), kinds) if part is not None]
    components = meshes.get_components_bitmask([kind for _, kind in parts])
    values = []
    for array, kind in parts:
        note = meshes.create_summary_metadata(
            tag, display_name, kind, components, array.shape, description, json_config=options
        )
        tensor = TensorProto(
            dtype="DT_FLOAT", float_val=array.reshape(-1).tolist(), tensor_shape=_shape(*array.shape[:3])
        )
        values.append(Summary.Value(tag=meshes.get_instance_name(tag, kind), tensor=tensor, metadata=note))
    return Summary(value=values)
