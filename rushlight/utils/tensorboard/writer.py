"""`SummaryWriter`: the calls that a training loop makes."""

# the package tensorboard is optional
# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import os
import time
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event, SessionLog, TaggedRunMetadata
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from . import embedding, summary
from .graph import graph_of
from .hparams import hparams
from .images import figure_to_image, make_np
from .onnx_graph import graph_of_onnx

__all__ = ["FileWriter", "SummaryWriter"]


def _default_bins() -> list[float]:
    """TensorFlow's limits of histograms: growing by a tenth from 1e-12 to 1e20, both signs."""
    limits, v = [], 1e-12
    while v < 1e20:
        limits.append(v)
        v *= 1.1
    return [-v for v in reversed(limits)] + [0] + limits


class FileWriter:
    """Writes events into one file of a folder, in a thread of its own."""

    def __init__(self, log_dir: Any, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = ""):
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        """The folder."""
        return self.event_writer.get_logdir()

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Write an event, of this step and time (now by default)."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Write a summary."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def add_graph(self, graph_profile: tuple[Any, Any], walltime: float | None = None) -> None:
        """Write a graph and its statistics."""
        graph, statistics = graph_profile
        self.add_event(Event(graph_def=graph.SerializeToString()), None, walltime)
        tagged = TaggedRunMetadata(tag="step1", run_metadata=statistics.SerializeToString())
        self.add_event(Event(tagged_run_metadata=tagged), None, walltime)

    def add_onnx_graph(self, graph: Any, walltime: float | None = None) -> None:
        """Write a graph without statistics, as one from an ONNX file."""
        self.add_event(Event(graph_def=graph.SerializeToString()), None, walltime)

    def flush(self) -> None:
        """Write everything that is pending to the file."""
        self.event_writer.flush()

    def close(self) -> None:
        """`flush`, and close the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Continue in a new file after `close`."""
        self.event_writer.reopen()


class SummaryWriter:
    """Writes what TensorBoard shows into the folder `log_dir`, by default `runs/<time>_<host><comment>`.

    purge_step: after a crash, hide what was written from this step on. max_queue, flush_secs: how many entries wait, and
    how long, before they are written. filename_suffix: the end of the files' names.

    Each call takes a tag, the value, the step of training (global_step) and the time (walltime, now by default).
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ):
        if not log_dir:
            import socket
            from datetime import datetime

            log_dir = os.path.join("runs", f"{datetime.now():%b%d_%H-%M-%S}_{socket.gethostname()}{comment}")
        self.log_dir, self.purge_step = log_dir, purge_step
        self.max_queue, self.flush_secs, self.filename_suffix = max_queue, flush_secs, filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._get_file_writer()
        self.default_bins = _default_bins()

    def _open(self, folder: Any) -> FileWriter:
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def _get_file_writer(self) -> FileWriter:
        """The writer of the folder itself, opened again after `close`."""
        if self.all_writers is None or self.file_writer is None:
            self.file_writer = self._open(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                step, self.purge_step = self.purge_step, None
                self.file_writer.add_event(Event(step=step, file_version="brain.Event:2"))
                self.file_writer.add_event(Event(step=step, session_log=SessionLog(status=SessionLog.START)))
        return self.file_writer

    def get_logdir(self) -> Any:
        """The folder."""
        return self.log_dir

    def _add(self, entry: Any, global_step: Any = None, walltime: float | None = None) -> None:
        self._get_file_writer().add_summary(entry, global_step, walltime)

    # ------------------------------------------------------------------------------------------ numbers

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """A number. new_style: as a tensor (with double_precision of doubles), which TensorBoard reads faster."""
        entry = summary.scalar(tag, scalar_value, new_style=new_style, double_precision=double_precision)
        self._add(entry, global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Several numbers in one chart: each gets a folder of its own below this one."""
        walltime = time.time() if walltime is None else walltime
        folder = self._get_file_writer().get_logdir()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            name = f"{folder}/{main_tag.replace('/', '_')}_{tag}"
            if name not in self.all_writers:
                self.all_writers[name] = self._open(name)
            self.all_writers[name].add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_tensor(self, tag: str, tensor: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """All elements of a tensor."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """How values are distributed. bins: limits, or a word that `numpy.histogram` knows."""
        limits = self.default_bins if isinstance(bins, str) and bins == "tensorflow" else bins
        self._add(summary.histogram(tag, values, limits, max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: Any,
        max: Any,
        num: Any,
        sum: Any,
        sum_squares: Any,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """A histogram that has been counted already."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        entry = summary.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._add(entry, global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """The precision-recall curve of probabilities (predictions) of truths (labels)."""
        entry = summary.pr_curve(tag, make_np(labels), make_np(predictions), num_thresholds, weights)
        self._add(entry, global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """A precision-recall curve that has been computed already."""
        counts = (true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts)
        self._add(summary.pr_curve_raw(tag, *counts, precision, recall, num_thresholds, weights), global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Settings and what came out, as a run of its own below this folder (its name: the time by default)."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        entries = hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(log_dir=folder) as run:
            for entry in entries:
                run._add(entry, global_step)
            for tag, value in metric_dict.items():
                run.add_scalar(tag, value, global_step)

    # ------------------------------------------------------------------------------------------ pictures, sound, text

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """A picture: bytes, or numbers from 0 to 1. dataformats: what its dimensions are, such as 'HWC' or 'HW'."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Several pictures in a grid."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: Any = None,
    ) -> None:
        """A picture with boxes (left, top, right, bottom) drawn on it."""
        labels = [labels] if isinstance(labels, str) else labels
        if labels is not None and len(labels) != box_tensor.shape[0]:
            labels = None
        entry = summary.image_boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels)
        self._add(entry, global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """A Matplotlib figure, or a list of them in a grid; `close` closes it."""
        picture = figure_to_image(figure, close)
        self.add_image(tag, picture, global_step, walltime, dataformats="CHW" if picture.ndim == 3 else "NCHW")

    def add_video(
        self, tag: str, vid_tensor: Any, global_step: Any = None, fps: float = 4, walltime: float | None = None
    ) -> None:
        """Clips (N, T, C, H, W), as a GIF."""
        self._add(summary.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """A sound: (1, L) numbers from -1 to 1."""
        self._add(summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """A text, in Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    # ------------------------------------------------------------------------------------------ networks, points, charts

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """The operators of a network in the scopes of its modules, as one forward pass of `input_to_model` calls them.

        input_to_model: a tensor, or a tuple of arguments. verbose prints the graph. use_strict_trace: not needed, since
        nothing is traced. Raises ValueError without an input.
        """
        if input_to_model is None:
            raise ValueError("add_graph needs input_to_model: the graph is what one forward pass calls")
        graph = graph_of(model, input_to_model)
        if verbose:
            print(graph[0])
        self._get_file_writer().add_graph(graph)

    def add_onnx_graph(self, prototxt: Any) -> None:
        """The graph of an ONNX file. Raises ModuleNotFoundError without the package onnx."""
        self._get_file_writer().add_onnx_graph(graph_of_onnx(prototxt))

    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: Any = None,
    ) -> None:
        """Points (N, D) for the projector, with labels (metadata) and pictures (N, C, H, W)."""
        points, step = make_np(mat), 0 if global_step is None else global_step
        quoted = tag.replace("%", "%25").replace("/", "%2f").replace("\\", "%5c")
        subfolder = f"{str(step).zfill(5)}/{quoted}"
        folder = os.path.join(self._get_file_writer().get_logdir(), subfolder)
        if os.path.isdir(folder):
            print("warning: Embedding dir exists, did you set global_step for add_embedding()?")
        elif os.path.exists(folder):
            raise NotADirectoryError(f"Path: `{folder}` exists, but is a file. Cannot proceed.")
        os.makedirs(folder, exist_ok=True)
        embedding.write_points(folder, points, metadata, metadata_header, label_img)
        self._extend_projector(embedding.describe(metadata, label_img, subfolder, step, tag))

    def _extend_projector(self, info: Any) -> None:
        from google.protobuf import text_format
        from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

        if not hasattr(self, "_projector_config"):
            self._projector_config = ProjectorConfig()
        self._projector_config.embeddings.extend([info])
        path = os.path.join(self._get_file_writer().get_logdir(), "projector_config.pbtxt")
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text_format.MessageToString(self._projector_config))

    def add_custom_scalars(self, layout: dict[str, dict[str, Any]]) -> None:
        """Charts of several scalars: {category: {title: ['Multiline' or 'Margin', tags]}}."""
        self._add(summary.custom_scalars(layout))

    def add_custom_scalars_multilinechart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """One chart of several scalars."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """One chart of a scalar between two others."""
        if len(tags) != 3:
            raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Any = None,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Points (B, N, 3) with colours, or a mesh of them. config_dict: settings of the 3-D view."""
        self._add(summary.mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

    # ------------------------------------------------------------------------------------------ the end

    def flush(self) -> None:
        """See to it that all is in the files."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """`flush`, and close the files. A later call opens new ones."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
