"""Batch norms that are computed with the ReLU behind them."""

import copy
import pickle

import approxtrain
import pytest
import torch
import torch.nn.functional as F
from approxtrain._norms import FusedNorm, Pending
from networks import labels
from torch import nn
from torch.utils.checkpoint import checkpoint


def chain(relu=lambda: nn.ReLU(), **options):
    """Convolutions with norms and ReLUs, for [N,3,9,8]; the last norm has no ReLU behind it."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8, **options), relu(),
        nn.Conv2d(8, 6, 3), nn.BatchNorm2d(6, **options), relu(), nn.Conv2d(6, 4, 2),
        nn.BatchNorm2d(4, **options), nn.Flatten(), nn.LazyLinear(10))
    model(torch.zeros(2, 3, 9, 8))
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.reset_running_stats()
            if module.affine:
                nn.init.uniform_(module.weight, 0.5, 1.5)
                nn.init.uniform_(module.bias, -0.5, 0.5)
    return model.to(memory_format=torch.channels_last)


def images(count=5, seed=1, dtype=torch.float32):
    drawn = torch.randn(count, 3, 9, 8, generator=torch.Generator().manual_seed(seed))
    return drawn.to(dtype).contiguous(memory_format=torch.channels_last)


def run(model, steps=2, dtype=torch.float32, forward=None):
    """Losses, gradients of the input and of parameters, buffers, of so many steps of training."""
    optimizer, found = torch.optim.SGD(model.parameters(), lr=0.05), []
    for step in range(steps):
        x = images(seed=step, dtype=dtype).requires_grad_()
        model.zero_grad()
        loss = F.cross_entropy((forward or model)(x), labels(len(x)))
        loss.backward()
        found += [loss.detach(), x.grad, *(one.grad.clone() for one in model.parameters())]
        optimizer.step()
    return found + [one.clone() for one in model.buffers()]


def agree(got, wanted):
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted):
        torch.testing.assert_close(one.double(), other.double(), rtol=2e-4, atol=1e-4)


def fused(model, method="dense"):
    approxtrain.apply(model, method, skip_first=False, fuse_norms=True)
    return model


def calls(model):
    return [module._approxtrain_norm.fused for module in model.modules()
            if isinstance(module, FusedNorm)]


@pytest.mark.parametrize("options", [{}, {"momentum": None}, {"momentum": 0.3, "eps": 1e-2}],
                         ids=str)
@pytest.mark.parametrize("relu", [lambda: nn.ReLU(), lambda: nn.ReLU(inplace=True)],
                         ids=["relu", "inplace"])
def test_a_training_is_pytorchs_in_double_precision(options, relu):
    model = chain(relu, **options)
    wanted = run(copy.deepcopy(model).double(), dtype=torch.float64)
    fused(model)
    agree(run(model), wanted)
    assert calls(model) == [2, 2, 0]


def test_evaluation_is_exact():
    model = chain()
    run(model)
    expected = copy.deepcopy(model).eval()(images())
    assert torch.equal(fused(model).eval()(images()), expected)
    with torch.no_grad():  # in training mode: no graph, PyTorch's norm
        expected = copy.deepcopy(approxtrain.remove(model) and model).train()(images())
        assert torch.equal(fused(model).train()(images()), expected)
    assert calls(model) == [0, 0, 0]


@pytest.mark.parametrize("options", [dict(affine=False), dict(track_running_stats=False)], ids=str)
def test_norms_without_parameters_or_statistics_are_left_alone(options):
    with pytest.raises(ValueError, match="^the model .Sequential. has no batch norm to") as caught:
        fused(chain(**options))
    assert len(str(caught.value).splitlines()) == 1
    mixed = chain()
    mixed[1] = nn.BatchNorm2d(8, **options)
    plain = copy.deepcopy(mixed)
    agree(run(fused(mixed)), run(plain))
    assert type(mixed[1]) is nn.BatchNorm2d and calls(mixed) == [2, 0]


def test_what_the_fused_norm_does_not_take_is_pytorchs_bit_for_bit():
    """The channels first, double precision."""
    for dtype, layout in ((torch.float32, torch.contiguous_format),
                          (torch.float64, torch.channels_last)):
        model = chain().to(dtype=dtype, memory_format=layout)
        plain = copy.deepcopy(model)
        x = images(dtype=dtype).contiguous(memory_format=layout)
        for one in (fused(model), plain):
            one.zero_grad()
            one(x).sum().backward()
        assert calls(model) == [0, 0, 0]
        assert all(map(torch.equal, (one.grad for one in model.parameters()),
                       (one.grad for one in plain.parameters())))
        assert all(map(torch.equal, model.buffers(), plain.buffers()))


def test_state_and_remove():
    model = chain()
    plain = copy.deepcopy(model)
    fused(model)
    assert model.state_dict().keys() == plain.state_dict().keys()
    run(model)
    plain.load_state_dict(model.state_dict())
    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        agree(run(copied), run(copy.deepcopy(plain)))
        assert type(copied[1]) is FusedNorm
    approxtrain.remove(model)
    assert [type(one) for one in model] == [type(one) for one in plain]
    assert not any(hasattr(one, "_approxtrain_norm") for one in model.modules())
    assert all(map(torch.equal, run(model), run(plain)))


class Block(nn.Module):
    """One ReLU module for two places, a shortcut, functions in place of modules."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv1, self.conv2 = nn.Conv2d(3, 6, 3, padding=1), nn.Conv2d(6, 6, 3, padding=1)
        self.shortcut = nn.Conv2d(3, 6, 1)
        self.bn1, self.bn2, self.bn3 = (nn.BatchNorm2d(6) for _ in range(3))
        self.relu = nn.ReLU(inplace=True)
        self.last = nn.Linear(6, 10)
        self.to(memory_format=torch.channels_last)

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += self.bn3(self.shortcut(x))
        return self.last(self.relu(y).mean((2, 3)))


def test_a_shared_relu_and_a_shortcut():
    model = Block()
    wanted = run(copy.deepcopy(model).double(), steps=3, dtype=torch.float64)
    agree(run(fused(model), steps=3), wanted)
    assert calls(model) == [3, 0, 0]
    assert [one._approxtrain_norm.waits for one in (model.bn1, model.bn2, model.bn3)] == [
        True, False, False]


READERS = {
    "relu": F.relu, "torch.relu": torch.relu, "method": lambda y: y.relu(),
    "relu_": lambda y: F.relu(y, inplace=True), "ignored": lambda y: (torch.relu_(y), y * 1)[1],
    "and more": lambda y: F.relu(y) + y, "more first": lambda y: y * 0.5 + F.relu(y),
    "twice": lambda y: F.relu(y) * F.relu(y), "gelu": F.gelu, "view": lambda y: F.relu(y[:, 1:]),
    "add_": lambda y: (y.add_(1), F.relu(y))[1], "mul_": lambda y: y.mul_(2.0),
    "detached": lambda y: F.relu(y) + y.detach(), "hook": lambda y: (
        y.register_hook(lambda g: 2 * g), F.relu(y))[1],
    "retained": lambda y: (y.retain_grad(), F.relu(y))[1],
    "no_grad": lambda y: F.relu(y) * _mean_without_graph(y),
    "cat": lambda y: torch.cat([y, F.relu(y)]), "clone": lambda y: F.relu(y.clone()),
    "sizes": lambda y: F.relu(y) / y.shape[1] + len(y) + y.dim(),
    "own": lambda y: Doubled.apply(y), "own, then relu": lambda y: Doubled.apply(y) + F.relu(y),
    "threshold": lambda y: F.threshold(y, 0.1, 0.0), "out": lambda y: torch.maximum(y, y * 0)}


def _mean_without_graph(y):
    with torch.no_grad():
        return float(y.abs().mean())


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, y):
        return y * 2

    @staticmethod
    def backward(ctx, dy):
        return dy * 2


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_whoever_reads_a_norm_gets_what_it_would_get_of_pytorchs(reader):
    """Twice: a norm whose result something else has read is PyTorch's afterwards."""
    norm = nn.BatchNorm2d(3)
    nn.init.uniform_(norm.weight, 0.5, 1.5)
    nn.init.uniform_(norm.bias, -0.5, 0.5)
    own = nn.Sequential(nn.Conv2d(3, 3, 1), norm).to(memory_format=torch.channels_last)
    plain = copy.deepcopy(own).double()
    fused(own)
    for seed in range(2):
        found = []
        for model, dtype in ((own, torch.float32), (plain, torch.float64)):
            model.zero_grad()
            x = images(dtype=dtype, seed=seed).requires_grad_()
            y = reader(model(x))
            assert not isinstance(y, Pending)
            weights = torch.randn(y.shape, generator=torch.Generator().manual_seed(3)).to(dtype)
            (y * weights).sum().backward()
            found.append([y.detach(), x.grad, *(one.grad for one in model.parameters()),
                          *model.buffers()])
        agree(*found)


def test_what_autograd_takes_without_asking():
    """backward from a norm itself, and code that sees the tensor below Python's functions."""
    own = nn.Sequential(nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3)).to(memory_format=torch.channels_last)
    plain = copy.deepcopy(own)
    fused(own)
    dy = torch.randn(images().shape)
    seen = []
    for model in (own, plain):
        model[1].register_full_backward_hook(lambda *_: seen.append(1))
        torch.autograd.backward([model(images())], [dy])
    assert len(seen) == 2
    agree([one.grad for one in own.parameters()], [one.grad for one in plain.parameters()])
    approxtrain.remove(own)
    own[1]._backward_hooks.clear()
    own.zero_grad()
    fused(own)
    torch.autograd.backward([own(images())], [dy])
    agree([one.grad for one in own.parameters()], [one.grad for one in plain.parameters()])


def test_a_changed_result_is_not_read_without_a_graph():
    own = fused(nn.Sequential(nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3)).to(
        memory_format=torch.channels_last))
    y = own(images())
    y.add_(1)
    with pytest.raises(RuntimeError, match="^1: the result of this norm was changed in place"):
        Doubled.apply(y)
    x = images().requires_grad_()
    y = own[1](x)
    with torch.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="^1: what this norm read was changed in place"):
        F.relu(y)
    y = own(images())
    own[1].weight.untyped_storage().resize_(0)
    with pytest.raises(RuntimeError, match="^1: this norm's parameters were freed before"):
        F.relu(y)
    own[1].weight.untyped_storage().resize_(12)
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        own(torch.zeros(1, 3, 1, 1))


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("first", [5, 6])  # the first segment ends in a norm, or in its ReLU
def test_gradient_checkpointing(first, reentrant):
    model = chain()
    plain = copy.deepcopy(model)
    fused(model)

    def forward_of(model):
        def forward(x):
            x = checkpoint(model[:first], x, use_reentrant=reentrant)
            return checkpoint(model[first:], x, use_reentrant=reentrant)
        return forward
    got = run(model, 3, forward=forward_of(model))
    wanted = run(plain, 3, forward=forward_of(plain))
    # PyTorch computes a norm at the end of a segment again, and moves its statistics again.
    buffers = 9 if first == 5 and not reentrant else 0
    agree(got[:len(got) - buffers], wanted[:len(wanted) - buffers])
    assert calls(model)[0] > 0


def test_autocast():
    model = chain()
    plain = copy.deepcopy(model)
    fused(model)
    found = []
    for one in (model, plain):
        with torch.autocast("cpu", torch.bfloat16):
            loss = F.cross_entropy(one(images()).float(), labels(5))
        loss.backward()
        found.append([loss.detach(), *(each.grad for each in one.parameters())])
    for got, wanted in zip(*found):
        torch.testing.assert_close(got, wanted, rtol=0.1, atol=0.02)
    assert calls(model) == [1, 1, 0]


def test_a_compiled_model_has_pytorchs_norm():
    model = chain()
    plain = copy.deepcopy(model)
    compiled = torch.compile(fused(model), backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(images()), plain(images()))
    assert calls(model) == [0, 0, 0] and all(map(torch.equal, model.buffers(), plain.buffers()))


def test_a_trace_gets_pytorchs_norm():
    model = chain()
    plain = copy.deepcopy(model)
    fused(model)
    got = torch.jit.trace(model, images(), check_trace=False)(images())
    torch.testing.assert_close(got, plain(images()))
    assert calls(model) == [0, 0, 0]


def test_with_a_method():
    """The gradient that the norm shows to the layer in front of it is the one that it prunes."""
    model = chain()
    plain = copy.deepcopy(model)
    fused(model, "stochastic_pruning:p=0.5")
    approxtrain.apply(plain, "stochastic_pruning:p=0.5", skip_first=False)
    got, wanted = run(model, 1), run(plain, 1)
    # A rounding turns the draw of an entry near its threshold.
    for one, other in zip(got[:3] + got[-9:], wanted[:3] + wanted[-9:]):
        torch.testing.assert_close(one, other, rtol=0.05, atol=5e-3)
    rows = [row for row in approxtrain.stats(model) if row.product == "weight_gradient"]
    others = [row for row in approxtrain.stats(plain) if row.product == "weight_gradient"]
    assert [row.density for row in rows] == pytest.approx([row.density for row in others], abs=0.05)
