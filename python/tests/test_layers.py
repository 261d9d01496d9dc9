"""A layer's products, whatever its padding, stride, groups and layout."""

import itertools

import approxtrain
import pytest
import torch
import torch.nn.functional as F
from torch import nn

OPTIONS = [
    dict(kernel_size=3, padding=1), dict(kernel_size=(3, 2), padding=(0, 2), stride=(2, 1)),
    dict(kernel_size=3, padding="same", dilation=2), dict(kernel_size=(2, 4), padding="same"),
    dict(kernel_size=3, padding="valid", groups=2), dict(kernel_size=3, padding=1, groups=4),
    *(dict(kernel_size=3, padding=2, padding_mode=mode, dilation=(1, 2))
      for mode in ("reflect", "replicate", "circular")),
    dict(kernel_size=2, padding="same", padding_mode="reflect", bias=False)]
# All entries are kept or all pairs are summed: the exact products, by the approximations' path.
EXACT = ["exact", "meprop:k=1000000", "topk_crs:ratio=1", "topk_crs:ratio=1,mode=backward"]


def conv(**options):
    torch.manual_seed(0)
    return nn.Conv2d(4, 8, **options)


def run(layer, x):
    """y and the gradients of x, weight and bias for a dY that depends on nothing else."""
    x = x.detach().clone().requires_grad_()
    layer.zero_grad()
    y = layer(x)
    y.backward(torch.randn(y.shape, generator=torch.Generator().manual_seed(2)))
    bias = [] if layer.bias is None else [layer.bias.grad]
    return [y.detach(), x.grad, layer.weight.grad.clone(), *bias]


def loops(layer, x, dy):
    """y, dX and dW of a convolution by plain loops in double precision, after its padding."""
    w = layer.weight.detach().double()
    (sh, sw), (dh, dw), groups = layer.stride, layer.dilation, layer.groups
    inputs, outputs = w.shape[1], w.shape[0] // groups
    y, dx, dweight = torch.zeros(dy.shape).double(), torch.zeros_like(x), torch.zeros_like(w)
    for c, i, j in itertools.product(range(dy.shape[1]), range(dy.shape[2]), range(dy.shape[3])):
        first = c // outputs * inputs
        where = (slice(None), slice(first, first + inputs),
                 slice(i * sh, i * sh + dh * (w.shape[2] - 1) + 1, dh),
                 slice(j * sw, j * sw + dw * (w.shape[3] - 1) + 1, dw))
        y[:, c, i, j] = (x[where] * w[c]).sum((1, 2, 3))
        dx[where] += dy[:, c, i, j, None, None, None] * w[c]
        dweight[c] += (x[where] * dy[:, c, i, j, None, None, None]).sum(0)
    return y, dx, dweight


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("method", EXACT)
def test_whole_products_are_pytorchs(options, method):
    layer, x = conv(**options), torch.randn(3, 4, 9, 10, generator=torch.Generator().manual_seed(1))
    expected = run(layer, x)
    approxtrain.apply(layer, method, skip_first=False)
    for layout in (torch.contiguous_format, torch.channels_last):
        for got, wanted in zip(run(layer, x.contiguous(memory_format=layout)), expected):
            torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("options", [one for one in OPTIONS if "padding_mode" not in one
                                     and not isinstance(one["padding"], str)], ids=str)
def test_pruned_products_are_those_of_plain_loops(options):
    layer, x = conv(bias=False, **options), torch.randn(
        2, 4, 7, 6, generator=torch.Generator().manual_seed(1))
    y = layer(x)
    dy = torch.randn(y.shape, generator=torch.Generator().manual_seed(2))
    method = "topk_position:k=2,scale=none"  # the weight gradient alone
    pruned = torch.ops.approxtrain.prune(dy, method).double()
    down, across = layer.padding
    padded = F.pad(x.double(), (across, across, down, down))
    wanted_y, dx, _ = loops(layer, padded, dy.double())
    _, _, dw = loops(layer, padded, pruned)
    dx = dx[:, :, down:down + 7, across:across + 6]
    approxtrain.apply(layer, method, skip_first=False)
    got = run(layer, x)
    for one, other in zip(got, (wanted_y, dx, dw)):
        torch.testing.assert_close(one.double(), other, rtol=1e-4, atol=1e-4)


def test_empty_and_single_inputs():
    layer = conv(kernel_size=3, padding=1)
    single = torch.randn(4, 5, 5)
    expected = run(layer, single)
    empty = layer(torch.zeros(0, 4, 5, 5))
    approxtrain.apply(layer, "exact", skip_first=False)
    for one, other in zip(run(layer, single), expected):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    assert layer(torch.zeros(0, 4, 5, 5)).shape == empty.shape


def test_a_linear_layer_takes_any_leading_sizes():
    torch.manual_seed(0)
    layer = nn.Linear(7, 5)
    approxtrain.apply(layer, "topk_crs:ratio=1", skip_first=False)
    for sizes in ((7,), (3, 7), (2, 3, 7)):
        x = torch.randn(sizes)
        torch.testing.assert_close(layer(x), F.linear(x, layer.weight, layer.bias))


def test_evaluation_is_exact():
    layer, x = conv(kernel_size=3), torch.randn(2, 4, 6, 6)
    expected = layer(x)
    approxtrain.apply(layer, "crs:ratio=0.25", skip_first=False)
    assert not torch.allclose(layer(x), expected, atol=1e-3)
    assert torch.equal(layer.eval()(x), expected)


def test_a_lazily_negated_input_is_negated():
    layer = conv(kernel_size=1, bias=False)
    approxtrain.apply(layer, "exact", skip_first=False)
    x = torch.randn(1, 4, 3, 3, dtype=torch.complex64).conj().imag
    assert x.is_neg()
    torch.testing.assert_close(layer(x), F.conv2d(x.resolve_neg(), layer.weight))


@pytest.mark.parametrize("method", ["crs:ratio=0.5", "sdgp", "stochastic_pruning", "topk_position"])
def test_a_lazy_minus_sign_is_seen(method):
    minus = lambda t: torch._neg_view(-t)
    cases = [(nn.Conv2d(32, 32, 3), (2, 32, 6, 6)), (nn.Linear(8, 5), (4, 8))]
    for layer, sizes in cases:
        x = torch.randn(sizes).contiguous(
            memory_format=torch.channels_last if len(sizes) == 4 else torch.contiguous_format)
        found = []
        for sign in (lambda t: t, minus):
            approxtrain.apply(model := nn.Sequential(layer), method, skip_first=False)
            given = sign(x.detach()).requires_grad_()
            y = model(given)
            dy = torch.randn(y.shape, generator=torch.Generator().manual_seed(2))
            layer.zero_grad()
            y.backward(sign(dy.to(memory_format=torch.channels_last) if y.dim() == 4 else dy))
            found.append([y.detach(), given.grad.resolve_neg(), layer.weight.grad.clone()])
            approxtrain.remove(model)
        for one, other in zip(*found):
            torch.testing.assert_close(one, other)
