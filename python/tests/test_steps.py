"""Draws by layer and step: checkpointing, accumulation, resuming, copies."""

import copy
import io
import pickle

import approxtrain
import pytest
import torch
from networks import gradients, images, labels, same, small
from torch import nn
from torch.utils.checkpoint import checkpoint

METHOD = "crs:ratio=0.5"  # draws in the forward product


def approximated(seed=0, method=METHOD):
    model = small()
    approxtrain.apply(model, method, skip_first=False, seed=seed)
    return model


def test_steps_and_seeds_draw_for_themselves():
    model = approximated()
    first, second = gradients(model), gradients(model)
    assert not same(first, second)
    assert approxtrain.steps(model) == {"0": 2, "3": 2, "6": 2}
    assert same(gradients(approximated()), first)
    assert not same(gradients(approximated(seed=1)), first)


def test_a_forward_pass_alone_is_no_step():
    model = approximated()
    assert torch.equal(model(images()), model(images()))
    with torch.no_grad():
        model(images())
    assert set(approxtrain.steps(model).values()) == {0}


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("method", [METHOD, "stochastic_pruning"])
def test_gradient_checkpointing_draws_the_same(reentrant, method):
    plain, saving = approximated(method=method), approximated(method=method)

    class Saving(nn.Module):
        def __init__(self, model):
            super().__init__()
            self.head, self.tail = model[:3], model[3:]

        def forward(self, x):
            x = checkpoint(self.head, x.requires_grad_(), use_reentrant=reentrant)
            return checkpoint(self.tail, x, use_reentrant=reentrant)
    model = Saving(saving)
    for step in range(3):
        wanted, got = gradients(plain), gradients(model)
        assert list(map(torch.equal, wanted.values(), got.values())) == [True] * len(wanted)
        assert set(approxtrain.steps(model).values()) == {step + 1}


def test_each_micro_batch_draws_for_itself():
    model = approximated()
    seen = []
    for _ in range(2):
        gradients(model)
        seen.append(model[3].weight.grad.clone())
    model = approximated()
    for _ in range(2):
        nn.functional.cross_entropy(model(images()), labels()).backward()
    torch.testing.assert_close(model[3].weight.grad, seen[0] + seen[1])


def test_changes_in_place_lose_no_step():
    model = nn.Sequential(nn.Linear(8, 6), nn.ReLU(inplace=True), nn.Linear(6, 5),
                          nn.ReLU(inplace=True))
    approxtrain.apply(model, METHOD, schedule={"layers": "kind=linear", "steps": "::2"})
    for _ in range(3):  # every other one is exact
        model(torch.randn(2, 3, 8)).sum().backward()
    assert approxtrain.steps(model) == {"0": 3, "2": 3}


def test_a_backward_pass_that_fails_leaves_the_count_working():
    model = approximated()
    y = model(images())
    y.register_hook(lambda _: (_ for _ in ()).throw(KeyError("mine")))
    with pytest.raises(KeyError):
        y.sum().backward()
    gradients(model)
    assert set(approxtrain.steps(model).values()) == {1}


def test_a_resumed_training_draws_on():
    whole = approximated()
    for _ in range(2):
        gradients(whole)
    file = io.BytesIO()
    torch.save(whole.state_dict(), file)
    wanted = gradients(whole)
    resumed = approximated()
    file.seek(0)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    assert same(gradients(resumed), wanted)


def test_state_dicts_of_plain_models_and_back():
    model, plain = approximated(), small(seed=5)
    gradients(model)
    assert model.state_dict().keys() == plain.state_dict().keys()
    plain.load_state_dict(model.state_dict())
    assert torch.equal(plain[3].weight, model[3].weight)
    model.load_state_dict(small(seed=6).state_dict())
    assert torch.equal(small(seed=6)[3].weight, model[3].weight)
    assert set(approxtrain.steps(model).values()) == {1}


def test_steps_beside_a_state_dict():
    model, other = approximated(), approximated()
    gradients(model)
    approxtrain.set_steps(other, approxtrain.steps(model))
    assert approxtrain.steps(other) == approxtrain.steps(model)
    with pytest.raises(ValueError, match="^head: is no approximated layer"):
        approxtrain.set_steps(other, {"0": 9, "head": 3})
    assert approxtrain.steps(other) == approxtrain.steps(model)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))],
                         ids=["deepcopy", "pickle"])
def test_copies_go_on_alike_and_count_apart(again):
    model = approximated()
    gradients(model)
    other = again(model)
    assert same(gradients(other), gradients(model))
    gradients(model)
    assert approxtrain.steps(other)["3"] == 2 and approxtrain.steps(model)["3"] == 3
    assert approxtrain.stats(other)[0].calls == 1 and approxtrain.stats(model)[0].calls == 3


def test_a_schedule_counts_backward_passes():
    model = small()
    exact = gradients(model)
    approxtrain.apply(model, "zero", schedule="slice:layers=2,steps=1::2,until=5ba")
    zeros = []
    for _ in range(7):
        zeros.append(not gradients(model)["3.weight"].any())
    assert zeros == [False, True, False, True, False, False, False]
    torch.testing.assert_close(gradients(model)["3.weight"], exact["3.weight"])
