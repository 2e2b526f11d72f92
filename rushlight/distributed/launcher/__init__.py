"""`torch.distributed.launcher`: a function or a program in one process for each rank, started from Python."""

from .api import LaunchConfig, elastic_launch, launch_agent

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]
