"""Recurrent networks with options, inputs and initial states, for torch and for Rushlight alike.

A case is (name, class, options, form of the input). The forms: "batch" (T, N, I) or (N, T, I), "single" (T, I),
"packed" and "unsorted" packed sequences of different lengths.
"""

import numpy as np

T, N, I, H = 5, 3, 3, 4
LENGTHS = {"packed": [5, 3, 2], "unsorted": [3, 5, 2]}

CASES = [
    ("lstm", "LSTM", {}, "batch"),
    ("lstm single", "LSTM", {"batch_first": True}, "single"),
    ("lstm dropout", "LSTM", {"num_layers": 3, "dropout": 0.4, "bidirectional": True, "batch_first": True}, "batch"),
    ("lstm projection", "LSTM", {"proj_size": 2, "num_layers": 2, "bidirectional": True, "bias": False}, "batch"),
    ("lstm packed", "LSTM", {"num_layers": 2, "bidirectional": True, "dropout": 0.3}, "packed"),
    ("lstm packed projection", "LSTM", {"proj_size": 3}, "unsorted"),
    ("gru", "GRU", {}, "batch"),
    ("gru single", "GRU", {"bidirectional": True}, "single"),
    ("gru dropout", "GRU", {"num_layers": 2, "dropout": 0.5, "bias": False}, "batch"),
    ("gru packed", "GRU", {"num_layers": 2, "bidirectional": True}, "unsorted"),
    ("rnn", "RNN", {"num_layers": 2, "dropout": 0.25}, "batch"),
    ("rnn relu", "RNN", {"nonlinearity": "relu", "bidirectional": True, "batch_first": True}, "batch"),
    ("rnn packed", "RNN", {"nonlinearity": "relu", "num_layers": 2}, "packed"),
]
CELLS = [
    ("lstm cell", "LSTMCell", {}),
    ("gru cell", "GRUCell", {"bias": False}),
    ("rnn cell", "RNNCell", {}),
    ("relu cell", "RNNCell", {"nonlinearity": "relu"}),
]


def _states(torch, kind, options, form, dtype):
    directions = 2 if options.get("bidirectional") else 1
    lead = (options.get("num_layers", 1) * directions, *(() if form == "single" else (N,)))
    h = torch.randn(*lead, options.get("proj_size") or H, dtype=dtype, requires_grad=True)
    return (h, torch.randn(*lead, H, dtype=dtype, requires_grad=True)) if kind == "LSTM" else (h,)


def _score(values):
    """A number that depends on every element differently."""
    return sum((v * v * 0.5 + v).cumsum(-1).sum() for v in values)


def run(torch, kind, options, form, dtype_name):
    """Results, gradients, and the parameters and losses of three steps, as a list of arrays."""
    torch.manual_seed(7)
    dtype = getattr(torch, dtype_name)
    net = getattr(torch.nn, kind)(I, H, dtype=dtype, **options)
    shape = (T, I) if form == "single" else (N, T, I) if options.get("batch_first") else (T, N, I)
    x = torch.randn(*shape, dtype=dtype, requires_grad=True)
    states = _states(torch, kind, options, form, dtype)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    rnn, arrays = torch.nn.utils.rnn, []
    for step in range(3):
        given = x
        if form in LENGTHS:
            given = rnn.pack_padded_sequence(x, LENGTHS[form], enforce_sorted=form == "packed")
        hx = states if kind == "LSTM" else states[0]
        output, last = net(given) if step == 2 else net(given, hx)  # the last step starts at zero
        if form in LENGTHS:
            output, _ = rnn.pad_packed_sequence(output)
        results = [output, *(last if kind == "LSTM" else [last])]
        loss = _score(results)
        optimizer.zero_grad()
        loss.backward()
        arrays += [r.detach().numpy() for r in results] if step == 0 else []
        arrays += [loss.detach().numpy()]
        if step == 0:
            arrays += [t.grad.numpy().copy() for t in (x, *states, *net.parameters())]
        optimizer.step()
    return arrays


def run_cell(torch, kind, options, dtype_name):
    """The state after four steps of a cell, and the gradients."""
    torch.manual_seed(7)
    dtype = getattr(torch, dtype_name)
    cell = getattr(torch.nn, kind)(I, H, dtype=dtype, **options)
    x = torch.randn(4, N, I, dtype=dtype, requires_grad=True)
    state = None
    for entry in x:
        state = cell(entry, state)
    results = state if isinstance(state, tuple) else (state,)
    _score(results).backward()
    return [r.detach().numpy() for r in results] + [t.grad.numpy() for t in (x, *cell.parameters())]


def recorded(torch):
    """Every case's arrays by 'name|dtype|position'."""
    found = {}
    for dtype in ("float32", "float64"):
        made = {name: run(torch, *case, dtype) for name, *case in CASES}
        made |= {name: run_cell(torch, *case, dtype) for name, *case in CELLS}
        for name, arrays in made.items():
            found |= {f"{name}|{dtype}|{i:02}": np.asarray(a) for i, a in enumerate(arrays)}
    return found
