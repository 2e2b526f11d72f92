"""Sample inputs of recurrent networks and cells."""

from __future__ import annotations

from .descriptions import F, Fixed, S, Sample

_I, _H, _N, _T = 2, 2, 2, 3
_SIZES = Fixed([2, 2, 1])  # of a packed input: two sequences, of lengths 3 and 2


def _weights(gates: int, layers: int = 1, directions: int = 1, bias: bool = True, projection: int = 0) -> list[F]:
    """The parameters of all layers and directions, small enough that no gate is saturated."""
    width, rows, made = projection or _H, gates * _H, []
    for i in range(layers * directions):
        made += [_small(rows, width * directions if i >= directions else _I), _small(rows, width)]
        made += [_small(rows), _small(rows)] if bias else []
        made += [_small(projection, _H)] if projection else []
    return made


def _small(*shape: int) -> F:
    return F(*shape, low=-0.9, high=1.1)


def _networks(gates: int, state) -> list[Sample]:
    """Calls of a network; state(entries, width) describes its initial state."""
    x, data = F(_T, _N, _I), F(5, _I)
    return [
        S(x, state(1), _weights(gates), True, 1, 0.0, False, False, False),
        S(F(_N, _T, _I), state(2), _weights(gates, 1, 2), True, 1, 0.0, False, True, True),
        S(x, state(2), _weights(gates, 2, bias=False), False, 2, 0.0, False, False, False),
        S(data, _SIZES, state(2), _weights(gates, 1, 2), True, 1, 0.0, False, True),
    ]


def _hidden(entries: int) -> F:
    return F(entries, _N, _H)


def _hidden_and_cell(entries: int, width: int = _H) -> tuple[F, F]:
    return F(entries, _N, width), F(entries, _N, _H)


_LSTM_PROJECTED = S(F(_T, _N, _I), _hidden_and_cell(1, 1), _weights(4, projection=1), True, 1, 0.0, False, False, False)

SAMPLES: dict[str, list[Sample]] = {
    "lstm": [*_networks(4, _hidden_and_cell), _LSTM_PROJECTED],
    "gru": _networks(3, _hidden),
    "rnn_tanh": _networks(1, _hidden),
    "rnn_relu": _networks(1, _hidden),
    "lstm_cell": [S(F(_N, _I), [F(_N, _H), F(_N, _H)], *_weights(4))],
    "gru_cell": [S(F(_N, _I), F(_N, _H), *_weights(3)), S(F(_N, _I), F(_N, _H), *_weights(3, bias=False))],
    "rnn_tanh_cell": [S(F(_N, _I), F(_N, _H), *_weights(1))],
    "rnn_relu_cell": [S(F(_N, _I), F(_N, _H), *_weights(1))],
}
