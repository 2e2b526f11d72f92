"""Models of optical flow: not implemented, each raises when called."""

from rushlight_vision.models._absent import absent

__all__ = [
    "RAFT",
    "raft_large",
    "raft_small",
]

RAFT = absent("optical_flow", "RAFT")
raft_large = absent("optical_flow", "raft_large")
raft_small = absent("optical_flow", "raft_small")
