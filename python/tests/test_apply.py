"""apply and remove: which layers, which errors, and what a model is after them."""

import copy

import approxtrain
import pytest
import torch
from networks import gradients, images, same, small
from torch import nn


def classes(model):
    return [type(module) for module in model.modules()]


def test_three_lines():
    model = small()
    before, state = classes(model), {key: one.clone() for key, one in model.state_dict().items()}
    assert approxtrain.apply(model, "stochastic_pruning:p=0.9", skip_first=True) == ["3", "6"]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        gradients(model)
        optimizer.step()
    assert "approximated=stochastic_pruning:p=0.9" in repr(model)
    assert approxtrain.remove(model) == ["3", "6"]
    assert classes(model) == before and model.state_dict().keys() == state.keys()
    assert not hasattr(model[3], "_approxtrain")
    assert approxtrain.remove(model) == []


def test_dense_is_pytorchs_own_bit_for_bit():
    model = small()
    expected = gradients(model)
    approxtrain.apply(model, "dense", skip_first=False)
    assert same(gradients(model), expected)
    # PyTorch's layers compute it, and nobody counts.
    assert approxtrain.stats(model).macs == 0 and set(approxtrain.steps(model).values()) == {0}
    assert not model[3](torch.randn(1, 8, 4, 4))._backward_hooks


def test_what_stays_exact():
    model = small()
    assert approxtrain.apply(model, "zero", skip_first=False) == ["0", "3", "6"]
    approxtrain.remove(model)
    assert approxtrain.apply(model, "zero", schedule="slice") == ["3"]
    approxtrain.remove(model)
    assert approxtrain.apply(model, "zero", schedule="slice:layers=1") == ["0"]
    approxtrain.remove(model)
    assert approxtrain.apply(model, "zero", schedule={"layers": "1::1+kind=linear"},
                             skip_first=True) == ["3", "6"]
    approxtrain.remove(model)
    # Layers of fewer input channels than that are exact.
    assert approxtrain.apply(model, "crs:min_channels=100", skip_first=False) == ["6"]


def test_products_of_a_schedule():
    """Of a method for both gradients a schedule may take one."""
    model = small()
    exact = gradients(model)
    approxtrain.apply(model, "meprop:k=2", schedule="slice:layers=2,products=weight_gradient")
    got = gradients(model)
    changed = {name for name in exact if not torch.allclose(got[name], exact[name], atol=1e-6)}
    assert changed == {"3.weight"}  # the data gradient, and with it layer 0, is exact
    approxtrain.remove(model)
    approxtrain.apply(model, "meprop:k=2", schedule="slice:layers=2")
    got = gradients(model)
    changed = {name for name in exact if not torch.allclose(got[name], exact[name], atol=1e-6)}
    assert {"0.weight", "3.weight"} <= changed


def refuses(error, match, *arguments, model=None, **options):
    model = small() if model is None else model
    before = classes(model), dict(model.named_parameters())
    with pytest.raises(error, match=match) as caught:
        approxtrain.apply(model, *arguments, **options)
    assert len(str(caught.value).splitlines()) == 1, str(caught.value)
    assert before == (classes(model), dict(model.named_parameters()))
    assert not any(hasattr(module, "_approxtrain") for module in model.modules())


def test_bad_input_is_one_line_and_changes_nothing():
    refuses(ValueError, r"\(Sequential\) has no batch norm to fuse", "zero", fuse_norms=True,
            model=nn.Sequential(nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3)))
    refuses(ValueError, "no layers that fit", "zero", model=nn.Sequential(nn.ReLU()))
    refuses(ValueError, "sochastic_pruning", "sochastic_pruning")
    refuses(ValueError, "p", "stochastic_pruning:p=2")
    refuses(ValueError, "msbp.*remembers", "msbp")
    refuses(ValueError, "block_skip.*residual branches", "block_skip")
    refuses(ValueError, "freeze_layers.*requires_grad = False", "freeze_layers")
    refuses(ValueError, "vcas:norm=drop.*norm=resample", "vcas:norm=drop")
    refuses(ValueError, "names no approximation", "mixed")
    refuses(ValueError, "^3: zero approximates weight_gradient, the schedule asks for data", "zero",
            schedule="slice:layers=2,products=data_gradient")
    refuses(ValueError, "^3: crs draws one sample", "crs",
            schedule="slice:layers=2,products=forward")
    refuses(ValueError, 'layers = "7".*has 2 convolutions', "zero", schedule="slice:layers=7")
    refuses(ValueError, "matches no layer.*conv3x3, linear", "zero",
            schedule={"layers": "kind=conv5x5"})
    refuses(ValueError, "no schedule: expected", "zero", schedule="wang2019_s9")
    refuses(ValueError, "unknown key of a schedule", "zero", schedule={"layer": "1"})
    refuses(ValueError, 'until = "0.5dur": a window in shares needs apply.*total_steps', "zero",
            schedule={"until": "0.5dur"})
    refuses(ValueError, 'from = "3ep": a window in epochs needs apply.*steps_per_epoch', "zero",
            schedule={"from": "3ep"}, total_steps=9)
    refuses(ValueError, 'until = "plateau": expected 300ba', "zero", schedule={"until": "plateau"})
    refuses(ValueError, "batches are whole", "zero", schedule={"until": "1.5ba"})
    refuses(ValueError, "at most 1dur", "zero", schedule={"until": "2dur"}, total_steps=9)
    refuses(ValueError, "the step must be at least 1", "zero", schedule={"steps": "::0"})
    refuses(ValueError, "only layer that fits", "zero",
            model=nn.Sequential(nn.Conv2d(3, 4, 3)))
    refuses(ValueError, "^3: has 8 input channels", "crs:min_channels=4096")
    refuses(TypeError, "^3: its weight is torch.complex64", "zero",
            model=nn.Sequential(*list(small())[:3], nn.Conv2d(8, 8, 3, dtype=torch.complex64)))


def test_applying_twice_is_refused():
    model = small()
    approxtrain.apply(model, "zero")
    with pytest.raises(ValueError, match="^3: is approximated already, by zero"):
        approxtrain.apply(model, "random")
    assert approxtrain.remove(model) == ["3", "6"]


def test_errors_of_a_call_name_the_layer():
    model = small()
    approxtrain.apply(model, "topk_crs:ratio=0.5", skip_first=False)
    elsewhere = copy.deepcopy(model)
    elsewhere[0].to("meta")
    for one, x, match in ((model, images().double(), "^0: w is Float, the input Double"),
                          (model, torch.zeros(4, 5, 8, 8), "^0: .*do not fit"),
                          (elsewhere, images(), "^0: w must be on the CPU or a CUDA device")):
        with pytest.raises((ValueError, TypeError), match=match) as caught:
            one(x)
        assert len(str(caught.value).splitlines()) == 1
    if torch.cuda.is_available():
        with pytest.raises(ValueError, match="^0: w is on cpu, the input on cuda"):
            model(images().to("cuda"))
    assert set(approxtrain.steps(model).values()) == {0}


def test_subclasses_are_left_alone():
    class Other(nn.Conv2d):
        def forward(self, x):
            return super().forward(x) * 2
    model = nn.Sequential(nn.Conv2d(3, 4, 3), Other(4, 4, 3), nn.Conv2d(4, 4, 3))
    assert approxtrain.apply(model, "zero") == ["2"]


def test_the_norm_behind_a_layer_decides_where_it_prunes():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3),
                          nn.ReLU(), nn.Conv2d(4, 4, 3), nn.Dropout(), nn.BatchNorm2d(4))
    approxtrain.apply(model, "stochastic_pruning", skip_first=False)
    assert [model[at]._approxtrain.norm_follows for at in (0, 3, 5)] == [True, False, True]
