"""gradient_error and stats."""

import math

import approxtrain
import pytest
import torch
from networks import gradients, images, labels, same, small
from torch import nn

CROSS_ENTROPY = nn.functional.cross_entropy


def errors(method, model=None, **options):
    return approxtrain.gradient_error(small() if model is None else model, (images(), labels()),
                                      CROSS_ENTROPY, method, **options)


def test_exact_has_none():
    rows = errors("exact", skip_first=False)
    # The first layer reads images, so it has no data gradient.
    assert [(row.layer, row.product) for row in rows] == [
        ("0", "forward"), ("0", "weight_gradient"),
        *((name, product) for name in "36"
          for product in ("forward", "data_gradient", "weight_gradient"))]
    for row in rows:
        assert row.draws == 1 and row.cosine == pytest.approx(1)
        assert row.relative_error < 1e-5 and row.bias < 1e-5 and row.variance == 0


def test_a_zero_gradient_is_all_bias():
    for row in errors("zero"):
        assert row.bias == 1 and row.relative_error == 1 and row.draws == 1


def test_an_unbiased_method_has_the_bias_of_its_noise():
    approxtrain.method("unbiased")(
        lambda dy, p=0.5, generator=None:
        dy * torch.bernoulli(torch.full_like(dy, p), generator=generator) / p)
    approxtrain.method("shrunk")(lambda dy: dy * 0.75)
    for method in ("unbiased", "stochastic_pruning:p=0.9,placement=output"):
        rows = errors(method, draws=100)
        assert len(rows) == 4
        for row in rows:
            assert row.draws == 100 and row.variance > 0
            assert row.bias_noise / 4 < row.bias < 2 * row.bias_noise
            assert row.bias_noise == pytest.approx(math.sqrt(row.variance / 100))
    for row in errors("shrunk"):
        assert row.bias == pytest.approx(0.25) and row.cosine == pytest.approx(1)


def test_the_model_is_left_as_it_was():
    model = small()
    approxtrain.apply(model, "crs:ratio=0.5")
    other = small()
    approxtrain.apply(other, "crs:ratio=0.5")
    random = torch.random.get_rng_state()
    table = str(errors("stochastic_pruning", model=model))
    assert "weight_gradient" in table.splitlines()[-1]
    assert torch.equal(torch.random.get_rng_state(), random)
    assert approxtrain.steps(model) == {"3": 0, "6": 0}
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(torch.equal(one, two) for one, two in zip(model.state_dict().values(),
                                                         other.state_dict().values()))
    assert same(gradients(model), gradients(other))


def test_bad_arguments():
    with pytest.raises(ValueError, match="draws = 1"):
        errors("zero", draws=1)
    with pytest.raises(ValueError, match="expected .inputs, targets."):
        approxtrain.gradient_error(small(), images(), CROSS_ENTROPY, "zero")
    with pytest.raises(ValueError, match="no_such"):
        errors("no_such")


def test_stats_count_what_was_left_out():
    model = small()
    with pytest.raises(ValueError, match="no approximated layer"):
        approxtrain.stats(model)
    approxtrain.apply(model, "meprop:k=16,per=example", schedule="slice:layers=2,steps=::2")
    for _ in range(4):
        gradients(model)
    rows = {row.product: row for row in approxtrain.stats(model)}
    macs = 4 * 4 * 8 * 64 * 8 * 9  # steps x images x outputs x taps
    assert [row.macs for row in rows.values()] == [macs] * 3
    assert rows["forward"].calls == 0 and rows["forward"].macs_left_out == 0
    assert rows["forward"].density is None
    for product in ("data_gradient", "weight_gradient"):
        assert rows[product].calls == 2
        assert rows[product].density == pytest.approx(16 / (8 * 64))
        assert rows[product].macs_left_out == pytest.approx(macs / 2 * (1 - 16 / (8 * 64)))
    total = approxtrain.stats(model)
    assert total.macs == 3 * macs and "48.4 %" in str(total)
    assert total.macs_left_out == pytest.approx(2 * rows["weight_gradient"].macs_left_out)


def test_stats_of_a_sampled_product():
    model = small()
    approxtrain.apply(model, "topk_crs:ratio=0.5", schedule="slice:layers=2")
    gradients(model)
    for row in approxtrain.stats(model):
        assert row.calls == 1 and row.density is None
        assert row.macs_left_out == pytest.approx(row.macs / 2)
