"""Names that the other themes leave out: aliases, layers of volumes, losses as modules, cells, copies of views, polynomials."""

THEMES = {
    "aliases", "rarer_layers", "losses", "cells_and_decoders", "copies_of_views", "polynomials", "rarer_algebra", "new_tensors",
    "fused_modules",
}  # fmt: skip

_ALIASES = [
    "torch.{absolute|negative|fix|arccos|arcsin|arctan|arccosh|arcsinh|arctanh}({x})", "{x}.{absolute|negative|fix|arctan|arcsinh}()",
    "{f}.clone().{absolute_|negative_|fix_|arctan_|arcsinh_|arccos_|arcsin_}()", "torch.{subtract|divide|arctan2}({x}, {like})",
    "torch.{greater|greater_equal|less|less_equal|not_equal}({x}, {like|num})", "{x}.{greater|less_equal|not_equal}({like})",
    "{f}.clone().{greater_|less_|not_equal_}({num})", "torch.subtract({x}, {like}, alpha={num})", "torch.rsub({x}, {like|num}, alpha={num})",
    "torch.divide({x}, {like}, rounding_mode={None|'trunc'|'floor'})", "{f}.clone().{subtract_|divide_|arctan2_}({same})",
    "torch.{clamp_min|clamp_max}({x}, {num})", "{x}.clamp_{min|max}({num})", "{f}.clone().clamp_{min_|max_}({num})",
    "torch.concatenate([{f}, {same}], {dim})", "torch.atleast_{1|2|3}d({x})", "torch.{trapz|trapezoid}({f}, dx={0.5|2})",
    "torch.bitwise_right_shift({i}.int(), {1|2})", "{i}.bitwise_right_shift({same})", "torch.tril_indices({n}, {n}, {-1|0|1})",
    "torch.{bartlett|blackman|hamming|hann|kaiser}_window({n}, periodic={bool})", "torch.nonzero_static({x}, size={n}{|, fill_value=-2})",
    "torch.masked_scatter({f}, {f} > 0, {f})", "torch.index_copy({f}, {0|-1}, torch.tensor([0]), {f})",
    "{f}.put(torch.tensor([0, {0|1}]), torch.randn(2), accumulate={bool})", "torch.{igamma|igammac}({f}.abs() + 0.1, {same}.abs())",
    "torch.special.multigammaln({f}.abs() + 2, {1|2})", "{x}.ndimension()", "{f}.reshape_as({same})", "{x}.resize_as({same})",
    "torch.fft.{ifftn|irfftn|hfftn}({c}{|, norm='ortho'})", "torch.fft.{irfft2|hfft2|ihfft2}({f})", "{c}.cdouble()", "{x}.dim_order()",
    "torch.split_with_sizes({x}, [{1|2}, {1|2}], {dim})", "torch.unsafe_{chunk|split}({x}, {n}, {dim})", "torch.slice_inverse({f}, {f}, {dim}, 0, 1, 1)",
    "torch.segment_reduce(torch.arange(6.0), '{sum|mean|max|min}', lengths=torch.tensor([2, {0|1}, {3|4}]))",
    "torch.view_as_complex(torch.randn({n}, 2))", "torch.norm_except_dim({f}, 2, {0|-1})", "torch.{nuclear|frobenius}_norm({m})",
    "torch.histogramdd(torch.rand(5, 2), bins=[{2|3}, 2]{|, density=True})", "torch.hash_tensor({x})",
]  # fmt: skip

_LAYERS = [
    ("nn.AdaptiveAvgPool{1|2|3}d({1|2|3})", "2, 3, 5{|, 4|, 4, 6}"), ("nn.AdaptiveMaxPool{1|2|3}d({1|2|3}, return_indices={bool})", "2, 3, 5{|, 4|, 4, 6}"),
    ("nn.AvgPool3d({1|2}, stride={None|1}, padding={0|1}, ceil_mode={bool}, count_include_pad={bool})", "2, 2, 4, 5, 4"),
    ("nn.MaxPool3d({1|2}, stride={None|1|2}, padding={0|1}, ceil_mode={bool}, return_indices={bool})", "2, 2, 4, 5, 4"),
    ("nn.FractionalMaxPool3d(2, output_ratio=0.5, return_indices={bool}, _random_samples=torch.full((2, 2, 3), 0.3))", "2, 2, 4, 5, 4"),
    ("nn.LPPool{1|2|3}d({2|3}, 2{|, stride=1})", "2, 3, 5{|, 4|, 4, 6}"), ("nn.BatchNorm3d(2, momentum={0.1|None}, affine={bool})", "2, 2, 2, 3, 2"),
    ("nn.InstanceNorm{1|2|3}d(3, affine={bool}, track_running_stats={bool})", "2, 3, 5{|, 4|, 4, 6}"),
    ("nn.ConvTranspose3d(2, {2|4}, {1|2}, stride={1|2}, padding={0|1}, groups={1|2}, bias={bool})", "{1|2}, 2, 3, 4, 3"),
    ("nn.Conv3d(2, {2|4}, {1|2|3}, stride={1|2}, padding={0|1|'same'}, dilation={1|2}, groups={1|2}, padding_mode='{zeros|circular|replicate|reflect}')", "{1|2}, 2, 4, 5, 4"),
    ("nn.{Circular|Reflection|Replication|Zero}Pad{1|2|3}d({1|2})", "1, 2, 4{|, 4|, 4, 5}"), ("nn.ConstantPad{1|2|3}d({1|2|-1}, {0.5|-2})", "1, 2, 4{|, 4|, 4, 5}"),
    ("nn.Dropout{1d|2d|3d}({0.5|0.2})", "2, 3, 4{|, 4|, 4, 2}"), ("nn.FeatureAlphaDropout({0.5|0.2})", "2, 3, 4, 2"), ("nn.PixelUnshuffle(2)", "1, 2, 4, 6"),
    ("nn.Upsampling{Nearest|Bilinear}2d(scale_factor={2|3})", "1, 2, 3, 4"), ("nn.CrossMapLRN2d({2|3}, {1e-4|0.1}, 0.75, {1|2})", "2, 4, 3, 3"),
    ("nn.Lazy{Linear|Conv1d}({2|4}{|, 1})", "2, 3, 4"), ("nn.LazyConv2d(2, 2, padding={0|1})", "1, 3, 4, 4"), ("nn.LazyBatchNorm{1|2}d(momentum={0.1|None})", "3, 2, 4{|, 3}"),
    ("nn.LazyConvTranspose{1|2}d(2, 2, stride={1|2})", "1, 3, 4{|, 4}"), ("nn.LazyInstanceNorm{1|2}d(affine=True)", "2, 3, 4{|, 3}"),
    ("nn.SyncBatchNorm(3)", "2, 3, 4"), ("nn.DataParallel(nn.Linear(3, 2))", "4, 3"), ("nn.AvgPool1d({2|3}, padding={0|1})", "{2, |}3, 7"),
]  # fmt: skip


def aliases(p):
    p.some(_ALIASES, 14)


def rarer_layers(p):
    for _ in range(3):
        module, shape = p.choice(*_LAYERS)
        net = p.let(module, "net")
        x = p.let(f"torch.randn({shape}).requires_grad_({{bool}}){{||.to(memory_format=torch.preserve_format)}}", "x")
        if net is None or x is None:
            continue
        for _ in range(2):
            out = p.let(f"{net}({x})", "o")
            if out is None:
                break
            first = f"({out} if isinstance({out}, torch.Tensor) else {out}[0])"
            if p.do(f"({first} * torch.arange({first}.numel()).view({first}.shape)).sum().backward()"):
                p.do(f"[q.grad for q in [{x}, *{net}.parameters()]]")
            p.do(p.choice(f"{net}.eval()", f"{net}.train()", f"{net}"))
        p.do(f"{net}.state_dict()")


_LOSSES = [
    ("nn.{L1Loss|MSELoss|SmoothL1Loss|HuberLoss}({red})", "torch.randn({shape})"), ("nn.SmoothL1Loss(beta={0.5|2.0}, {red})", "torch.randn({shape})"),
    ("nn.HuberLoss(delta={0.5|2.0}, {red})", "torch.randn({shape})"), ("nn.{BCEWithLogitsLoss|SoftMarginLoss}({red})", "torch.rand({shape}).round()"),
    ("nn.BCEWithLogitsLoss(pos_weight=torch.tensor({2.0|0.5}), {red})", "torch.rand({shape})"), ("nn.KLDivLoss(log_target={bool}, {red})", "torch.rand({shape})"),
    ("nn.PoissonNLLLoss(log_input={bool}, full={bool}, {red})", "torch.rand({shape}) * 3"), ("nn.HingeEmbeddingLoss(margin={1.0|0.5}, {red})", "torch.randn({shape}).sign()"),
    ("nn.{MultiLabelSoftMarginLoss}({red})", "torch.rand({shape}).round()"),
]  # fmt: skip
_CLASSES = [
    ("nn.MultiMarginLoss(p={1|2}, margin={1.0|0.5}, {red})", "torch.randint(0, 4, (3,))"), ("nn.MultiLabelMarginLoss({red})", "torch.tensor([[0, 2, -1, 1], [1, -1, 0, 0], [3, 0, -1, -1]])"),
    ("nn.NLLLoss(ignore_index={-100|1}, {red})", "torch.randint(0, 4, (3,))"), ("nn.NLLLoss(weight=torch.arange(4.0), {red})", "torch.randint(0, 4, (3,))"),
    ("nn.CrossEntropyLoss(label_smoothing={0.1|0.0}, ignore_index={-100|1}, {red})", "torch.randint(0, 4, (3,))"),
]  # fmt: skip
_THREE = [
    ("nn.TripletMarginLoss(margin={1.0|0.3}, p={2|1}, swap={bool}, {red})", "torch.randn(3, 4)", "torch.randn(3, 4)"),
    ("nn.TripletMarginWithDistanceLoss(margin={1.0|0.3}, swap={bool}, {red})", "torch.randn(3, 4)", "torch.randn(3, 4)"),
    ("nn.CosineEmbeddingLoss(margin={0.0|0.3}, {red})", "torch.randn(3, 4)", "torch.tensor([1.0, -1.0, 1.0])"),
    ("nn.MarginRankingLoss(margin={0.0|0.3}, {red})", "torch.randn(3, 4)", "torch.randn(3, 4).sign()"),
    ("nn.GaussianNLLLoss(full={bool}, {red})", "torch.randn(3, 4)", "torch.rand(3, {1|4}) + 0.1"),
]  # fmt: skip


def losses(p):
    for _ in range(3):
        kind = p.choice("plain", "classes", "three")
        module, *rest = p.choice(*{"plain": _LOSSES, "classes": _CLASSES, "three": _THREE}[kind])
        loss = p.let(module.replace("{red}", "reduction='{mean|sum|none}'"), "loss")
        shape = "(3, 4)" if kind != "plain" else p.fill("{(4,)|(3, 4)|(2, 3, 2)}")
        x = p.let(f"torch.randn({shape}{{|, dtype=torch.float64}}).requires_grad_()", "x")
        if loss is None or x is None:
            continue
        others = [
            p.let(
                f"({r.replace('{shape}', shape)}).to({x}.dtype)" if "randint" not in r and "0, 2, -1" not in r else r,
                "y",
            )
            for r in rest
        ]
        if None in others:
            continue
        out = p.let(f"{loss}({x}, {', '.join(others)})", "o")
        margins = "MultiMargin" in p.fill(module) or "MultiLabelMargin" in p.fill(module)
        if margins and out is not None:  # whose second derivatives differ
            p.do(f"torch.autograd.grad({out}.sum(), {x})[0]")
        elif out is not None and p.do(f"g = torch.autograd.grad({out}.sum(), {x}, create_graph=True)[0]"):
            p.do("g")
            p.do(f"torch.autograd.grad((g * torch.arange(g.numel()).view(g.shape)).sum(), {x}, allow_unused=True)")


def cells_and_decoders(p):
    cell = p.let("nn.{LSTMCell|GRUCell|RNNCell}(3, 4, bias={bool})", "net")
    x = p.let("torch.randn({2, |}3).requires_grad_()", "x")
    if cell and x:
        p.do(f"h = {cell}({x})")
        p.do(f"h = {cell}({x}, h)")
        p.do("(h if isinstance(h, torch.Tensor) else h[0] + h[1]).sum().backward()")
        p.do(f"[q.grad for q in [{x}, *{cell}.parameters()]]")
    p.do(
        "net = nn.{TransformerDecoderLayer(8, {1|2}, 16, dropout={0.0|0.1}, norm_first={bool}, batch_first={bool})|Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first={bool})}"
    )
    p.do("a, b = torch.randn(3, 3, 8), torch.randn(3, 3, 8).requires_grad_()")
    if p.do("out = net(a, b{|, tgt_mask=nn.Transformer.generate_square_subsequent_mask(3)})"):
        p.do("out")
        p.do("(out * torch.arange(8.0)).sum().backward()")
        p.do("b.grad")
        p.do("[(n, q.grad) for n, q in net.named_parameters()][:4]")
    p.do("net.eval()")
    p.do("with torch.no_grad(): out = net(a, b)")
    p.do("out")
    p.do("net = nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2, 4], div_value={2.0|4.0}, head_bias={bool})")
    p.do("x = torch.randn(3, 4).requires_grad_()")
    if p.do("out = net(x, torch.tensor([0, {3|1}, 5]))"):
        p.do("(out.output, out.loss)")
        p.do("out.loss.backward()")
        p.do("[q.grad for q in [x, *net.parameters()]]")
        p.do("(net.log_prob(x), net.predict(x))")


_COPIES = [
    "torch.{alias|detach|view_as_real}_copy({c})", "torch.{alias|detach|t}_copy({m})", "torch.diagonal_copy({m}, {-1|0|1})", "torch.expand_copy({m}, (2, *{m}.shape))",
    "torch.narrow_copy({x}, {dim}, 0, 1)", "torch.permute_copy({m}, (1, 0))", "torch.select_copy({x}, {dim}, 0)", "torch.slice_copy({x}, {dim}, 0, {n}, {1|2})",
    "torch.squeeze_copy({x}{|, {dim}})", "torch.unsqueeze_copy({x}, {dim})", "torch.transpose_copy({m}, 0, 1)", "torch.unfold_copy({m}, 1, 1, 1)", "torch.view_copy({x}, (-1,))",
    "torch.as_strided_copy({f}, (1,), (1,))", "torch.split_copy({x}, {n}, {dim})", "torch.unbind_copy({x}, {dim})", "torch.{as_strided_scatter}({f}, torch.zeros(1), (1,), (1,))",
    "torch.split_with_sizes_copy({x}, [1, 1], {dim})",
]  # fmt: skip


def copies_of_views(p):
    for _ in range(8):
        y = p.let(p.choice(*_COPIES))
        if y is not None and isinstance(p.value(y), p.torch.Tensor):
            p.do(f"({y}.is_contiguous(), {y}._is_view())")


_POLYNOMIALS = [
    "{shifted_|}chebyshev_polynomial_{t|u|v|w}", "hermite_polynomial_{h|he}", "laguerre_polynomial_l", "legendre_polynomial_p",
]  # fmt: skip
_FUNCTIONS = "{bessel_y0|bessel_y1|modified_bessel_i0|modified_bessel_i1|modified_bessel_k0|modified_bessel_k1|scaled_modified_bessel_k0|scaled_modified_bessel_k1|spherical_bessel_j0|airy_ai}"


def polynomials(p):
    for _ in range(5):
        p.let(f"torch.special.{p.choice(*_POLYNOMIALS)}({{f}}, {{k|n|i}})")
    for _ in range(4):
        p.let(f"torch.special.{_FUNCTIONS}({{f}}.double().abs() + {{0.1|2}})")


_ALGEBRA = [
    "torch.linalg.{cholesky_ex|inv_ex|ldl_factor|ldl_factor_ex}({s} @ {s}.mT + torch.eye(3))", "torch.linalg.eigvalsh({s})", "torch.linalg.eigvals({s}).abs().sort()[0]",
    "torch.linalg.lu_factor_ex({s})", "torch.linalg.lu_solve(*torch.linalg.lu_factor({s}), torch.eye(3), adjoint={bool}, left={bool})", "torch.linalg.solve_ex({s}, torch.ones(3, {n}))",
    "torch.linalg.ldl_solve(*torch.linalg.ldl_factor(3 * torch.eye(3) + 1), torch.ones(3, 2))", "torch.linalg.tensorsolve(torch.eye(6).reshape(2, 3, 2, 3) * 2, torch.ones(2, 3))",
    "torch.cholesky_solve(torch.ones(3, {n}), torch.linalg.cholesky(torch.eye(3) * 4), upper={bool})", "torch.lu_unpack(*torch.linalg.lu_factor({s}))", "torch.lu_solve(torch.ones(3, 1), *torch.linalg.lu_factor({s}))",
    "torch.geqrf({s})[0]", "torch.ormqr(*torch.geqrf({s}), torch.ones(3, 2), transpose={bool})", "torch.orgqr(*torch.geqrf({s}))", "torch.addbmm({s}, torch.ones(2, 3, 4), torch.ones(2, 4, 3), beta={num}, alpha={num})",
    "torch.convolution(torch.ones(1, 2, 5), torch.ones(2, 2, 3), None, [1], [1], [1], False, [0], 1)", "torch.conv_tbc(torch.randn(4, 2, 3), torch.randn(2, 3, 4), torch.ones(4), {0|1})",
    "torch.autograd.functional.{hvp|vhp}(lambda x: (x ** 3).sum(), torch.arange(3.0), torch.ones(3))", "torch.grid_sampler(torch.rand(1, 1, 3, 3), torch.rand(1, 2, 2, 2), {0|1}, {0|1|2}, {bool})",
    "torch.native_layer_norm({m}, {m}.shape[-1:], None, None, 1e-5)", "torch.native_group_norm(torch.randn(2, 4, 3), None, None, 2, 4, 3, 2, 1e-5)", "torch.constant_pad_nd({x}, (1, {0|1|2}), {num})",
    "torch.{lstm_cell}(torch.ones(2, 3), (torch.ones(2, 4), torch.ones(2, 4)), torch.ones(16, 3), torch.ones(16, 4))", "torch.{gru_cell}(torch.ones(2, 3), torch.ones(2, 4), torch.ones(12, 3), torch.ones(12, 4))",
    "torch.rnn_{tanh|relu}_cell(torch.ones(2, 3), torch.ones(2, 4), torch.rand(4, 3), torch.rand(4, 4))", "torch.hspmm(torch.eye(3).to_sparse(), torch.ones(3, 2)).to_dense()", "torch.smm(torch.eye(3).to_sparse(), torch.ones(3, 2).to_sparse()).to_dense()",
    "torch.sspaddmm(torch.eye(3).to_sparse(), torch.eye(3).to_sparse(), {s}).to_dense()", "torch.fake_quantize_per_tensor_affine({f}, {0.1|0.5}, {0|3}, 0, 255)", "torch.fake_quantize_per_channel_affine(torch.randn(2, 3), torch.tensor([0.1, 0.2]), torch.zeros(2), 0, -128, 127)",
]  # fmt: skip


def rarer_algebra(p):
    p.some(_ALGEBRA, 10)


_NEW = [
    "{x}.new_{zeros|ones}({shape}{|, dtype={dtype}})", "{x}.new_empty({shape}).zero_()", "{x}.new_empty_strided((2, 3), (1, 2)).fill_(1)", "{x}.new_full({shape}, {num})", "{x}.new_tensor([{num}, {num}])",
    "torch.empty_permuted((2, 3, 4), (2, 0, 1)).fill_({num})", "{x}.is_set_to({x})", "{x}.is_inference()", "({x}.is_shared(), {x}.is_pinned())", "{x}.storage_type().__name__", "{x}.untyped_storage().nbytes()",
    "({x}.sparse_dim() if {x}.is_sparse else {x}.dense_dim())", "{m}.to_sparse_{coo|csr|csc}().to_dense()", "{m}.to_sparse_csr().{crow_indices|col_indices}()", "{m}.to_sparse_csc().{ccol_indices|row_indices}()",
    "torch.sparse_csr_tensor(torch.tensor([0, 1, 2]), torch.tensor([0, 1]), torch.tensor([1.0, 2.0])).to_dense()", "{m}.sparse_mask(torch.ones({m}.shape).to_sparse()).to_dense()",
    "{f}.clone().map2_({same}, {same}, lambda a, b, c: a + b * c)", "torch.ones(3, 2).resize_as_(torch.ones({1|2}))", "torch.quantize_per_tensor({f}.float(), {0.1|0.5}, {0|10}, torch.{quint8|qint8}).{dequantize|int_repr}()",
    "torch.dequantize(torch.quantize_per_channel(torch.randn(2, 3), torch.tensor([0.1, 0.2]), torch.zeros(2, dtype=torch.int64), 0, torch.qint8))", "(torch.get_default_dtype(), torch.is_grad_enabled(), torch.is_inference_mode_enabled())",
    "F.upsample(torch.randn(1, 1, 2, 3), scale_factor=2, mode='{nearest|bilinear}')", "F.{upsample_nearest|upsample_bilinear}(torch.randn(1, 1, 2, 3), scale_factor=2)", "F.lp_pool{1|2}d(torch.randn(1, 2, 6{|, 6}), 2, {2|3}, {1|2})",
    "F.adaptive_{avg|max}_pool{1|2|3}d(torch.randn(1, 2, 6, 5{|, 4}), {2|3})", "F.max_unpool{1|3}d(*F.max_pool{1|3}d(torch.randn(1, 1, 4, 4, 4), 2, return_indices=True), 2)", "F.conv_transpose{1|3}d(torch.randn(1, 2, 3, 3, 3), torch.randn(2, 2, 2, 2, 2), stride={1|2})",
    "F.fractional_max_pool2d(torch.randn(1, 1, 5, 5), 2, output_size=3, _random_samples=torch.full((1, 1, 2), 0.4))", "F.feature_alpha_dropout({f}, 0.5, {bool})", "F.dropout3d(torch.ones(1, 3, 2, 2, 2), 0.5, {bool})",
]  # fmt: skip


def new_tensors(p):
    p.some(_NEW, 12)


def fused_modules(p):
    p.do("conv, bn = nn.Conv2d(2, 3, 2, bias={bool}), nn.BatchNorm2d(3)")
    p.do("bn(torch.randn(4, 3, 2, 2))")
    p.do("conv.eval(), bn.eval()")
    p.do("fused = nn.utils.fuse_conv_bn_eval(conv, bn)")
    p.do("fused(torch.ones(1, 2, 3, 3))")
    p.do("[q for q in fused.parameters()]")
    p.do("nn.utils.convert_conv2d_weight_memory_format(conv, torch.channels_last).weight.stride()")
    p.do("net = nn.utils.{weight_norm|spectral_norm}(nn.Linear(3, 2))")
    p.do("net(torch.ones(1, 3))")
    p.do("sorted(net.state_dict())")
    p.do("nn.utils.remove_weight_norm(net)")
    p.do("nn.utils.remove_spectral_norm(net)")
    p.do("net(torch.ones(1, 3))")
    p.do("nn.utils.parameters_to_vector(net.parameters())")
    p.do("emb = nn.Embedding(4, 3, sparse=True, {max_norm=1.0|scale_grad_by_freq=True|padding_idx=1})")
    p.do("opt = torch.optim.SparseAdam(emb.parameters(), lr=0.1)")
    for _ in range(2):
        p.do("opt.zero_grad()")
        p.do("emb(torch.tensor([0, {1|2}, 0])).pow(2).sum().backward()")
        p.do("emb.weight.grad.to_dense()")
        p.do("opt.step()")
        p.do("emb.weight")
    p.do("m = nn.Linear(3, 3, bias=False)")
    p.do("opt = torch.optim.Muon(m.parameters(), lr=0.1{|, nesterov=False|, weight_decay=0.0})")
    p.do("m(torch.randn(2, 3)).pow(2).sum().backward()")
    p.do("opt.step()")
    p.do("m.weight.detach().double().round(decimals=2)")
