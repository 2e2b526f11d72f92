"""x[...] and x[...] = y in every form: against NumPy where it means the same, gradients by differences."""

import numpy as np
import pytest

import rushlight as torch
from rushlight.autograd import gradcheck, gradgradcheck

X = np.arange(24.0).reshape(2, 3, 4)
I, J = np.array([1, 0, 1]), np.array([2, 0, 1])
MASK = X % 3 == 0
ROWS = np.array([True, False])
COLUMNS = np.array([False, True, True])

# an index (ndarrays represent tensors) and whether the result is a view
INDICES = [
    (1, True), (-1, True), ((0, 2), True), ((1, 2, 3), True), (slice(1, None), True), ((slice(None), slice(0, 3, 2)), True),
    (Ellipsis, True), ((Ellipsis, 1), True), ((0, Ellipsis), True), ((None,), True), ((None, 1, None, Ellipsis, None), True),
    ((slice(None), 1), True), ((slice(5, 9),), True), (I, False), ([1, 0], False), ((I, J), False), ((slice(None), J), False),
    ((Ellipsis, J), False), ((I[:, None], J[None]), False), ((I, slice(None), J), False), ((0, J), False),
    ((slice(None), [0, 2], 1), False), (MASK, False), (ROWS, False), ((slice(None), COLUMNS), False), ((0, COLUMNS), False),
    ((None, I), False), ((slice(0, 1), I * 0), False), ((I, Ellipsis, 0), False), (np.array([], int), False),
    (np.array(1), True), (range(2), False), ((slice(None), np.array(1), slice(1, 3)), True),
]  # fmt: skip


def _ours(index):
    if isinstance(index, tuple):
        return tuple(_ours(i) for i in index)
    return torch.from_numpy(index) if isinstance(index, np.ndarray) else index


def _oracle(index):
    """NumPy's index of the same meaning: torch applies ints before index arrays, NumPy among them."""
    if isinstance(index, tuple) and any(isinstance(i, (np.ndarray, list)) and np.ndim(i) for i in index):
        return None
    return index


def _expected(index, x=X):
    plain = _oracle(index)
    if plain is not None:
        return x[list(plain) if isinstance(plain, range) else plain]
    basic = tuple(i if not (isinstance(i, (np.ndarray, list)) and np.ndim(i)) else slice(None) for i in index)
    part = x[basic]
    advanced = []
    for i in index:
        if i is Ellipsis:
            advanced.append(Ellipsis)
        elif isinstance(i, (np.ndarray, list)) and np.ndim(i):
            advanced.append(np.asarray(i))
        elif not isinstance(i, (int, np.ndarray)):
            advanced.append(slice(None))
    return part[tuple(advanced)]


@pytest.mark.parametrize(("index", "is_view"), INDICES, ids=[str(i) for i, _ in INDICES])
def test_reading(index, is_view):
    x = torch.tensor(X, requires_grad=True)
    y = x[_ours(index)]
    np.testing.assert_array_equal(y.detach().numpy(), _expected(index))
    assert y._is_view() == is_view
    x = torch.tensor(X / 9, requires_grad=True)
    assert gradcheck(lambda t: t[_ours(index)], (x,)) and gradgradcheck(lambda t: t[_ours(index)], (x,))


@pytest.mark.parametrize("index", [i for i, _ in INDICES], ids=[str(i) for i, _ in INDICES])
def test_writing_values_and_gradients(index):
    touched = np.unique(_expected(index, np.arange(24).reshape(2, 3, 4)))
    x, v = torch.tensor(X, requires_grad=True), torch.tensor(2.5, dtype=torch.float64, requires_grad=True)
    y = x * 1
    y[_ours(index)] = v
    expected = X.copy().reshape(-1)
    expected[touched] = 2.5
    np.testing.assert_array_equal(y.detach().numpy().reshape(-1), expected)
    y.sum().backward()
    slope = np.ones(24)
    slope[touched] = 0
    np.testing.assert_array_equal(x.grad.numpy().reshape(-1), slope)
    y = torch.tensor(X)
    y[_ours(index)] = 2.5
    np.testing.assert_array_equal(y.numpy().reshape(-1), expected)


def test_values_broadcast_and_repeat():
    x = torch.zeros(3, 4)
    x[:, 1] = torch.tensor([1.0, 2, 3])
    x[[0, 2]] = torch.arange(4.0)
    x[x > 2] = -1
    assert x.tolist() == [[0, 1, 2, -1], [0, 2, 0, 0], [0, 1, 2, -1]]
    x[0] = torch.ones(1, 4)  # leading dimensions of size 1 are dropped
    x[1, 1:3] = torch.tensor([7.0, 8.0])
    assert x[:2].tolist() == [[1, 1, 1, 1], [0, 7, 8, 0]]
    x.index_put_((torch.tensor([0, 0]), torch.tensor([1, 1])), torch.tensor(1.0), accumulate=True)
    assert x[0, 1].item() == 3


ERRORS = [
    (lambda t: t[2], IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
    (lambda t: t[0, 0, 0, 0], IndexError, "too many indices for tensor of dimension 3"),
    (lambda t: t[torch.tensor([5])], IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
    (lambda t: t[:, torch.tensor([0, -4])], IndexError, "index -4 is out of bounds for dimension 1 with size 3"),
    (lambda t: t[::-1], ValueError, "step must be greater than zero"),
    (lambda t: t[1.5], (IndexError, TypeError), "only integers, slices"),
    (lambda t: t["a"], TypeError, r"new\(\): invalid data type 'str'"),
    (lambda t: t[torch.tensor([0.5])], IndexError, "tensors used as indices must be long"),
    (lambda t: t[torch.tensor([True, False, True])], IndexError, "does not match the shape of the indexed tensor"),
    (lambda t: t[torch.tensor([0, 1]), torch.tensor([0, 1, 2])], IndexError, "could not be broadcast together"),
    (lambda t: t.__setitem__(0, torch.ones(2)), RuntimeError, "shape|expanded size"),
    (lambda t: t.__setitem__(0, "a"), TypeError, "can't assign a str"),
    (lambda t: t.gather(0, torch.tensor([[[5]]])), RuntimeError, "index 5 is out of bounds for dimension 0 with size 2"),
    (lambda t: t.index_select(1, torch.tensor([3])), IndexError, "out of range"),
    (lambda t: t.take(torch.tensor([24])), IndexError, "out of range"),
    (lambda t: torch.tensor(1.0)[torch.tensor([0, 1])], IndexError, "too many indices for tensor of dimension 0"),
    (lambda t: torch.tensor(1.0)[0], IndexError, "0-dim|too many indices"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "words"), ERRORS)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call(torch.tensor(X))


def _loop(kind, x, dim, index, src):
    """What gather and the scatters mean, element by element."""
    out = np.zeros(index.shape) if kind == "gather" else x.copy()
    for place in np.ndindex(index.shape):
        there = list(place)
        there[dim] = index[place]
        if kind == "gather":
            out[place] = x[tuple(there)]
        elif kind == "scatter":
            out[tuple(there)] = src[place]
        else:
            out[tuple(there)] += src[place]
    return out


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("kind", ["gather", "scatter", "scatter_add"])
def test_gather_and_scatter(kind, dim):
    rng = np.random.RandomState(dim + 2)
    shape = (2, 2, 3)
    index = np.stack([rng.permutation(X.shape[dim])[: shape[dim]] for _ in range(12 // shape[dim])], 1)
    index = np.moveaxis(index.reshape(shape[dim], *(n for d, n in enumerate(shape) if d != dim % 3)), 0, dim).copy()
    src = rng.rand(*shape)
    t, i, s = torch.tensor(X / 9, requires_grad=True), torch.from_numpy(index), torch.tensor(src, requires_grad=True)
    call = (lambda a, b: a.gather(dim, i)) if kind == "gather" else lambda a, b: getattr(a, kind)(dim, i, b)
    np.testing.assert_allclose(call(t, s).detach().numpy(), _loop(kind, X / 9, dim % 3, index, src))
    assert gradcheck(call, (t, s)) and gradgradcheck(call, (t, s))


MASKED = [
    ("masked_fill", lambda x, m, s: x.masked_fill(m, -1.0), lambda x, m, s: np.where(m, -1.0, x)),
    ("masked_select", lambda x, m, s: x.masked_select(m), lambda x, m, s: x[m]),
    ("masked_scatter", lambda x, m, s: x.masked_scatter(m, s), lambda x, m, s: _filled(x, m, s)),
    ("where", lambda x, m, s: torch.where(m, x, s), lambda x, m, s: np.where(m, x, s)),
]


def _filled(x, m, s):
    out = x.copy()
    out[m] = s.reshape(-1)[: m.sum()]
    return out


@pytest.mark.parametrize(("name", "call", "oracle"), MASKED, ids=[m[0] for m in MASKED])
def test_masks(name, call, oracle):
    m, s = torch.from_numpy(MASK), torch.tensor(X[::-1].copy() / 5, requires_grad=True)
    x = torch.tensor(X / 9, requires_grad=True)
    np.testing.assert_allclose(call(x, m, s).detach().numpy(), oracle(X / 9, MASK, X[::-1] / 5))
    assert gradcheck(lambda a, b: call(a, m, b), (x, s))


def test_nonzero_forms():
    x = torch.tensor([[0, 2], [3, 0]])
    assert x.nonzero().tolist() == [[0, 1], [1, 0]]
    assert [i.tolist() for i in x.nonzero(as_tuple=True)] == [[0, 1], [1, 0]]
    assert torch.tensor(5).nonzero().shape == (1, 0)


@pytest.mark.parametrize("index", [0, slice(2), torch.tensor([0, 2]), torch.tensor([True, False, True])])
@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (None, TypeError, "can't assign a NoneType to a torch.FloatTensor"),
        (np.array(3.0), TypeError, "can't assign a numpy.ndarray to a torch.FloatTensor"),
        ([3.0], TypeError, "can't assign a list to a torch.FloatTensor"),
        ("a", TypeError, "can't assign a str to a torch.FloatTensor"),
        (np.float32(3), TypeError, "can't assign a numpy.float32 to a torch.FloatTensor"),
        (1e300, RuntimeError, "value cannot be converted to type float without overflow"),
        (1j, RuntimeError, "value cannot be converted to type float without overflow"),
    ],
)
def test_values_that_cannot_be_assigned(index, value, error, words):
    x = torch.ones(3)
    with pytest.raises(error, match=words):
        x[index] = value
    assert x.tolist() == [1, 1, 1]


def test_index_put_of_a_0d_tensor_of_another_type():
    x, three = torch.ones(3), torch.tensor(3.0, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="got Float for the destination and Double for the source"):
        x[torch.tensor([0, 2])] = three
    x[torch.tensor([True, False, True])] = three  # a mask is filled, and converts
    x[1] = three + 1
    assert x.tolist() == [3, 4, 3]


OTHER_TYPES = [torch.bool, torch.uint8, torch.int64, torch.float16, torch.float64, torch.complex64]


@pytest.mark.parametrize("dtype", OTHER_TYPES)
@pytest.mark.parametrize("shape", [(), (1,), (2,)])
def test_index_put_of_another_type_is_refused(dtype, shape):
    x, value = torch.zeros(3), torch.ones(shape, dtype=dtype)
    where = (torch.tensor([0, 2]),)
    for put in (x.index_put, x.index_put_, lambda *args: x.__setitem__(where, args[1])):
        with pytest.raises(RuntimeError, match="Index put requires the source and destination dtypes match, got Float"):
            put(where, value)
    assert x.tolist() == [0, 0, 0]


def test_one_element_under_a_mask_is_converted():
    x, mask = torch.zeros(3), torch.tensor([True, False, True])
    x.index_put_((mask,), torch.tensor([2.5], dtype=torch.float64))
    assert x.tolist() == [2.5, 0, 2.5]
    with pytest.raises(RuntimeError, match="without overflow"):
        x.index_put_((mask,), torch.tensor(1j))
    with pytest.raises(RuntimeError, match="dtypes match"):
        x.index_put_((mask,), torch.tensor([2.5, 1], dtype=torch.float64))
    x[True] = torch.tensor([1], dtype=torch.int64)
    assert x.tolist() == [1, 1, 1]


def test_half_assignment_overflows_to_infinity_and_fill_refuses():
    x = torch.zeros(2, dtype=torch.float16)
    x[0] = -1e9
    assert x.tolist() == [-float("inf"), 0]
    with pytest.raises(RuntimeError, match="c10::Half without overflow"):
        x.fill_(-1e9)


I64 = torch.tensor([0, 1])
LOST = [  # a call on zeros of float32, and what torch says
    (lambda x: x.fill_(1j), "type float without overflow"), (lambda x: torch.fill(x, 1j), "type float without overflow"),
    (lambda x: x.scatter_(0, I64, 1j), "type float without overflow"), (lambda x: x.masked_fill(x > 1, 1j), "type float without"),
    (lambda x: x.masked_fill_(x > 1, torch.tensor(1j)), "type float without overflow"),
    (lambda x: x.index_fill(0, I64, 1j), "Converting complex Scalar to non-complex type is not supported"),
    (lambda x: torch.full_like(x, 1j), "type float without overflow"), (lambda x: x.new_full((2,), 1j), "type float without overflow"),
    (lambda x: x.addcmul_(x, x, value=1j), "type float without overflow"), (lambda x: x.clamp_(torch.tensor([1j])), "ComplexFloat can't be cast"),
    (lambda x: x.new_tensor(1j), "must be real number, not complex"), (lambda x: torch.tensor([1j], dtype=torch.float32), "must be real number"),
    (lambda x: torch.tensor(1j, dtype=torch.int64), "'complex' object cannot be interpreted as an integer"),
    (lambda x: torch.nn.functional.pad(x, (1, 1), value=1j), r"argument 'value' \(position 4\) must be float, not complex"),
    (lambda x: torch.full((2,), None), r"full\(\): argument 'fill_value' \(position 2\) must be Number, not NoneType"),
    (lambda x: torch.full_like(x, torch.ones(1)), "must be Number, not Tensor"), (lambda x: torch.scalar_tensor([1.0]), "must be Number, not list"),
    (lambda x: torch.full((2,), 300, dtype=torch.uint8), "type uint8_t without overflow"), (lambda x: x.int().fill_(1e10), "type int without overflow"),
    (lambda x: x.scatter_(0, I64, torch.ones(())), "to be no larger size than src"), (lambda x: x.scatter_(0, I64, None), "invalid combination"),
    (lambda x: x.scatter_add_(0, I64, torch.ones((), dtype=torch.float64)), "Expected self.dtype to be equal to src.dtype"),
    (lambda x: x.int().clamp_(torch.tensor(1.5)), "can't be cast to the desired output type Int"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "words"), LOST)
def test_what_would_be_lost_is_refused(call, words):
    x = torch.zeros(3)
    with pytest.raises((RuntimeError, TypeError), match=words):
        call(x)
    assert x.tolist() == [0, 0, 0]


def test_negative_numbers_wrap_in_unsigned_types():
    x = torch.zeros(2, dtype=torch.uint8)
    x[0] = -3
    assert x.tolist() == [253, 0] and torch.full((1,), -255, dtype=torch.uint8).tolist() == [1]


PLAIN = [
    0,
    -1,
    slice(1, 2),
    slice(None, None, 2),
    slice(5, 9),
    (0, 1),
    (slice(None), -1),
    (0, slice(1, 3)),
    (),
    MASK[0],
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.int64], ids=str)
@pytest.mark.parametrize("index", PLAIN, ids=str)
def test_numbers_are_written_as_numpy_writes_them(index, dtype):
    """Plain indices of floats take a shorter way than other indices and types."""
    whole = torch.zeros(3, 4, 3, dtype=dtype)
    part = whole[..., 1]  # no contiguous memory
    expected = np.zeros((3, 4), part.numpy().dtype)
    for value in (2, 1.5, True):
        before = part._version
        part[_ours(index)] = value
        expected[index] = value
        assert part.numpy().tolist() == expected.tolist() and part._version == before + 1 == whole._version
    assert not whole[..., 0].any() and not whole[..., 2].any()


@pytest.mark.parametrize(
    "index", [3, -4, (0, 1, 2), (slice(None), 5), slice(None, None, -1), slice(0, 2, 0), slice(1.5, 2)]
)
def test_nothing_is_written_where_an_index_is_wrong(index):
    x = torch.zeros(3, 4)
    with pytest.raises((IndexError, ValueError, TypeError)):
        x[index] = 1.0
    assert not x.any() and x._version == 0
    with pytest.raises(RuntimeError, match="value cannot be converted to type float without overflow"):
        x[index] = 1e300  # torch looks at the number first


def test_short_ways_of_writing_ask_before_they_write():
    w, mask = torch.ones(3, requires_grad=True), torch.tensor([True, False, True])
    for write in (
        lambda: w.__setitem__(0, 1.0),
        lambda: w.fill_(1),
        lambda: w.copy_(torch.ones(3)),
        lambda: w.masked_fill_(mask, 2.0),
    ):
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            write()
    y = w * 2
    y[0], z = 5.0, y.clone()
    z.masked_fill_(mask, 7.0)[1:].copy_(torch.zeros(2))
    (y + z).sum().backward()
    assert w.grad.tolist() == [0, 2, 2] and z.tolist() == [7, 0, 0]
    with torch.no_grad():
        assert w.masked_fill_(mask, -1).fill_(3).copy_(torch.arange(3.0))._version == 3
    row = torch.zeros(1, 3).expand(2, 3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        row.copy_(torch.ones(2, 3))


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.scatter_(1, torch.zeros(2, 3, dtype=torch.int64), x),
        lambda x: x.scatter_add_(1, torch.zeros(2, 3, dtype=torch.int64), x),
        lambda x: x.index_add_(0, torch.tensor([0, 1]), x),
        lambda x: x.index_copy_(0, torch.tensor([1, 0]), x),
        lambda x: x.put_(torch.arange(6), x),
        lambda x: x.__setitem__(torch.tensor([1, 0]), x),
    ],
)
def test_placing_a_tensor_into_itself_is_refused(write):
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        write(torch.arange(6.0).reshape(2, 3))


def test_placing_columns_beside_themselves_is_not_refused():
    x = torch.arange(6.0).reshape(2, 3)
    x[:, :2].scatter_(1, torch.zeros(2, 1, dtype=torch.int64), x[:, 2:])
    assert x.tolist() == [[2.0, 1.0, 2.0], [5.0, 4.0, 5.0]]
    x = torch.arange(3.0)
    assert x.masked_fill_(x > 0, x[0]).tolist() == [0.0, 0.0, 0.0]


def test_assigning_at_a_bool():
    x = torch.zeros(3)
    x[False] = torch.tensor([1, 2])  # nothing is looked at
    x[True] = torch.tensor(2)
    assert x.tolist() == [2.0] * 3
    for index in (torch.tensor(True), torch.tensor([0])):
        with pytest.raises(RuntimeError, match="source and destination dtypes match"):
            x[index] = torch.tensor(2)
    with pytest.raises(RuntimeError, match="cannot be broadcast to indexing result"):  # before the types
        x[torch.tensor([0])] = torch.tensor([1, 2])
    with pytest.raises(RuntimeError, match=r"expanded size of the tensor \(2\) must match the existing size \(3\)"):
        x[:2] = torch.ones(3)


def test_filling_under_a_mask_reaches_places_that_are_shared():
    x = torch.zeros(1)
    with pytest.warns(UserWarning, match="masked_fill_ on expanded tensors is deprecated"):
        x.expand(3).masked_fill_(torch.tensor([True, False, False]), 2)
    assert x.item() == 2


@pytest.mark.parametrize("kind", ["int64", "int32"])
@pytest.mark.parametrize("shape", [(5, 4), (3, 1), (2, 3, 4), (1, 3, 1), (2, 3, 4, 5)])
def test_elements_by_their_numbers(shape, kind):
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape)
    for dim in range(len(shape)):
        taken = tuple(max(1, n - (k != dim and n > 2)) for k, n in enumerate(shape))
        index = rng.permuted(
            np.broadcast_to(
                np.arange(shape[dim]).reshape([-1] + [1] * (len(shape) - dim - 1)),
                taken[:dim] + (shape[dim],) + taken[dim + 1 :],
            ),
            axis=dim,
        )
        parts = [np.arange(n).reshape([-1] + [1] * (len(shape) - k - 1)) for k, n in enumerate(index.shape)]
        parts[dim] = index
        places = torch.tensor(index.astype(kind))
        for layout in (x, np.asfortranarray(x)):
            t = torch.from_numpy(layout)
            np.testing.assert_array_equal(torch.gather(t, dim, places).numpy(), x[tuple(parts)])
            expected = x.copy()
            expected[tuple(parts)] = source = rng.normal(size=index.shape)
            np.testing.assert_array_equal(t.scatter(dim, places, torch.tensor(source)).numpy(), expected)
            expected[tuple(parts)] = 2.0
            np.testing.assert_array_equal(t.scatter(dim, places, 2.0).numpy(), expected)
        np.testing.assert_array_equal(places.numpy(), index)


def test_sources_of_too_few_dimensions():
    x, i = torch.zeros(2, 3), torch.tensor([0, 2])
    with pytest.raises(RuntimeError, match="Indexing dim 1 is out of bounds of the source tensor with dim 1"):
        x.index_add(1, i, torch.ones(7))
    with pytest.raises(
        IndexError, match=r"dimensionality must match. Source dimensionality \(1\), destination .* \(2\)"
    ):
        x.index_copy(1, i, torch.ones(7))


BYTES = torch.tensor([1, 0, 1], dtype=torch.uint8)
DEPRECATED = "indexing with dtype torch.uint8 is now deprecated"


def test_index_put_takes_bytes_as_a_mask():
    x = torch.zeros(3)
    with pytest.warns(UserWarning, match=DEPRECATED):
        assert x.index_put((BYTES,), torch.tensor([2.0, 3.0])).tolist() == [2, 0, 3]
    with pytest.warns(UserWarning, match=DEPRECATED):
        assert x.index_put((BYTES,), torch.tensor(2.0), accumulate=True).tolist() == [2, 0, 2]
    with pytest.warns(UserWarning, match=DEPRECATED):
        assert x.index_put_((BYTES,), torch.tensor([2.0, 3.0])).tolist() == [2, 0, 3]
    for kind in (torch.int8, torch.int16):
        with pytest.raises(IndexError, match="must be long, int, byte or bool"):
            x.index_put((torch.tensor([1], dtype=kind),), torch.tensor(2.0))


@pytest.mark.filterwarnings(f"ignore:{DEPRECATED}")
def test_one_number_by_a_mask_of_bytes():
    def assign(x, index, value):
        x[index] = value
        return x.tolist()

    only_bools = "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char"
    for value in (1, 2.5, torch.tensor(2.5), torch.tensor([2.5])):
        for x, index in [
            (torch.zeros(3), BYTES),
            (torch.zeros(2, 3), (slice(None), BYTES)),
            (torch.zeros(2, 3), (0, BYTES)),
        ]:
            with pytest.raises(RuntimeError, match=only_bools):
                assign(x, index, value)
    for call in (torch.Tensor.index_put, torch.Tensor.index_put_):
        with pytest.raises(RuntimeError, match=only_bools):
            call(torch.zeros(3), (BYTES,), torch.tensor(2.5))
    assert assign(torch.zeros(3), BYTES, torch.tensor([2.0, 3.0])) == [2, 0, 3]
    assert assign(torch.zeros(2, 2), (BYTES[:2], BYTES[:2]), 1.0) == [[1, 0], [0, 0]]
    assert assign(torch.zeros(2), BYTES[0], 1.0) == [1, 1]
    with pytest.raises(IndexError, match="shape of the mask"):
        assign(torch.zeros(3), BYTES[:2], 1.0)
