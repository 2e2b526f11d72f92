"""Creation, views, writes in place, indexing, types, `out=`, printing."""

THEMES = {"creation", "views", "in_place", "indexing", "promotion", "out", "printing", "methods", "complex_numbers"}

_CREATE = [
    "torch.tensor({[1, 2, 3]|[[1., 2.], [3., 4.]]|3.5|[]|[True, False]|[1, 2.5]|[[1], [2]]|1j|[1j, 2]|'a'|[[1, 2], [3]]|np.arange(3)|np.float32(2)|(1, 2)|range(4)})",
    "torch.tensor({[1, 2, 3]|[[1., 2.], [3., -4.]]|3.5|[True, False]}, dtype={dtype})",
    "torch.{zeros|ones|empty}({shape}).fill_({num})",
    "torch.{zeros|ones}({shape}, dtype={dtype})",
    "torch.{zeros|ones}({n}, {n}, requires_grad={bool})",
    "torch.full({shape}, {num})",
    "torch.full({shape}, {num}, dtype={dtype})",
    "torch.arange({n})",
    "torch.arange({num}, {n}, {1|0.5|0.25|2|-1})",
    "torch.arange({n}, {num}, {-1|-0.5|1}, dtype={dtype})",
    "torch.linspace({num}, {num}, {0|1|2|5|9})",
    "torch.linspace({num}, {num}, {5|7}, dtype={dtype})",
    "torch.logspace({0|1|-1}, {2|0.5}, {5|3}, base={2|10.0|0.5})",
    "torch.eye({n})",
    "torch.eye({n}, {n}, dtype={dtype})",
    "torch.{zeros|ones|rand|randn}_like({x})",
    "torch.{zeros|ones}_like({x}, dtype={dtype})",
    "torch.full_like({x}, {num})",
    "{x}.new_{zeros|ones}({shape})",
    "{x}.new_full({shape}, {num})",
    "{x}.new_tensor([1, 2.5])",
    "torch.{tril|triu}_indices({n}, {n}, {0|1|-1})",
    "torch.{tril|triu}({x}, {0|1|-1})",
    "torch.vander(torch.tensor([1, 2, 3.]), {n}, {bool})",
    "torch.{hann|hamming|blackman|bartlett|kaiser}_window({n})",
    "torch.{hann|hamming}_window({n}, periodic={bool}, dtype={dtype})",
    "torch.cartesian_prod(torch.arange({n}), torch.tensor([4, 5]))",
    "torch.combinations(torch.arange({n}), {1|2|3}, {bool})",
    "torch.meshgrid(torch.arange({n}), torch.arange({n}), indexing='{ij|xy}')",
    "torch.block_diag({m}, {m}, torch.tensor({num}))",
    "torch.diag({m}, {0|1|-1})",
    "torch.diag_embed({x}, {0|1|-1})",
    "torch.as_tensor({[1, 2]|np.arange(3.)|2.5|True}, dtype={dtype})",
    "torch.asarray({[1, 2]|np.arange(3.)|2.5|True}, dtype={dtype})",
    "torch.from_numpy(np.{arange(4)|ones((2, 3))|zeros(2, np.float32)|array([True])|arange(6).reshape(2, 3).T})",
    "torch.scalar_tensor({num}, dtype={dtype})",
    "torch.empty({shape}, dtype={dtype}).zero_()",
    "torch.Tensor({[1, 2]|()|[[1.5]]})",
    "torch.Tensor(2, 3).zero_()",
    "torch.{FloatTensor|LongTensor|BoolTensor|DoubleTensor}({[1, 2]|[[0]]})",
    "F.one_hot(torch.randint(0, 3, {shape}), {3|-1|5|2})",
    "torch.bincount(torch.randint(0, 4, ({n},)), minlength={0|6})",
    "torch.zeros({n}, {n}).{to_sparse|to_dense}().to_dense()",
    "torch.empty_strided({(2, 3), (1, 2)|(2, 2), (2, 1)|(3,), (0,)}).fill_(1)",
    "torch.{empty|zeros}({n}, 3, 4, 4, memory_format=torch.channels_last).zero_()",
    "torch.polar({f}.abs(), torch.tensor({num}))",
    "torch.complex({f}, {f})",
    "torch.tensor([{num}, {num}]).{float|double|half|bfloat16|int|long|short|bool|byte|char|cfloat}()",
]


def creation(p):
    p.some(_CREATE, 10)


VIEWS = [
    "{x}.view({-1|1, -1|-1, 1})", "{x}.view(-1, {size})", "{x}.reshape({-1|1, -1|-1, 1|-1, 3|3, 2|2, 3})", "{x}.transpose({dim}, {dim})",
    "{x}.permute({dims})", "{x}.t()", "{x}.{T|mT|H|mH}", "{x}.unsqueeze({dim})", "{x}.squeeze({dim})", "{x}.squeeze()", "{x}.squeeze({dims})",
    "{x}.expand({2, -1, -1|-1, 3|3, -1, -1|-1|2, 3})", "{x}.expand_as({x})", "{x}.narrow({dim}, {k}, {n})", "{x}.select({dim}, {k})",
    "{x}.unfold({dim}, {1|2}, {1|2})", "{x}.diagonal()", "{x}.diagonal({0|1|-1}, {dim}, {dim})", "{x}.movedim({dim}, {dim})", "{x}.swapaxes({dim}, {dim})",
    "{x}.flatten()", "{x}.flatten({dim}, {dim})", "{x}.unflatten({dim}, {(1, -1)|(-1, 2)|(3, 1)|(-1,)})", "{x}.ravel()",
    "{x}.chunk({n}, {dim})[0]", "{x}.split({n}, {dim})[-1]", "{x}.tensor_split({n}, {dim})[0]", "{x}.unbind({dim})[-1]", "{x}.hsplit({1|2})[0]", "{x}.vsplit({1|2})[0]",
    "{x}.as_strided({(2,), (1,)|(2, 2), (1, 1)|(3,), (0,)|(1,), (1,), 1})", "{x}.view_as({same})", "{x}.real", "{c}.imag", "torch.view_as_real({c})",
    "{x}.contiguous()", "{x}.clone()", "{x}.detach()", "{x}.{expand|broadcast_to|repeat|tile}({(2, -1)|(2, 1)|(3, 2, 1)|(1, 1, 1)})",
    "{x}.view({dtype})", "{x}[{...|None|:|0|-1|1:|::2|..., 0|None, ..., 0|:, 0|..., None|..., ::2|0:0}]", "torch.atleast_{1|2|3}d({x})",
    "torch.{flip|fliplr|flipud|rot90}({x}{|, [0]|, 1})", "{x}.roll({1|-1|2}, {dim})", "{x}.roll({n})", "{x}.positive()", "{x}.adjoint()", "{x}.conj()", "{x}.data",
    "{x}.repeat_interleave({n}, {dim})", "{x}.repeat({2, 2|1, 2, 1|3|2, 1, 1, 1})", "{x}.contiguous(memory_format=torch.channels_last)",
    "torch.{squeeze|unsqueeze|narrow|select}_copy({x}, {dim})", "torch.broadcast_tensors({x}, {like})", "torch.broadcast_to({x}, {shape})", "{x}.sum_to_size({shape})",
    "torch.swapdims({x}, {dim}, {dim})", "torch.moveaxis({x}, {dim}, {dim})", "{x}.dsplit(2)[0]", "{x}.T.contiguous().T",
]  # fmt: skip
_SHOW = [
    "{x}.{is_contiguous()|stride()|storage_offset()|shape|size()|numel()|dim()|dtype|is_leaf|requires_grad|_version|nbytes|itemsize|element_size()|is_complex()|ndim|data_ptr() % 1|is_conj()|_is_view()}"
]
WRITES = [
    "{x}.add_({num})", "{x}.mul_({num})", "{x}.sub_({like})", "{x}.add_({like}, alpha={num})", "{x}.div_({num})", "{x}.div_({like}, rounding_mode={'floor'|'trunc'|None})", "{x}.pow_({2|3|0.5})",
    "{x}.zero_()", "{x}.fill_({num})", "{x}.copy_({like})", "{f}.{exp|sin|tanh|relu|sigmoid|abs|neg|sqrt|floor|round|square|reciprocal|cos|trunc|sign|frac|log1p|erf}_()",
    "{x}.clamp_({-1|0|None}, {1|0.5})", "{x}.masked_fill_({x} > 0, {num})", "{x}.masked_fill_(torch.rand(3) > .5, {num})", "{x}.index_fill_({dim}, torch.tensor([0]), {num})",
    "{x}.index_add_({dim}, torch.tensor([0, 0]), {like})", "{x}.index_copy_({dim}, torch.tensor([0]), {like})", "{x}.scatter_({dim}, torch.zeros({shape}, dtype=torch.long), {num})",
    "{x}.t_()", "{x}.squeeze_()", "{x}.unsqueeze_({dim})", "{x}.transpose_({dim}, {dim})", "{x}.fill_diagonal_({num})", "{x}.tril_()", "{x}.triu_({k})", "{x}.lerp_({like}, 0.25)",
    "{x}.addcmul_({same}, {same}, value={num})", "{x}.addcdiv_({same}, {same})", "{x}.logical_{and|or|xor|not}_({x})", "{i}.bitwise_{and|or|xor}_({like})", "{x}.eq_({num})", "{x}.gt_({like})", "{x}.remainder_({num})", "{x}.floor_divide_({num})",
    "{x}.cumsum_({dim})", "{x}.cumprod_({dim})", "{x}.clamp_min_({num})", "{x}.put_(torch.tensor([0, -1]), torch.tensor([1., 2.]))", "{x}.nan_to_num_()", "{x}.resize_({shape}).zero_()", "{x}.set_({same})", "{x}.apply_(lambda v: v)", "{x}.requires_grad_()", "{x}.detach_()",
    "{x}.renorm_(2, {dim}, 1)", "{x}.copysign_({num})", "{x}.hypot_({like})", "{x}.atan2_({like})", "{x}.fmod_({num})", "{x}.masked_scatter_(torch.ones({shape}, dtype=torch.bool), {same})", "{x}.swapaxes_({dim}, {dim})", "{x}.xlogy_({num})", "{x}.true_divide_({num})",
]  # fmt: skip


def views(p):
    p.some(VIEWS, 7)
    p.some(WRITES[:14], 2, statement=True)
    p.some(_SHOW, 3, statement=True)
    _show_all(p)


def in_place(p):
    p.some(VIEWS, 2)
    p.some(WRITES, 6, statement=True)
    p.some(_SHOW, 1, statement=True)
    _show_all(p)


def _show_all(p):
    for name in p.names[:6]:
        p.do(name)


_INDEX = (
    "{0|-1|1|...|:|None|1:|:-1|::2|True|False|[0]|[0, -1]|[True]|torch.tensor(0)|torch.tensor([0, 0])|torch.tensor([[0], [-1]])|np.array([0])|np.int64(0)|slice(0, 1)|torch.tensor([], dtype=torch.long)|"
    "0, 0|..., 0|:, 0|0, ...|:, None|0, 1:|[0, 1], [1, 0]|..., [0]|torch.tensor([0, 1]), :|:, torch.tensor([0, 0])|torch.tensor([0]), None, torch.tensor([0])|0, [0]|[0], 0|:, :, 0|..., torch.tensor(0)|5|1.5|'a'|"
    "range(2)|(0, 1)|[[0, 1]]|torch.tensor([True, False])|torch.tensor([0], dtype=torch.uint8)|torch.tensor([1], dtype=torch.int32)|-4}"
)


def indexing(p):
    gets = ["{x}[" + _INDEX + "]"] * 3 + ["{x}[{x} > 0]", "{x}[torch.rand({shape}) > 0.5]", "{x}.take(torch.tensor([0, -1]))", "{x}.index_select({dim}, torch.tensor([0, 0]))",
        "torch.gather({x}, {dim}, torch.zeros({shape}, dtype=torch.long))", "{x}.masked_select({x} > 0)", "torch.take_along_dim({x}, torch.zeros({shape}, dtype=torch.long), {dim})", "torch.where({x} > 0, {x}, {num})",
        "torch.where({b})", "{x}.nonzero()", "torch.nonzero({x}, as_tuple=True)", "torch.argwhere({x})", "list({x})", "len({x})", "{x}.tolist()", "{x}.index_put((torch.tensor([0]),), torch.tensor(2.))"]  # fmt: skip
    sets = [
        "{x}[" + _INDEX + "] = {{num}|[1, 2]|torch.tensor(5)|torch.tensor(2.5)|torch.zeros(2, 3)|np.array(3.)|None|1j}"
    ] * 3 + [
        "{x}[{x} > 0] = {num}",
        "{x}[{x} > 0] *= 2",
        "{x}[..., 0] += {num}",
        "{x}[torch.tensor([0, 0])] += 1",
        "{x}[0] = {like}",
    ]
    for _ in range(7):
        p.let(p.choice(*gets))
        if p.chance(0.5):
            p.do(p.choice(*sets))
            p.do(p.names[p.random.randrange(max(0, len(p.names) - 4), len(p.names))])


_BINARY = "{add|sub|mul|div|true_divide|floor_divide|remainder|fmod|pow|maximum|minimum|eq|ne|lt|le|gt|ge|atan2|hypot|logical_and|logical_or|logical_xor|bitwise_and|bitwise_or|bitwise_xor|fmax|fmin|copysign|nextafter|xlogy|heaviside|logaddexp|gcd|lcm|float_power|bitwise_left_shift|ldexp|isclose|dist}"


def promotion(p):
    patterns = [f"torch.{_BINARY}({{x}}, {{like}})", f"torch.{_BINARY}({{x}}, {{x}})", f"torch.{_BINARY}({{x}}, {{num}})",
        "{x} {+|-|*|/|//|%|**|==|<|>=|&|^|@} {like}", "{x} {+|-|*|/|//|%|**|==|<|!=|&|<<} {num}", "{num} {+|-|*|/|//|%|**|==|<|!=} {x}",
        "torch.result_type({x}, {num})", "torch.result_type({x}, {x})", "torch.promote_types({dtype}, {dtype})", "torch.can_cast({dtype}, {dtype})", "{x}.to({dtype})", "{x}.type_as({x})",
        "torch.cat([{x}, {same}])", "torch.stack([{x}, {same}])", "torch.where({b}, {x}, {num})", "{x} + torch.tensor({num})", "{x} * torch.tensor({num}, dtype={dtype})", "{x}.sum() * {num}",
        "torch.add({x}, {like}, alpha={num})", "torch.lerp({f}, {same}, {num})", "torch.clamp({x}, {num})", "torch.clamp({x}, {like}, None)", "-{x}", "~{x}", "abs({x})", "{x}.mean()", "divmod({x}, {num})", "round({f})"]  # fmt: skip
    p.some(patterns, 10)


def out(p):
    made = "torch.{empty(0)|zeros(2, 3)|zeros(3)|zeros(2, 3).t()|zeros(2, 3, dtype=torch.int64)|zeros(0, dtype=torch.float64)|zeros(6)[::2]|zeros(1)|zeros(2, 3, dtype=torch.complex64)|zeros(3, dtype=torch.bool)}"
    calls = ["torch.{add|sub|mul|div|pow|eq|maximum|atan2|fmod|logical_and}({x}, {like}, out={o})", "torch.{abs|neg|exp|sin|sqrt|floor|sigmoid|tanh|sign|isinf|bitwise_not|log1p}({x}, out={o})", "torch.{sum|mean|prod|amax|argmax|any|all|logsumexp|cumsum|std|nansum}({x}, {dim}, out={o})",
        "torch.{cat|stack}([{x}, {x}], out={o})", "torch.{zeros|ones}({shape}, out={o})", "torch.arange({n}, out={o})", "torch.{mm|matmul}({m}, {m}, out={o})", "torch.{clamp}({x}, {num}, out={o})", "torch.{randn|rand}({shape}, out={o})", "torch.linspace(0, 1, {n}, out={o})",
        "torch.{index_select}({x}, {dim}, torch.tensor([0]), out={o})", "torch.where({b}, {x}, {x}, out={o})", "torch.{tril|triu}({x}, out={o})", "torch.full({shape}, {num}, out={o})", "torch.eye({n}, out={o})", "torch.gather({x}, {dim}, torch.zeros(1, dtype=torch.long), out={o})", "torch.addmm({m}, {m}, {m}, out={o})", "torch.masked_select({x}, {x} > 0, out={o})", "torch.bmm({x}, {x}, out={o})", "torch.diag({x}, out={o})", "torch.take({x}, torch.tensor([0]), out={o})", "torch.nonzero({x}, out={o})", "torch.isin({x}, {x}, out={o})"]  # fmt: skip
    for _ in range(6):
        name = p.let(made)
        p.let(p.choice(*calls).replace("{o}", name))
        p.do(name)


def printing(p):
    for _ in range(8):
        name = p.let(
            p.choice(
                "{x}",
                "{x} * {1e5|1e-5|1000|0.01|1e10}",
                "{x} / 3",
                "torch.randn({shape}) * {1e3|1e-3|1|100}",
                "torch.tensor([{num}, float('{nan|inf|-inf}'), {num}])",
                "torch.arange({5|100|2000}).reshape({-1|5, -1|-1, 1|1, 5, -1})",
                "{r} * 2",
                "torch.zeros({shape}, dtype={dtype})",
            )
        )
        if name:
            p.do(f"{{repr|str}}({name})")
        if p.chance(0.2):
            p.do(
                "torch.set_printoptions({precision=2|precision=8|threshold=5|edgeitems=1|linewidth=40|sci_mode=True|sci_mode=False|profile='short'|profile='full'|profile='default'})"
            )
        if name and p.chance(0.3) and p.value(name).numel() == 1:
            p.do(
                p.choice(
                    f"f'⟨{name}:.3f⟩'".replace("{name}", name),
                    f"'%.2f' % {name}",
                    f"format({name})",
                    f"{name}.item()",
                    f"bool({name})",
                    f"float({name})",
                    f"int({name})",
                )
            )


def methods(p):
    for _ in range(9):
        p.let(p.choice(
            "{x}.{sum|mean|prod|max|min|argmax|argmin|std|var|median|any|all|numel|dim|nelement|isnan|isfinite|signbit|sgn|logical_not|count_nonzero|unique|flatten|ravel|tolist|bool|float|int|long|half|double|abs|neg|square|is_floating_point|is_signed|nonzero|t|trace|diag|get_device|is_nonzero|det|logdet|inverse|softmax|angle|type|storage_offset|pin_memory|cpu|cuda|size|stride}()",
            "{x}.{cumsum|cumprod|sort|argsort|max|min|argmax|softmax|log_softmax|logsumexp|unbind|norm|flip|median|mode|kthvalue|amax|amin|aminmax|diff|all|any|sum|mean|squeeze|cummax|count_nonzero|logcumsumexp|nansum|nanmean}({dim})",
            "{x}.{topk|kthvalue}({n}, {dim})", "{x}.{topk}({n}, largest={bool})", "{x}.{sort|argsort}({dim}, {bool})", "{x}.{norm}({1|2|0|float('inf')|'fro'})", "{x}.clip({num}, {num})", "{x}.type({dtype})", "{x}.to({x})", "{x}.equal({x})", "{x}.allclose({x})", "{x}.histc({n})", "{x}.quantile({0.5|0.25|1.5}, {dim})", "{x}.is_same_size({x})", "{x}.where({x} > 0, {num})", "{x}.ger({x})", "{x}.dot({x})", "{x}.outer({x})", "{m}.mv({x})", "{m}.mm({m})", "{x}.matmul({x})", "{x}.baddbmm({x}, {x})", "{x}.cov()", "{x}.corrcoef()", "{x}.renorm(2, {dim}, 1.0)", "{x}.unique_consecutive()", "{x}.bincount()", "{x}.cross({same})", "{x}.logit(1e-3)", "{x}.numpy()", "{x}.__array__()", "{x}.element_size()", "{x}.bernoulli()", "{x}.multinomial(1)", "{x}.frexp()", "{x}.nanmedian()", "{x}.item()", "{x}.new([1, 2])", "{x}.index_reduce({dim}, torch.tensor([0]), {same}, '{prod|mean|amax}')", "{x}.scatter_add({dim}, torch.zeros({shape}, dtype=torch.long), {same})", "{x}.scatter_reduce({dim}, torch.zeros({shape}, dtype=torch.long), {same}, '{sum|prod|mean|amax}')", "{x}.heaviside({same})", "{x}.{tensor_split|chunk}({n})", "{x}.{masked_fill}({x} != 0, {num})", "{x}.fill_diagonal_({num}, {bool})",
        ))  # fmt: skip


def complex_numbers(p):
    p.let("{c}")
    patterns = ["{c}.{abs|angle|conj|real.clone|imag.clone|sgn|exp|log|sqrt|sin|cos|tan|tanh|sinh|cosh|reciprocal|square|neg|asin|acos|atan|asinh|acosh|atanh|log1p|expm1|log2|log10|rsqrt|sigmoid|isreal|isfinite|isnan|resolve_conj|conj_physical|sum|mean|prod|std|var|norm|trace}()", "{c}.{cumsum|cumprod|logcumsumexp}(0)",
        "{c} {+|-|*|/|**} {{num}|1j|(2-1j)}", "{c} {+|-|*|/|**|@} {like}", "torch.{dot|vdot|outer|kron|matmul|inner}({c}, {c})", "torch.view_as_real({c})", "torch.{fft.fft|fft.ifft|fft.fftn|fft.fftshift}({x})", "torch.fft.{rfft|irfft|hfft}({x}, {n}, {dim})", "torch.polar({f}.abs(), {same}.float())", "({r} + 1j).abs()", "({r} * 1j + {num}).{exp|sin|sqrt|log|abs|angle|tanh|reciprocal|square}()", "{c}.to({dtype})", "torch.{linalg.norm|linalg.det|linalg.inv|linalg.eigvals|linalg.svdvals}({c})", "torch.where({c}.abs() > 1, {c}, 0)", "{c}.H", "{c} == {c}", "torch.isclose({c}, {c})", "str({c})"]  # fmt: skip
    for _ in range(8):
        name = p.let(p.choice(*patterns))
        if name and isinstance(p.value(name), p.torch.Tensor) and p.value(name).requires_grad and p.chance(0.7):
            p.do(
                f"torch.autograd.grad({name}.{{real|abs()}}.sum(), [t for t in [{', '.join(n for n in p.names if p.value(n).is_leaf and p.value(n).requires_grad)}]], allow_unused=True)"
            )
