"""What says which of TensorBoard's plugins shows a value."""

# the package tensorboard is optional
# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

from typing import Any

from tensorboard.compat.proto.summary_pb2 import SummaryMetadata

__all__ = ["metadata"]


def metadata(plugin: str, content: bytes = b"") -> Any:
    """Which part of TensorBoard shows the entry."""
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin, content=content))
