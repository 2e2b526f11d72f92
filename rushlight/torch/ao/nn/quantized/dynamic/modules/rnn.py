"""`torch.ao.nn.quantized.dynamic.modules.rnn`."""

from rushlight.nn.quantization.cells import GRUCell, LSTMCell, RNNCell, RNNCellBase
from rushlight.nn.quantization.recurrent import GRU, LSTM, PackedParameter, RNNBase

__all__ = ["GRU", "LSTM", "GRUCell", "LSTMCell", "PackedParameter", "RNNBase", "RNNCell", "RNNCellBase"]
