"""Attention and transformer modules in training: the same program under torch and Rushlight, in double precision.

`run` gives a sum of each initial parameter, the result, all gradients, the sums after three steps, the next random
number (dropout must have drawn as many), and the results in evaluation.
"""

import numpy as np

PADDING = np.array([[0, 0, 0, 0, 0], [0, 0, 0, 1, 1], [0, 0, 0, 0, 1]], bool)
HIDDEN = np.array([[0, 1, 0, 0, 1], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0], [0, 1, 1, 0, 0], [0, 0, 0, 0, 0]], bool)
ATTENTION, ENCODER, DECODER = (
    "MultiheadAttention(8, 2",
    "TransformerEncoderLayer(8, 2, 7",
    "TransformerDecoderLayer(8, 2, 7",
)
STACK = "TransformerEncoder(nn." + ENCODER
Q, K, M = (5, 3, 8), (5, 3, 6), (4, 3, 8)

# the module's source up to its closing bracket, shapes of the inputs (one shape: the same tensor for query, key and value), masks and options
CASES = {
    "attention": (ATTENTION, [Q], {}),
    "attention with dropout and masks": (ATTENTION + ", 0.3", [Q], {"attn_mask": HIDDEN, "key_padding_mask": PADDING}),
    "attention without weights": (ATTENTION + ", 0.3", [Q], {"attn_mask": HIDDEN, "need_weights": False}),
    "attention, added masks": (
        ATTENTION,
        [Q],
        {"attn_mask": HIDDEN * 1.5, "key_padding_mask": PADDING * -2.5, "need_weights": False},
    ),
    "attention, a mask for each head": (
        ATTENTION,
        [Q],
        {"attn_mask": np.stack([HIDDEN * i for i in range(6)]) * 0.5, "average_attn_weights": False},
    ),
    "attention, other features": (ATTENTION + ", kdim=6, vdim=6", [Q, K, K], {"average_attn_weights": False}),
    "attention, more keys": (
        ATTENTION + ", bias=False, add_bias_kv=True, add_zero_attn=True",
        [Q, Q, Q],
        {"attn_mask": HIDDEN, "key_padding_mask": PADDING},
    ),
    "attention to memory": (ATTENTION + ", batch_first=True", [(3, 4, 8), (3, 5, 8)], {"key_padding_mask": PADDING}),
    "attention without batch": (ATTENTION, [(5, 8)], {"attn_mask": HIDDEN, "key_padding_mask": PADDING[1]}),
    "causal attention": (ATTENTION, [Q], {"attn_mask": "causal", "is_causal": True, "need_weights": False}),
    "encoder layer": (ENCODER + ", 0.2", [Q], {"src_mask": HIDDEN}),
    "encoder layer, norm first": (ENCODER + ", 0.2, 'gelu', norm_first=True, bias=False", [Q], {"src_mask": "causal"}),
    "decoder layer": (DECODER + ", 0.2, torch.tanh", [Q, M], {"tgt_mask": HIDDEN}),
    "decoder layer, norm first": (
        DECODER + ", 0.2, batch_first=True, norm_first=True",
        [(3, 4, 8), (3, 5, 8)],
        {"tgt_mask": "causal", "memory_key_padding_mask": PADDING, "tgt_is_causal": True},
    ),
    "encoder with padding": (
        STACK + ", 0.1, batch_first=True), 2, nn.LayerNorm(8)",
        [(3, 5, 8)],
        {"src_key_padding_mask": PADDING},
    ),
    "causal encoder": (STACK + ", batch_first=True), 2", [(3, 5, 8)], {"mask": "causal"}),
    "decoder": (f"TransformerDecoder(nn.{DECODER}), 2", [Q, M], {"tgt_mask": "causal"}),
    "transformer": ("Transformer(8, 2, 1, 2, 7", [Q, M], {"tgt_mask": HIDDEN[:4, :4] * 1.0, "src_mask": "causal"}),
}


def make(torch, name):
    """The module of a case, with the same seed every time."""
    torch.manual_seed(len(name))
    source = CASES[name][0]
    module = eval(f"nn.{source})", {"nn": torch.nn, "torch": torch})
    return module.double()


def inputs(torch, name):
    """The arguments of a case's call: tensors that want gradients, and masks."""
    _, shapes, options = CASES[name]
    numbers = np.random.RandomState(len(name))
    tensors = [torch.tensor(numbers.randn(*shape), requires_grad=True) for shape in shapes]
    masks = {k: torch.tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    for k, v in masks.items():
        if isinstance(v, str):
            size = shapes[0][1 if shapes[0] in ((3, 5, 8), (3, 4, 8)) else 0]
            masks[k] = torch.nn.Transformer.generate_square_subsequent_mask(size, dtype=torch.float64)
    return tensors, masks


def run(torch, name):
    """The numbers of a case as NumPy arrays."""
    module, (tensors, options) = make(torch, name), inputs(torch, name)
    arguments = tensors
    if isinstance(module, torch.nn.MultiheadAttention):
        arguments = (tensors + [tensors[-1]] * 2)[:3]
    numbers = [_sums(torch, module)]
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    for step in range(3):
        results = _results(module(*arguments, **options))
        loss = sum((y * torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view(y.shape)).sum() for y in results)
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            numbers += results + [t.grad for t in tensors] + [p.grad for p in module.parameters()]
        optimizer.step()
    numbers += [_sums(torch, module), torch.rand(1)]
    module.eval()
    with torch.no_grad():
        numbers += _results(module(*arguments, **options))
    return [n.detach().numpy().copy() for n in numbers]


def _sums(torch, module):
    """One weighted sum of each parameter."""
    parameters = [p.detach().flatten() for p in module.parameters()]
    return torch.stack([(p * torch.linspace(1, 2, p.numel(), dtype=p.dtype)).sum() for p in parameters])


def _results(y):
    return [t for t in y if t is not None] if isinstance(y, tuple) else [y]


def words(torch, name):
    """What is printed of a module, and its state's names."""
    module = make(torch, name)
    return [repr(module), list(module.state_dict()), [n for n, _ in module.named_parameters()]]
