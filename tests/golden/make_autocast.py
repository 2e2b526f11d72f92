"""Write autocast.json: the result types of operators inside autocast regions, as torch has them on the CPU.

Run: python tests/golden/make_autocast.py, with torch installed. A case is an expression over `T` (the package), `F`
(its nn.functional), `nn`, `x(*shape)` (a first tensor), `y(*shape)` (further ones), `i(*shape)` (integers) and
`square(n)` (a positive definite matrix); a kind names the types of `x` and `y`. Where torch refuses, the answer is None.
"""

import json
from pathlib import Path

KINDS = {
    "float32": ("float32", "float32"),
    "bfloat16": ("bfloat16", "bfloat16"),
    "float16": ("float16", "float16"),
    "float64": ("float64", "float64"),
    "mixed": ("bfloat16", "float32"),
    "reversed": ("float32", "bfloat16"),
    "wide": ("float32", "float64"),
}

CASES = [
    # products and convolutions
    "T.mm(x(3, 4), y(4, 5))", "x(3, 4) @ y(4, 5)", "x(3, 4).matmul(y(4))", "x(4) @ y(4)", "x(4) @ y(4, 3)",
    "x(2, 3, 4) @ y(4, 5)", "x(2, 3, 4) @ y(2, 4, 5)", "T.bmm(x(2, 3, 4), y(2, 4, 5))", "x(2, 3, 4) @ y(4)",
    "T.addmm(x(3, 5), y(3, 4), y(4, 5))", "T.addbmm(x(3, 5), y(2, 3, 4), y(2, 4, 5))",
    "T.baddbmm(x(2, 3, 5), y(2, 3, 4), y(2, 4, 5))", "T.addmv(x(3), y(3, 4), y(4))", "T.addr(x(3), y(3), y(3))",
    "T.mv(x(3, 4), y(4))", "T.dot(x(4), y(4))", "T.vdot(x(4), y(4))", "T.inner(x(3, 4), y(2, 4))",
    "T.outer(x(3), y(4))", "T.linalg.vecdot(x(3, 4), y(3, 4))", "T.linalg.multi_dot([x(3, 4), y(4, 5), y(5, 2)])",
    "T.chain_matmul(x(3, 4), y(4, 5))", "T.einsum('ij,jk->ik', x(3, 4), y(4, 5))", "T.tensordot(x(3, 4), y(4, 5), 1)",
    "T.einsum('bij,bjk->bik', x(2, 3, 4), y(2, 4, 5))", "T.kron(x(2, 2), y(2, 2))", "T.cross(x(3), y(3))",
    "F.linear(x(3, 4), y(5, 4))", "F.linear(x(3, 4), y(5, 4), y(5))", "F.linear(x(2, 3, 4), y(5, 4), y(5))",
    "F.linear(x(4), y(5, 4), y(5))", "F.linear(x(2, 3, 4), y(5, 4))", "F.bilinear(x(3, 4), y(3, 5), y(2, 4, 5), y(2))",
    "F.conv1d(x(2, 3, 8), y(4, 3, 3), y(4))", "F.conv2d(x(2, 3, 8, 8), y(4, 3, 3, 3))",
    "F.conv2d(x(3, 8, 8), y(4, 3, 3, 3), y(4))", "F.conv3d(x(1, 2, 4, 4, 4), y(3, 2, 2, 2, 2), y(3))",
    "F.conv2d(x(2, 3, 8, 8), y(4, 3, 3, 3), y(4), padding='same')", "T.conv2d(x(2, 3, 8, 8), y(4, 3, 3, 3))",
    "F.conv_transpose1d(x(2, 3, 8), y(3, 4, 3), y(4))", "F.conv_transpose2d(x(2, 3, 8, 8), y(3, 4, 3, 3))",
    "F.conv_transpose3d(x(1, 2, 4, 4, 4), y(2, 3, 2, 2, 2))", "F.conv_tbc(x(8, 2, 3), y(3, 3, 4), y(4))",
    "F.scaled_dot_product_attention(x(2, 4, 6, 8), y(2, 4, 6, 8), y(2, 4, 6, 8))",
    "F.scaled_dot_product_attention(x(2, 4, 6, 8), y(2, 4, 6, 8), y(2, 4, 6, 8), y(6, 6))",
    "F.scaled_dot_product_attention(x(2, 6, 8), y(2, 6, 8), y(2, 6, 8), is_causal=True)", "F.prelu(x(2, 3, 4), y(3))",
    # modules
    "nn.Linear(4, 5)(x(3, 4))", "nn.Conv2d(3, 4, 3)(x(2, 3, 8, 8))", "nn.LayerNorm(4)(x(3, 4))",
    "nn.BatchNorm2d(3)(x(2, 3, 4, 4))", "nn.GroupNorm(1, 3)(x(2, 3, 4, 4))", "nn.RMSNorm(4)(x(3, 4))",
    "nn.LSTM(4, 5)(x(2, 3, 4))[0]", "nn.LSTM(4, 5)(x(2, 3, 4))[1][1]", "nn.GRU(4, 5)(x(2, 3, 4))[0]",
    "nn.LSTM(4, 5, 2, bidirectional=True)(x(2, 3, 4))[0]",
    "nn.RNN(4, 5)(x(2, 3, 4))[0]", "nn.LSTMCell(4, 5)(x(3, 4))[0]", "nn.LSTMCell(4, 5)(x(3, 4))[1]",
    "nn.GRUCell(4, 5)(x(3, 4))", "nn.RNNCell(4, 5)(x(3, 4))", "nn.Embedding(9, 4)(i(3))", "nn.PReLU()(x(3, 4))",
    "nn.MultiheadAttention(8, 2)(x(5, 3, 8), y(5, 3, 8), y(5, 3, 8))[0]", "nn.Sequential(nn.Linear(4, 5), nn.GELU())(x(3, 4))",
    "nn.TransformerEncoderLayer(8, 2, 16, 0.0)(x(5, 3, 8))", "nn.Bilinear(4, 5, 2)(x(3, 4), y(3, 5))",
    # losses
    "F.mse_loss(x(3, 4), y(3, 4))", "F.l1_loss(x(3, 4), y(3, 4))", "F.smooth_l1_loss(x(3, 4), y(3, 4))",
    "F.huber_loss(x(3, 4), y(3, 4))", "F.nll_loss(x(3, 4), i(3))", "F.nll_loss(x(2, 4, 3, 3), i(2, 3, 3))",
    "F.cross_entropy(x(3, 4), i(3))", "F.cross_entropy(x(3, 4), y(3, 4))",
    "F.cross_entropy(x(3, 4), i(3), y(4), label_smoothing=0.1)", "F.kl_div(x(3, 4), y(3, 4))",
    "F.binary_cross_entropy(x(3, 4), y(3, 4))", "F.binary_cross_entropy_with_logits(x(3, 4), y(3, 4))",
    "F.poisson_nll_loss(x(3, 4), y(3, 4))", "F.cosine_embedding_loss(x(3, 4), y(3, 4), i(3) * 0 + 1)",
    "F.hinge_embedding_loss(x(3, 4), y(3, 4))", "F.margin_ranking_loss(x(3), y(3), y(3))",
    "F.triplet_margin_loss(x(3, 4), y(3, 4), y(3, 4))",
    "F.multi_margin_loss(x(3, 4), i(3))", "F.multilabel_margin_loss(x(3, 4), i(3, 4))",
    "F.multilabel_soft_margin_loss(x(3, 4), y(3, 4))", "F.gaussian_nll_loss(x(3, 4), y(3, 4), y(3, 4))",
    "F.ctc_loss(x(5, 2, 4).log_softmax(-1), i(2, 2) + 1, (5, 5), (2, 2))", "F.mse_loss(x(3, 4), y(3, 4), reduction='none')",
    # float32 elsewhere
    "T.prod(x(3))", "T.prod(x(3, 4), 1)", "T.prod(x(3), dtype=T.float64)", "x(3, 4).prod()", "T.trace(x(3, 3))",
    "T.cdist(x(3, 4), y(5, 4))", "T.quantile(x(9), 0.5)", "T.nanquantile(x(9), 0.5)", "T.quantile(x(9), y(1) * 0)",
    "F.avg_pool3d(x(1, 2, 4, 4, 4), 2)", "F.adaptive_avg_pool3d(x(1, 2, 4, 4, 4), 2)",
    "F.adaptive_max_pool3d(x(1, 2, 4, 4, 4), 2)", "F.max_pool3d(x(1, 2, 4, 4, 4), 2)", "F.max_pool3d(x(1, 2, 4, 4, 4), 2, return_indices=True)[0]",
    "F.max_unpool2d(*F.max_pool2d(x(1, 2, 4, 4), 2, return_indices=True), 2)",
    "F.grid_sample(x(1, 2, 4, 4), y(1, 3, 3, 2), align_corners=False)",
    "F.grid_sample(x(1, 2, 4, 4, 4), y(1, 3, 3, 3, 3), align_corners=False)",
    "F.pad(x(2, 3, 4), (1, 1), 'reflect')", "F.pad(x(2, 3, 4, 4), (1, 1, 1, 1), 'reflect')",
    "F.pad(x(2, 3, 4), (1, 1), 'replicate')", "F.pad(x(2, 3, 4, 4), (1, 1, 1, 1), 'replicate')",
    "F.pad(x(2, 2, 3, 4, 4), (1, 1, 1, 1, 1, 1), 'replicate')", "F.pad(x(2, 2, 3, 4, 4), (1, 1, 1, 1, 1, 1), 'reflect')",
    "F.pad(x(2, 3, 4), (1, 1), 'circular')", "F.pad(x(2, 3), (1, 1))", "nn.ReflectionPad2d(1)(x(2, 3, 4, 4))",
    "T.linalg.cholesky(square(3))", "T.cholesky(square(3))", "T.linalg.cholesky_ex(square(3))[0]", "T.cholesky_inverse(square(3))",
    "T.cholesky_solve(y(3, 2), square(3))", "T.linalg.inv(square(3))", "T.inverse(square(3))", "square(3).inverse()", "T.linalg.inv_ex(square(3))[0]",
    "T.pinverse(square(3))", "T.linalg.qr(square(3))[1]", "T.qr(square(3))[1]",
    "T.linalg.svd(square(3))[1]", "T.svd(square(3))[1]", "T.linalg.svdvals(square(3))", "T.linalg.eigh(square(3))[0]",
    "T.linalg.eigvalsh(square(3))", "T.linalg.eig(square(3))[0]", "T.linalg.eigvals(square(3))",
    "T.linalg.solve(square(3), y(3, 2))", "T.linalg.lstsq(square(3), y(3, 2))[0]", "T.linalg.cond(square(3))",
    "T.linalg.cond(square(3), 'fro')", "T.linalg.matrix_rank(square(3))", "T.linalg.det(square(3))", "T.geqrf(square(3))[0]",
    "T.linalg.householder_product(square(3), y(3))", "T.orgqr(square(3), y(3))", "T.ormqr(square(3), y(3), y(3, 2))",
    "T.linalg.tensorinv(square(4).reshape(2, 2, 4), ind=2)", "T.linalg.tensorsolve(square(4).reshape(2, 2, 4), y(2, 2))",
    "T.triangular_solve(y(3, 2), square(3))[0]",
    "T.lu_solve(y(3, 2), *T.linalg.lu_factor(square(3).float()))", "T.linalg.lu_factor(square(3))[0]",
    "T.linalg.lu(square(3))[1]", "T.linalg.slogdet(square(3))[1]", "T.linalg.matrix_norm(square(3))",
    "T.linalg.matrix_exp(square(3))", "T.linalg.matrix_power(square(3), 3)", "T.view_as_complex(x(3, 2)).real",
    # the widest type
    "T.cat([x(3), y(3)])", "T.stack([x(3), y(3)])", "T.concat([x(3), y(3)])", "T.hstack([x(3), y(3)])",
    "T.vstack([x(3), y(3)])", "T.index_copy(x(3, 4), 0, i(2), y(2, 4))", "x(3, 4).index_copy(0, i(2), y(2, 4))",
    "T.cat([x(3), x(3)])", "T.column_stack([x(3), y(3)])",
    # whatever follows its inputs
    "x(3) + y(3)", "x(3) * y(3)", "x(3).exp()", "x(3).pow(2)", "x(3).sum()", "x(3).mean()", "T.softmax(x(3, 4), -1)",
    "T.log_softmax(x(3, 4), -1)", "F.softmax(x(3, 4), -1, dtype=T.float32)", "F.relu(x(3))", "F.gelu(x(3))", "F.silu(x(3))",
    "T.sigmoid(x(3))", "T.tanh(x(3))", "F.layer_norm(x(3, 4), (4,))", "F.layer_norm(x(3, 4), (4,), y(4), y(4))", "F.softplus(x(3))",
    "F.batch_norm(x(3, 4), T.zeros(4), T.ones(4))", "F.max_pool2d(x(1, 2, 4, 4), 2)", "F.avg_pool2d(x(1, 2, 4, 4), 2)",
    "F.adaptive_avg_pool2d(x(1, 2, 4, 4), 1)", "F.interpolate(x(1, 2, 4, 4), scale_factor=2)", "T.norm(x(3))",
    "F.cosine_similarity(x(3, 4), y(3, 4))", "F.normalize(x(3, 4))", "T.cumsum(x(3), 0)", "T.logsumexp(x(3), 0)", "T.addcmul(x(3), y(3), y(3))",
    "T.addcdiv(x(3), y(3), y(3) + 1)", "T.atan2(x(3), y(3))", "T.dist(x(3), y(3))", "F.pairwise_distance(x(3, 4), y(3, 4))", "F.pdist(x(3, 4))",
    "T.where(x(3) > 0, x(3), y(3))", "F.dropout(x(3), 0.5)", "F.embedding(i(3), x(9, 4))", "T.maximum(x(3), y(3))", "T.scatter_add(x(3), 0, i(2), x(2))",
    # in place and out=: never cast
    "x(3, 5).addmm_(y(3, 4), y(4, 5))", "x(2, 3, 5).baddbmm_(y(2, 3, 4), y(2, 4, 5))", "T.mm(x(3, 4), y(4, 5), out=T.empty(3, 5))",
    "T.cat([x(3), y(3)], out=T.empty(6))", "T.matmul(x(3, 4), y(4, 5), out=T.empty(3, 5))", "F.linear(x(3, 4), y(5, 4)).dtype is T.bfloat16",
]  # fmt: skip


def names(T, kind):
    """What a case's expression may name."""

    def ramp(dtype, *shape):
        n = 1
        for s in shape:
            n *= s
        return ((T.arange(n, dtype=T.float32) * 7 % 11 + 1) / 16).reshape(shape).to(getattr(T, dtype))

    def integers(*shape):
        n = 1
        for s in shape:
            n *= s
        return (T.arange(n) % 3).reshape(shape)

    def square(n):
        return (T.eye(n) * 4 + T.ones(n, n)).to(getattr(T, first))

    first, other = KINDS[kind]
    return {
        "T": T,
        "F": T.nn.functional,
        "nn": T.nn,
        "x": lambda *shape: ramp(first, *shape),
        "y": lambda *shape: ramp(other, *shape),
        "i": integers,
        "square": square,
    }


def answer(T, case, kind, dtype):
    """The type that a case's result has inside autocast(dtype); None where the package refuses."""
    try:
        with T.autocast("cpu", getattr(T, dtype)):
            result = eval(case, names(T, kind))
    except (RuntimeError, TypeError, NotImplementedError, ValueError):
        return None
    return result if isinstance(result, bool) else str(result.dtype).removeprefix("torch.")


def main():
    import warnings

    import torch

    warnings.simplefilter("ignore")
    table = {
        case: {dtype: {kind: answer(torch, case, kind, dtype) for kind in KINDS} for dtype in ("bfloat16", "float16")}
        for case in CASES
    }
    rows = [f"{json.dumps(case)}: {json.dumps(found)}" for case, found in table.items()]
    Path(__file__).with_name("autocast.json").write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
