"""`torch.ao.nn.quantized.dynamic`: layers with 8-bit weights, which round their input in each call."""

from .modules import GRU, LSTM, GRUCell, Linear, LSTMCell, RNNCell

__all__ = ["GRU", "LSTM", "GRUCell", "LSTMCell", "Linear", "RNNCell"]
