"""Settings of a run and what came out, for TensorBoard's table of experiments."""

# the package tensorboard is optional
# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

from typing import Any

from tensorboard.compat.proto.summary_pb2 import Summary

from rushlight.core.tensor.tensor import Tensor

from .images import make_np
from .plugins import metadata

__all__ = ["hparams"]


def hparams(
    hparam_dict: Any = None, metric_dict: Any = None, hparam_domain_discrete: dict[str, list[Any]] | None = None
) -> tuple[Any, Any, Any]:
    """Three messages: the experiment's columns, the run's settings, the run's end.

    Settings are numbers, strings, tensors of one element, or None, which is left out. hparam_domain_discrete: the values that a
    setting may take. Raises TypeError for arguments that are not such dictionaries, ValueError for other values.
    """
    from tensorboard.plugins.hparams import api_pb2
    from tensorboard.plugins.hparams import metadata as names
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionEndInfo, SessionStartInfo

    _check(hparam_dict, metric_dict, hparam_domain_discrete or {})
    columns, start = [], SessionStartInfo()
    for name, value in hparam_dict.items():
        if value is not None:
            columns.append(_column(name, value, (hparam_domain_discrete or {}).get(name), start))
    metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=tag)) for tag in metric_dict]

    def message(tag: str, **content: Any) -> Any:
        data = HParamsPluginData(version=names.PLUGIN_DATA_VERSION, **content).SerializeToString()
        return Summary(value=[Summary.Value(tag=tag, metadata=metadata(names.PLUGIN_NAME, data))])

    return (
        message(names.EXPERIMENT_TAG, experiment=api_pb2.Experiment(hparam_infos=columns, metric_infos=metrics)),
        message(names.SESSION_START_INFO_TAG, session_start_info=start),
        message(
            names.SESSION_END_INFO_TAG, session_end_info=SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))
        ),
    )


def _check(hparam_dict: Any, metric_dict: Any, domains: Any) -> None:
    for name, value in (
        ("hparam_dict", hparam_dict),
        ("metric_dict", metric_dict),
        ("hparam_domain_discrete", domains),
    ):
        if not isinstance(value, dict):
            raise TypeError(f"parameter: {name} should be a dictionary, nothing logged.")
    for name, values in domains.items():
        fits = name in hparam_dict and isinstance(values, list)
        if not fits or not all(isinstance(v, type(hparam_dict[name])) for v in values):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{name}] should be a list of same type as hparam_dict[{name}]."
            )


def _column(name: str, value: Any, domain: list[Any] | None, start: Any) -> Any:
    from google.protobuf import struct_pb2
    from tensorboard.plugins.hparams.api_pb2 import DataType, HParamInfo

    if isinstance(value, str):
        field, kind = "string_value", "DATA_TYPE_STRING"
    elif isinstance(value, (int, float)):
        field, kind = "number_value", "DATA_TYPE_FLOAT64"
    elif isinstance(value, Tensor):
        value, domain = make_np(value).reshape(-1)[0], None
        field, kind = "number_value", "DATA_TYPE_FLOAT64"
    else:
        raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
    setattr(start.hparams[name], field, value)
    values = None
    if domain is not None:
        values = struct_pb2.ListValue(values=[struct_pb2.Value(**{field: v}) for v in domain])
    return HParamInfo(name=name, type=DataType.Value(kind), domain_discrete=values)
