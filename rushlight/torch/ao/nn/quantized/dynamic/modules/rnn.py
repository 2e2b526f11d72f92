"""`torch.ao.nn.quantized.dynamic.modules.rnn`."""

from rushlight.nn.quantized.recurrent import GRU, LSTM, PackedParameter, RNNBase

__all__ = ["GRU", "LSTM", "PackedParameter", "RNNBase"]
