"""Methods written in Python."""

import approxtrain
import pytest
import torch
import torch.nn.functional as F
from approxtrain import Channels, NofM, Positions
from networks import gradients, images, same, small
from torch import nn


@approxtrain.method("keep_share")
def keep_share(dy, share=0.5):
    return dy * (dy.abs() >= dy.abs().float().flatten().quantile(1 - share))


@approxtrain.method("keep_some")
def keep_some(dy, p=0.5, generator=None):
    return dy * torch.bernoulli(torch.full_like(dy, p), generator=generator) / p


def one_layer(method, module=None, **options):
    model = nn.Sequential(module or nn.Conv2d(3, 8, 3, padding=1))
    torch.manual_seed(0)
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    if method:
        approxtrain.apply(model, method, skip_first=False, **options)
    return model


def through(model, x, dy):
    x = x.clone().requires_grad_()
    model.zero_grad()
    model(x).backward(dy)
    return x.grad, model[0].weight.grad.clone(), model[0].bias.grad.clone()


@pytest.mark.parametrize("linear", [False, True])
def test_gradients_are_those_of_the_pruned_gradient(linear):
    make = (lambda: nn.Linear(3, 8)) if linear else (lambda: nn.Conv2d(3, 8, 3, padding=1))
    x = torch.randn(5, 3) if linear else images()
    dy = torch.randn(5, 8) if linear else torch.randn(4, 8, 8, 8)
    got = through(one_layer("keep_share:share=0.25", make()), x, dy)
    wanted = through(one_layer("", make()), x, keep_share(dy, 0.25))[:2]
    for one, other in zip(got, wanted):
        torch.testing.assert_close(one, other)
    torch.testing.assert_close(got[2], dy.sum([d for d in range(dy.dim()) if d != 1]))


def test_a_method_may_be_for_one_gradient():
    approxtrain.method("weights_alone", products=["weight_gradient"])(lambda dy: dy * 0)
    x, dy = images(), torch.randn(4, 8, 8, 8)
    exact, got = through(one_layer(""), x, dy), through(one_layer("weights_alone"), x, dy)
    torch.testing.assert_close(got[0], exact[0])
    assert not got[1].any()
    scheduled = through(one_layer("keep_share", schedule="slice:layers=1,products=data_gradient"),
                        x, dy)
    torch.testing.assert_close(scheduled[1], exact[1])
    assert not torch.allclose(scheduled[0], exact[0])


def test_plans():
    dy = torch.tensor([[1.0, -4, 2, 3], [0, 5, -6, 1]])
    kept = torch.tensor([1, 2])
    approxtrain.method("some_channels")(lambda dy: Channels(kept, scale=2.0))
    approxtrain.method("two_of_four")(lambda dy: NofM(2, 4))
    approxtrain.method("peaks")(lambda dy: Positions(
        dy.flatten(2).abs().argmax(-1, keepdim=True) if dy.dim() == 4
        else torch.zeros(*dy.shape, 1, dtype=torch.long)))
    own = {name: approxtrain._own.find_own(name) for name in
           ("some_channels", "two_of_four", "peaks")}
    assert own["some_channels"].pruned(dy, "some_channels", 0).tolist() == [[0, -8, 4, 0],
                                                                           [0, 10, -12, 0]]
    assert own["two_of_four"].pruned(dy, "two_of_four", 0).tolist() == [[0, -4, 0, 3],
                                                                        [0, 5, -6, 0]]
    planes = dy.view(1, 2, 2, 2)
    assert own["peaks"].pruned(planes, "peaks", 0).tolist() == [[[[0, -4], [0, 0]],
                                                                 [[0, 0], [-6, 0]]]]
    assert torch.equal(own["peaks"].pruned(dy, "peaks", 0), dy)


def test_two_of_four_is_sdgps():
    """n of m in Python prunes as the built-in method does."""
    approxtrain.method("my_sdgp", products=["data_gradient"])(lambda dy: NofM(2, 4))
    x, dy = images(), torch.randn(4, 8, 8, 8)
    built_in = "sdgp:n=2,m=4,rank=magnitude,rescale=none"
    for one, other in zip(through(one_layer("my_sdgp"), x, dy),
                          through(one_layer(built_in), x, dy)):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_draws_follow_the_seed_layer_and_step():
    def drawn(seed, times=1):
        model = small()
        approxtrain.apply(model, "keep_some:p=0.25", seed=seed)
        return [gradients(model) for _ in range(times)]
    first, second = drawn(0, 2)
    assert not same(first, second) and same(drawn(0)[0], first) and not same(drawn(1)[0], first)


def refused(function, match, error=ValueError):
    approxtrain.method("bad")(function)
    model = small()
    before = [type(module) for module in model.modules()]
    with pytest.raises(error, match=match) as caught:
        approxtrain.apply(model, "bad")
    assert len(str(caught.value).splitlines()) == 1
    assert [type(module) for module in model.modules()] == before


def test_bad_returns_are_one_line_and_change_nothing():
    weight = torch.ones(1, requires_grad=True)
    with torch.enable_grad():
        graph = weight * 2
    refused(lambda dy: dy[:, :1], r"^3: bad returned \(2, 1, 4, 4\), expected the shape of dy")
    refused(lambda dy: dy.double(), "^3: bad returned torch.float64, expected", TypeError)
    refused(lambda dy: dy / 0 * 0, "^3: bad returned NaN")
    refused(lambda dy: graph.expand(dy.shape), "^3: bad returned a tensor with a graph")
    refused(lambda dy: 1.0, "^3: bad returned float", TypeError)
    refused(lambda dy: None, "^3: bad returned NoneType", TypeError)
    refused(lambda dy: Channels(torch.tensor([99])), "^3: bad: Channels does not fit dy")
    refused(lambda dy: NofM(3, 5), "^3: bad: NofM does not fit dy")
    refused(lambda dy: dy.to("meta"), "^3: bad returned a tensor on meta")
    refused(lambda dy: 1 // 0, "^3: bad: .*division", RuntimeError)


def test_a_bad_return_in_training_names_the_layer():
    seen = []

    @approxtrain.method("bad_later")
    def bad_later(dy):
        seen.append(dy.shape)
        return dy if len(seen) < 3 else dy[:1]
    model = small()
    approxtrain.apply(model, "bad_later")
    with pytest.raises(ValueError, match="^6: bad_later returned"):
        gradients(model)


def test_bad_registrations():
    with pytest.raises(ValueError, match="letters"):
        approxtrain.method("my method")
    with pytest.raises(ValueError, match="alone"):
        approxtrain.method("forward", products=["forward"])
    with pytest.raises(ValueError, match="takes no gradient"):
        approxtrain.method("nothing")(lambda: None)
    with pytest.raises(ValueError, match="parameter k needs"):
        approxtrain.method("no_default")(lambda dy, k: dy)
    with pytest.raises(ValueError, match="unknown parameter q; it has share"):
        approxtrain.apply(small(), "keep_share:q=1")
    with pytest.raises(ValueError, match="share = x: expected a value like 0.5"):
        approxtrain.apply(small(), "keep_share:share=x")


def test_what_it_left_out_is_counted():
    model = one_layer("keep_share:share=0.25")
    through(model, images(), torch.randn(4, 8, 8, 8))
    rows = {row.product: row for row in approxtrain.stats(model)}
    macs = 4 * 8 * 64 * 27
    assert rows["forward"].calls == 0 and rows["forward"].macs == macs
    for product in ("data_gradient", "weight_gradient"):
        assert rows[product].density == pytest.approx(0.25, abs=0.01)
        assert rows[product].macs_left_out == pytest.approx(0.75 * macs, rel=0.02)


def test_autocast_reaches_it():
    model = one_layer("keep_share")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = model(images())
    assert y.dtype == torch.bfloat16
    y.float().square().mean().backward()
    assert model[0].weight.grad.dtype == torch.float32
    plain = one_layer("")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(plain(images()), F.conv2d(images(), plain[0].weight,
                                                             plain[0].bias, padding=1))
