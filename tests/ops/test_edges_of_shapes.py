"""What torch says of, or computes for, shapes at the edge: tensors without dimensions or elements, views in the middle."""

import pytest

import rushlight as torch

ZERO = torch.zeros(1, dtype=torch.int64)


def test_sources_without_dimensions_count_as_one_element():
    src = torch.tensor(2.0, requires_grad=True)
    out = torch.ones(3).scatter_add(-1, ZERO, src)
    assert out.tolist() == [3.0, 1.0, 1.0]
    out.sum().backward()
    assert src.grad.shape == () and src.grad.item() == 1.0
    assert torch.ones(()).scatter(0, ZERO, torch.tensor(2.0)).tolist() == 2.0
    mean = torch.ones(3).scatter_reduce(0, ZERO, src, "mean")
    assert mean.tolist() == [1.5, 1.0, 1.0]
    mean.sum().backward()
    assert src.grad.item() == 1.5


@pytest.mark.parametrize(
    ("name", "shapes", "message"),
    [
        (
            "scatter_add",
            ((), (2,), ()),
            r"Expected index \[2\] to be no larger than self \[\] apart from dimension 0 and",
        ),
        ("scatter_add", ((2, 3), (1,), (1,)), "same number of dimensions as self tensor"),
        ("scatter_add", ((2, 3), (1, 1), ()), "same number of dimensions as src tensor"),
        ("scatter", ((3,), (1,), (2, 2)), "same number of dimensions as src tensor"),
        ("scatter", ((3,), (2,), ()), r"no larger size than src \[\]"),
        ("scatter", ((3,), (2,), (1,)), r"no larger size than src \[1\]"),
    ],
)
def test_indices_larger_than_what_they_are_of(name, shapes, message):
    into, index, src = torch.ones(shapes[0]), torch.zeros(shapes[1], dtype=torch.int64), torch.ones(shapes[2])
    with pytest.raises(RuntimeError, match=message):
        getattr(into, name)(-1, index, src)
    if name == "scatter":
        with pytest.raises(RuntimeError, match=message):
            into.scatter_reduce(-1, index, src, "sum")


def test_elements_of_another_size_have_to_begin_at_one():
    bytes_ = torch.arange(8, dtype=torch.uint8)
    with pytest.raises(RuntimeError, match=r"self.stride\(0\) must be divisible by 2 to view Byte as Short .* got 3"):
        bytes_.as_strided((2, 4), (3, 1)).view(torch.int16)
    with pytest.raises(RuntimeError, match=r"self.storage_offset\(\) must be divisible by 2 .* but got 1"):
        bytes_[1:5].view(torch.int16)
    with pytest.raises(RuntimeError, match=r"self.size\(-1\) must be divisible by 2"):
        bytes_.as_strided((2, 1), (4, 3)).view(torch.int16)
    assert bytes_[2:6].view(torch.int16).tolist() == [770, 1284]


def test_bools_of_fewer_than_two_numbers():
    assert torch.linspace(0, 1, 1, dtype=torch.bool).tolist() == [False]
    assert torch.logspace(0, 1, 1, out=torch.zeros(3, dtype=torch.bool)).tolist() == [True]
    assert torch.linspace(0, 1, 0, dtype=torch.bool).shape == torch.logspace(0, 1, 0, dtype=torch.bool).shape == (0,)
    with pytest.raises(NotImplementedError, match="\"linspace_cpu\" not implemented for 'Bool'"):
        torch.linspace(0, 1, 2, dtype=torch.bool)


def test_roll_of_nothing():
    empty = torch.ones(2, 0)
    assert empty.roll(2, 4).shape == (2, 0)
    with pytest.raises(IndexError):
        torch.ones(2, 1).roll(2, 4)
    with pytest.raises(RuntimeError, match="`shifts` required"):
        empty.roll((), ())


def test_range_takes_both_ends():
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        torch.range(5)
    with pytest.raises(TypeError, match="missing 2 required positional argument"):
        torch.range()


def test_pivot_is_a_bool():
    with pytest.raises(TypeError, match=r"_lu_with_info\(\): argument 'pivot' must be bool, not complex"):
        torch.eye(2).lu(3j)
