"""Functions of torch and torch.nn.functional by kind."""

THEMES = {
    "pointwise",
    "reductions",
    "shapes",
    "linear_algebra",
    "functional",
    "losses",
    "signals",
    "integer_functions",
    "wrong_calls",
}

_UNARY = (
    "{abs|neg|exp|exp2|expm1|log|log2|log10|log1p|sqrt|rsqrt|sin|cos|tan|asin|acos|atan|sinh|cosh|tanh|asinh|acosh|atanh|sigmoid|logit|erf|erfc|erfinv|floor|ceil|round|trunc|frac|sign|sgn|signbit|square|"
    "reciprocal|positive|relu|deg2rad|rad2deg|lgamma|digamma|i0|sinc|angle|isnan|isinf|isfinite|isposinf|isneginf|logical_not|nan_to_num|selu|celu|special.expit|special.ndtr|special.ndtri|special.log_ndtr|special.entr|"
    "special.erfcx|special.i0e|special.i1|special.i1e|special.bessel_j0|special.bessel_j1|special.gammaln|special.psi|special.log_softmax|special.expm1|mvlgamma}"
)


def pointwise(p):
    for _ in range(9):
        name = p.let(p.choice(f"torch.{_UNARY}({{f}})", f"torch.{_UNARY}({{r}})", f"torch.{_UNARY}({{x}})", "torch.clamp({x}, {num}, {num})", "torch.where({x} > 0, {x}, {like})", "torch.lerp({f}, {same}, {num})", "torch.addcmul({f}, {same}, {same}, value={num})", "torch.addcdiv({f}, {same}, {same}, value=0.5)", "torch.nan_to_num({f}, {num}, {num})",
            "torch.polygamma({0|1|2}, {f})", "torch.special.{zeta|xlogy|xlog1py|gammainc|gammaincc}({f}.abs(), {same}.abs())", "torch.mvlgamma({f}.abs() + 3, {1|2})", "torch.round({f}, decimals={1|2|-1})", "torch.{pow|float_power}({f}, {like})", "torch.{pow}({r}.abs(), {num})", "torch.div({x}, {like}, rounding_mode='{floor|trunc}')", "torch.frexp({f})", "torch.logit({f}, eps={0.1|1e-6})", "torch.{atan2|hypot|logaddexp|logaddexp2|copysign|fmod|remainder|xlogy|maximum|fmax}({r}, {like})", "torch.ldexp({f}, {i})", "torch.bitwise_{and|or|xor|left_shift|right_shift}({i}, {like})", "torch.cross({f}, {same}, dim={dim})", "torch.cumulative_trapezoid({f})", "torch.trapezoid({f}, dx={num}, dim={dim})"))  # fmt: skip
        _backward(p, name)


def _backward(p, name, chance=0.5):
    """Gradients of what has been computed, to the leaves of the program."""
    if (
        not name
        or not p.chance(chance)
        or not isinstance(p.value(name), p.torch.Tensor)
        or not p.value(name).requires_grad
    ):
        return
    leaves = [n for n in p.names if p.value(n).is_leaf and p.value(n).requires_grad]
    weight = p.choice(
        f"{name}.sum()",
        f"({name} * {name}).mean()",
        f"({name} * torch.arange({name}.numel()).view({name}.shape)).sum()",
    )
    if p.value(name).dtype.is_floating_point and leaves:
        p.do(f"torch.autograd.grad({weight}, [{', '.join(leaves)}], retain_graph=True, allow_unused=True)")


def reductions(p):
    for _ in range(9):
        name = p.let(p.choice(
            "torch.{sum|mean|prod|std|var|amax|amin|any|all|argmax|argmin|median|nanmedian|nansum|nanmean|count_nonzero|logsumexp|max|min|mode|std_mean|var_mean|aminmax|norm|numel|trace|histc|unique|cummax|is_nonzero}({x})",
            "torch.{sum|mean|prod|std|var|amax|amin|any|all|argmax|argmin|median|nanmedian|nansum|nanmean|logsumexp|max|min|mode|std_mean|var_mean|softmax|log_softmax|cumsum|cumprod|cummax|cummin|logcumsumexp|argsort|sort|flip}({x}, {dim})",
            "torch.{sum|mean|prod|std|var|amax|amin|any|all|argmax|median|nansum|logsumexp|max|min|mode|std_mean}({r}, dim={dim}, keepdim={bool})",
            "torch.{sum|mean|std|var|amax|amin|nansum|logsumexp|any|all|count_nonzero|norm}({x}, dim={dims})", "torch.{sum|mean|std|amax|logsumexp}({r}, dim={dims}, keepdim={bool})",
            "torch.{sum|mean|prod|cumsum|cumprod|nansum}({x}, {dim}, dtype={dtype})", "torch.{std|var|std_mean}({f}, {dims}, correction={0|1|2|0.5})", "torch.{std|var}({f}, unbiased={bool})", "torch.{std|var}({r}, {dim}, {bool})", "torch.norm({r}, p={1|2|3|0|float('inf')|'fro'|-1}, dim={dim})", "torch.linalg.{vector_norm}({r}, {0|1|2|float('inf')|3.5|-2}, {dims})", "torch.aminmax({x}, dim={dim})", "torch.{quantile|nanquantile}({f}, {0.5|0.2|torch.tensor([0.1, 0.9])}, dim={dim})", "torch.quantile({r}, {0.5|0.3}, keepdim={bool}, interpolation='{linear|lower|higher|midpoint|nearest}')", "torch.{kthvalue|topk}({f}, {n}, {dim})", "torch.dist({f}, {same}, {1|2|float('inf')})", "torch.diff({x}, dim={dim}, n={1|2})", "torch.cov({m})", "torch.corrcoef({m})", "torch.unique({x}, return_inverse={bool}, return_counts={bool})", "torch.unique({x}, dim={dim})", "torch.unique_consecutive({x}, return_counts=True)", "torch.bincount({i}.flatten())", "torch.histogram({f}, {3|5})", "torch.renorm({r}, {1|2}, {dim}, {num})", "torch.cdist({m}, {m})", "torch.pdist({m})", "{x}.sum().item()", "{x}.max()", "{x}.argmin({dim}, keepdim={bool})", "torch.gradient({f})", "torch.equal({x}, {x})", "torch.allclose({f}, {same})", "torch.cumsum({r}, {dim})", "torch.cumprod({r}, {dim})"))  # fmt: skip
        _backward(p, name)


def shapes(p):
    for _ in range(9):
        name = p.let(p.choice(
            "torch.{cat|stack|hstack|vstack|dstack|column_stack|row_stack}([{x}, {same}])", "torch.{cat|stack|concat}([{r}, {same}, {same}], {dim})", "torch.cat(({x}, {x}), {dim})", "torch.{split|chunk|tensor_split}({r}, {n}, {dim})", "torch.split({x}, [1, 2], {dim})", "torch.{sort|argsort}({i}, {1|0|-1})", "torch.sort({r}, {dim}, {bool})", "torch.sort({x}, stable=True)", "torch.topk({f}, {n}, {dim}, {bool}, {bool})", "torch.searchsorted(torch.tensor([0., 1, 2]), {f}, right={bool})", "torch.bucketize({x}, torch.tensor([0, 1, 5]))",
            "torch.gather({r}, {dim}, torch.zeros_like({x}, dtype=torch.long))", "torch.scatter({x}, {dim}, torch.zeros_like({x}, dtype=torch.long), {same})", "{r}.scatter_add({dim}, torch.zeros({shape}, dtype=torch.long), {same})", "{r}.scatter_reduce({dim}, torch.zeros_like({r}, dtype=torch.long), {same}, '{sum|amax|mean|prod}', include_self={bool})", "torch.index_add({r}, {dim}, torch.tensor([0, 0]), {same})", "torch.index_select({r}, {dim}, torch.tensor([0, 0]))", "torch.masked_select({r}, {r} > 0)", "torch.take({x}, torch.tensor([[0, 1]]))", "torch.index_put({x}, [torch.tensor([0])], torch.tensor([1.]))", "torch.roll({r}, {1|-1|2}, {dim})", "torch.flip({r}, {dims})", "torch.rot90({x}, {k})", "torch.repeat_interleave({r}, {n}, {dim})", "torch.repeat_interleave({x}, torch.tensor([1, 2]), 0)", "torch.tile({r}, (2, 1))", "torch.kron({f}, {f})", "torch.outer({f}, {f})", "torch.tensordot({r}, {same}, {0|1|2})", "torch.einsum('{ij,jk->ik|ij->ji|i,i->|ij->|bij,bjk->bik|ii->i|...i,...i->...|ij,ij->i|i,j->ij}', {r}, {same})", "torch.einsum('{ij->ji|ij->|ii->i|...i->...|i->|ijk->kji}', {r})", "F.pad({r}, ({1|0|2}, {1|0|-1}), value={num})", "F.pad({r}, (1, 1), mode='{constant|reflect|replicate|circular}')", "torch.diagonal({r}, {0|1}, {dim}, {dim})", "torch.diagflat({r})", "torch.diag_embed({r})", "torch.tril({r}, {0|-1|1})", "torch.select_scatter({r}, torch.tensor(1.), {dim}, 0)", "torch.slice_scatter({r}, {same}, {dim})", "torch.diagonal_scatter({m}, torch.ones(2))", "torch.unravel_index(torch.tensor([3, 5]), (2, 3))", "torch.block_diag({r}, {r})", "torch.nn.utils.rnn.pad_sequence([{r}, {r}], batch_first={bool})", "torch.movedim({r}, {dims}, {dims})", "torch.combinations({f}, {n})", "torch.isin({x}, {x}, invert={bool})", "torch.where({x} > 0, {r}, {same})", "torch.broadcast_shapes({shape}, {shape})", "torch.masked_fill({r}, {r} > 0, {num})", "torch.meshgrid({f}, {f}, indexing='xy')", "torch.atleast_2d({r})", "torch.triu_indices({n}, {n})", "torch.pixel_shuffle(torch.randn(1, 4, 2, 2), {1|2|3})", "torch.unflatten({r}, {dim}, (1, -1))", "torch.cummax({r}, {dim})", "torch.msort({r})", "torch.stack([{r}, {r}], {dim})", "torch.index_fill({r}, {dim}, torch.tensor([0]), {num})", "torch.channel_shuffle(torch.randn(1, 4, 2, 2), 2)", "torch.squeeze({r}, {dim})"))  # fmt: skip
        _backward(p, name)


def linear_algebra(p):
    spd = "({s} @ {s}.mT + 3 * torch.eye({size}))"
    for _ in range(7):
        name = p.let(p.choice(
            "torch.{matmul|mm|dot|inner|mv|bmm|outer|kron|vdot|ger}({r}, {same})", "{r} @ {f}", "torch.addmm({m}, {m}, {m}, beta={num}, alpha={num})", "torch.addmv({f}, {m}, {f})", "torch.addr({m}, {f}, {f})", "torch.baddbmm(torch.randn(2, 3, 3), torch.randn(2, 3, 4), torch.randn(2, 4, 3), beta={num})", "torch.linalg.{det|slogdet|inv|cond|matrix_rank|svdvals|eigvals|pinv|matrix_norm|norm|qr|lu|lu_factor}({s})", f"torch.linalg.{{cholesky|eigvalsh|inv|det|slogdet}}({spd})", "torch.linalg.solve({s}, torch.ones(3))", "torch.linalg.lstsq({m}, torch.ones(3, 1)).solution", "torch.linalg.matrix_norm({m}, {'fro'|'nuc'|1|2|-1|float('inf')})", "torch.linalg.norm({m}, {1|2|'fro'|None|'nuc'|-2})", "torch.linalg.matrix_power({s}, {0|1|2|3})", "torch.linalg.multi_dot([torch.randn(2, 3), torch.randn(3, 4), torch.randn(4, 1)])", "torch.linalg.vander(torch.tensor([1., 2, 3]))", "torch.linalg.cross({f}, {same})", "torch.linalg.solve_triangular(torch.triu({s}), torch.ones(3, 2), upper={bool})", "torch.{det|logdet|slogdet|inverse|pinverse|trace|cholesky_inverse}({s})", "torch.linalg.matrix_exp({s}.clamp(-3, 3))", "torch.cdist({m}, {m}, p={1|2|3|float('inf')})", "torch.chain_matmul({m}, {m})", "torch.linalg.vecdot({r}, {same})", "torch.linalg.{svdvals}({m})", "torch.linalg.tensorinv(torch.randn(4, 2, 2), ind=1)", "torch.linalg.diagonal({m})", "torch.linalg.householder_product({m}, torch.randn(2))", "torch.tensordot({m}, {m}, dims=([{0|1}], [{0|1}]))", "torch.triangular_solve(torch.ones(3, 1), {s})"))  # fmt: skip
        _backward(p, name)


_ACTIVATE = "{relu|elu|selu|celu|gelu|silu|mish|softplus|softsign|tanhshrink|logsigmoid|hardtanh|hardswish|hardsigmoid|relu6|leaky_relu|hardshrink|softshrink|threshold|glu|sigmoid|tanh|normalize|gumbel_softmax|dropout|alpha_dropout}"


def functional(p):
    image, line = (
        "torch.randn({1|2}, {2|4}, {5|6}, {5|7}, requires_grad={bool})",
        "torch.randn({1|2}, {2|4}, {8|9}, requires_grad=True)",
    )
    for _ in range(7):
        name = p.let(p.choice(
            f"F.{_ACTIVATE}({{f}})", f"F.{_ACTIVATE}({{r}})", "F.{elu|celu|leaky_relu|hardshrink|softshrink|gelu|softplus}({r}, {num})", "F.gelu({r}, approximate='tanh')", "F.threshold({r}, {num}, {num})", "F.{softmax|log_softmax|softmin|normalize}({r}, dim={dim})", "F.dropout({f}, {0.5|0.1|1.0|0.0}, training={bool})", "F.{dropout1d|dropout2d}({f}, 0.5)", "F.linear({r}, torch.randn({n}, {size}), torch.randn({n}))", "F.linear({r}, torch.randn(4, {size}))", "F.bilinear({f}, {same}, torch.randn(2, {size}, {size}))", f"F.conv2d({image}, torch.randn(4, {{1|2|4}}, {{1|2|3}}, 3), stride={{1|2}}, padding={{0|1|'same'|'valid'|(1, 0)}}, dilation={{1|2}}, groups={{1|2}})", f"F.conv1d({line}, torch.randn(4, {{2|4|1}}, 3), stride={{1|2}}, padding={{0|1}}, groups={{1|2|4}})", f"F.conv_transpose2d({image}, torch.randn({{2|4}}, 2, 3, 3), stride={{1|2}}, padding={{0|1}}, output_padding={{0|1}})", f"F.{{max_pool2d|avg_pool2d}}({image}, {{2|3}}{{|, stride=1}})", f"F.max_pool2d({image}, {{2|3}}, stride={{1|2}}, padding={{0|1}}, ceil_mode={{bool}}, return_indices={{bool}})", f"F.avg_pool2d({image}, {{2|3}}, {{1|2}}, {{0|1}}, {{bool}}, {{bool}})", f"F.adaptive_{{avg|max}}_pool2d({image}, {{1|3|(2, None)}})", f"F.interpolate({image}, scale_factor={{2|0.5|1.5}}, mode='{{nearest|bilinear|bicubic|area|nearest-exact}}')", f"F.interpolate({image}, size={{3|(4, 9)}}, mode='{{bilinear|bicubic}}', align_corners={{bool}})", f"F.{{max_pool1d|avg_pool1d}}({line}, {{2|3}}, {{1|2}})", f"F.{{unfold}}({image}, {{2|3}}, padding={{0|1}})", f"F.grid_sample({image}, torch.rand({{1|2}}, 3, 3, 2) * 2.2 - 1.1, mode='{{bilinear|nearest|bicubic}}', padding_mode='{{zeros|border|reflection}}', align_corners={{bool}})", "F.affine_grid(torch.randn(1, 2, 3), (1, 1, {n}, {n}), align_corners={bool})", f"F.{{batch_norm}}({image}, torch.zeros({{2|4}}), torch.ones({{2|4}}), training={{bool}})", f"F.instance_norm({image})", f"F.group_norm({image}, {{1|2}})", "F.layer_norm({r}, ({size},))", "F.rms_norm({r}, ({size},))", "F.local_response_norm(torch.randn(1, 4, 3, 3), 2)", "F.embedding(torch.tensor([[0, 2], [1, 1]]), torch.randn(3, 4, requires_grad=True), padding_idx={None|0|-1})", "F.embedding_bag(torch.tensor([0, 2, 1]), torch.randn(3, 4, requires_grad=True), torch.tensor([0, 2]), mode='{sum|mean|max}')", "F.one_hot({i}.long().abs() % 4, {4|-1|5})", "F.cosine_similarity({r}, {same}, dim={dim})", "F.pairwise_distance({r}, {same})", "F.pixel_{shuffle|unshuffle}(torch.randn(1, 4, 4, 4), 2)", "F.scaled_dot_product_attention(torch.randn(1, 2, 4, 8), torch.randn(1, 2, 5, 8), torch.randn(1, 2, 5, 8), is_causal={bool})", "F.scaled_dot_product_attention(torch.randn(2, 4, 8, requires_grad=True), torch.randn(2, 5, 8), torch.randn(2, 5, 8), attn_mask=torch.rand(4, 5) > {0.5|0.2})", "F.prelu({r}, torch.tensor([0.2]))", "F.rrelu({r}, training={bool})", "F.pad(torch.randn(1, 2, 4, 4), ({k}, {k}, {k}, {k}), mode='{reflect|replicate|circular|constant}')", "F.fold(torch.randn(1, 8, 9), (4, 4), 2)", "F.conv3d(torch.randn(1, 2, 4, 4, 4), torch.randn(3, 2, 2, 2, 2), padding={0|1})", "F.softmax({i}.float(), -1)", "F.max_unpool2d(*F.max_pool2d(torch.randn(1, 1, 4, 4), 2, return_indices=True), 2)"))  # fmt: skip
        _backward(p, name, 0.7)


def losses(p):
    kept = "reduction='{mean|sum|none}'"
    for _ in range(7):
        name = p.let(p.choice(
            f"F.{{mse_loss|l1_loss|smooth_l1_loss|huber_loss|soft_margin_loss}}({{r}}, {{same}}, {kept})", f"F.binary_cross_entropy({{r}}.sigmoid(), {{same}}.double().sigmoid().float(), {kept})", f"F.binary_cross_entropy_with_logits({{r}}, {{same}}.sigmoid(), {kept}, pos_weight={{None|torch.tensor(2.)}})", f"F.cross_entropy(torch.randn(4, {{3|5}}, requires_grad=True), torch.randint(0, 3, (4,)), {kept}, label_smoothing={{0.0|0.1}}, ignore_index={{-100|1}})", f"F.cross_entropy(torch.randn(2, 3, {{4|5}}, requires_grad=True), torch.randint(0, 3, (2, {{4|5}})), weight={{None|torch.tensor([1., 2, 0.5])}}, {kept})", f"F.cross_entropy(torch.randn(4, 3, requires_grad=True), torch.randn(4, 3).softmax(1), {kept})", f"F.nll_loss(F.log_softmax(torch.randn(4, 3, requires_grad=True), 1), torch.randint(0, {{3|4}}, (4,)), {kept})", f"F.kl_div({{r}}, {{same}}.abs(), {kept}, log_target={{bool}})", "F.kl_div({r}.log_softmax(-1), {same}.softmax(-1), reduction='batchmean')", f"F.cosine_embedding_loss(torch.randn(3, 4, requires_grad=True), torch.randn(3, 4), torch.tensor([1, -1, 1]), margin={{num}}, {kept})", f"F.margin_ranking_loss({{r}}, {{same}}, {{same}}.sign(), margin={{num}}, {kept})", f"F.triplet_margin_loss(torch.randn(3, 4, requires_grad=True), torch.randn(3, 4), torch.randn(3, 4), {kept}, swap={{bool}})", f"F.hinge_embedding_loss({{r}}, {{same}}.sign(), {kept})", f"F.poisson_nll_loss({{r}}, {{same}}.abs(), full={{bool}}, log_input={{bool}}, {kept})", f"F.gaussian_nll_loss({{r}}, {{same}}, {{same}}.abs(), {kept}, full={{bool}})", f"F.multi_margin_loss(torch.randn(4, 3, requires_grad=True), torch.randint(0, 3, (4,)), p={{1|2}}, {kept})", f"F.multilabel_margin_loss(torch.randn(2, 4, requires_grad=True), torch.tensor([[3, 0, -1, 1], [1, -1, 0, 0]]), {kept})", f"F.multilabel_soft_margin_loss(torch.randn(2, 4, requires_grad=True), torch.rand(2, 4).round(), {kept})", f"F.ctc_loss(torch.randn(6, 2, 4, requires_grad=True).log_softmax(2), torch.randint(1, 4, (2, 3)), torch.tensor([6, 5]), torch.tensor([3, 2]), {kept})", "F.smooth_l1_loss({r}, {same}, beta={num})", "F.huber_loss({r}, {same}, delta={num})", "F.triplet_margin_with_distance_loss(torch.randn(3, 4), torch.randn(3, 4), torch.randn(3, 4, requires_grad=True))", "F.mse_loss({r}, {like})"))  # fmt: skip
        _backward(p, name, 0.8)


def signals(p):
    patterns = ["torch.fft.{fft|ifft|rfft|hfft|ihfft|irfft}({f}{|, 4|, 5|, 8})", "torch.fft.{fft|rfft}({r}, dim={dim}, norm='{ortho|forward|backward}').abs()", "torch.fft.{fft2|ifft2|rfft2|fftn|rfftn}({f})", "torch.fft.{fftfreq|rfftfreq}({n}, {num})", "torch.fft.{fftshift|ifftshift}({x}{|, 0})", "torch.stft(torch.randn({40|2, 40}), {8|16}, window=torch.hann_window({8|16}), return_complex=True, center={bool}, onesided={bool}, normalized={bool})", "torch.istft(torch.stft(torch.randn(40), 8, window=torch.hann_window(8), return_complex=True), 8, window=torch.hann_window(8))", "torch.signal.windows.{hann|hamming|blackman|cosine|bartlett|nuttall}({n}, sym={bool})", "torch.signal.windows.{gaussian|exponential|kaiser}({n})", "torch.fft.irfft(torch.fft.rfft({r}), {4|5})", "F.conv1d(torch.randn(1, 1, 9), torch.randn(1, 1, 3), padding={0|1|2})", "torch.cumsum({f}, -1)", "torch.trapezoid({f})"]  # fmt: skip
    for _ in range(7):
        _backward(p, p.let(p.choice(*patterns)))


def integer_functions(p):
    p.some(["{i} {//|%|<<|>>|&|^|**|+|-|*|/} {like}", "{i} {//|%|**|/|>>} {2|3|-2|0|2.5}", "torch.{gcd|lcm|bitwise_and|floor_divide|remainder|fmod|div|pow|maximum}({i}, {same})", "torch.{sum|prod|cumsum|cumprod|max|median|mode|unique|sort|argsort}({i}{|, 0|, -1})", "{i}.{float|double|half|bool|byte|char|short|int|long}()", "{f}.{int|long|short|char|byte|bool}()", "(~{i})", "{i}.{topk|kthvalue}({n})", "{i}.{bincount|abs|neg|sign|square|sqrt|exp|mean|sum|float|all|any|std|tril|bitwise_not|nonzero|histc}()", "torch.div({i}, {same}, rounding_mode='{floor|trunc}')", "torch.iinfo({dtype}).{max|min|bits}", "torch.finfo({fdtype}).{max|eps|tiny|bits|smallest_normal}", "torch.clamp({i}, {num}, {num})", "{i} * {num}", "{i}.sum(dtype={dtype})", "torch.tensor({300|-1|2**40|2**63|1.7|float('nan')}, dtype={torch.uint8|torch.int8|torch.int32|torch.int64|torch.bool})", "{i}.to({dtype}) + {num}", "torch.ones(3, dtype={dtype}) / {num}"], 10)  # fmt: skip


def wrong_calls(p):
    p.some(["torch.{add|mul|matmul|mm|bmm|dot|cat|stack|cross|maximum|where|logaddexp|outer}({x}, {x})", "F.{linear|mse_loss|cross_entropy|nll_loss|conv2d|conv1d|layer_norm|batch_norm|embedding|bilinear|kl_div}({x}, {x})", "{x}.view({n}, {n})", "{x}.reshape({shape})", "{x}.expand({shape})", "{x}.permute({0|0, 0|5, 1|-1})", "{x}.{sum|mean|softmax|max|cumsum|squeeze|unsqueeze|flip|unbind|sort}({5|-7|'a'|1.5|None|(0, 0)})", "{x}[{k}, {k}, {k}]", "{x}.backward()", "{x}.item()", "bool({x})", "int({x})", "float({x})", "len({x})", "{x}.numpy()", "nn.Linear({n}, {n})({f})", "nn.Conv2d({n}, {n}, {n})({f})", "nn.Embedding({n}, {n})({x})", "nn.LSTM({n}, {n})({f})", "nn.BatchNorm1d({n})({f})", "nn.CrossEntropyLoss()({f}, {i})", "torch.zeros({-1|'a'|2.5|(2, -1)|[]|[2.0]|None})", "torch.arange({0, 5, 0|5, 0, 1|'a'|1j|5, -5, 1})", "torch.tensor({'a'|[1, 'b']|[[1], [2, 3]]|None|[None]|object()|print})", "{x}.foo", "torch.foo", "{x}.add_({like}.double())", "{x}.copy_({x})", "{x}.index_select({dim}, {x})", "torch.gather({x}, {dim}, {x})", "{x}.scatter_({dim}, {i}, {x})", "torch.cat([])", "torch.stack([])", "torch.eye({-1|2.5})", "torch.linspace(0, 1)", "torch.randint({0|5, 2|-1}, (2,))", "torch.multinomial({f}, {n})", "{x}.requires_grad_()", "torch.autograd.grad({x}, {x})", "torch.einsum('{ij,jk|ij,kl->ijm|ii|i,j->}', {x}, {x})", "F.{dropout|softmax|one_hot|pad|interpolate}({x}, {-1|5|2})", "torch.linalg.{inv|det|cholesky|solve|qr}({x})", "torch.norm({x}, {num})", "torch.chunk({x}, {0|-1})", "torch.split({x}, {0|-1|[1]})", "torch.clamp({x})", "torch.topk({x}, {7|-1})", "{x} @ {x}", "{x} + {'a'|None|[1]|(1, 2)}", "nn.{Linear|Conv2d|Dropout|Embedding|MultiheadAttention|BatchNorm2d}({-1, 2|1.5|0, 1|3, 2|'a'})", "torch.optim.{SGD|Adam}({[]|None|[1]})", "torch.bucketize({x}, {x})", "torch.nn.init.{xavier_uniform_|kaiming_normal_|orthogonal_|eye_}({x})"], 10)  # fmt: skip
