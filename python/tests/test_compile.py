"""Approximated layers under torch.compile: one graph, eager code's numbers, steps and counts."""

import copy

import approxtrain
import pytest
import torch
import torch._dynamo
from networks import gradients, images, labels, small
from torch import nn
from torch._dynamo.utils import counters
from torch.utils.checkpoint import checkpoint

METHODS = [
    "exact", "zero", "zero:freeze=true", "random", "topk_position:k=2", "random_position",
    "crs:ratio=0.5", "crs:ratio=0.5,size=fixed", "bernoulli_crs:ratio=0.5",
    "bernoulli_crs:mode=black_box", "topk_crs:ratio=0.5", "topk_crs:ratio=0.5,mode=backward",
    "topk_crs:share=0.6", "uniform_crs:ratio=0.25", "topk_weights:ratio=0.5,min_k=1,mode=both",
    "stochastic_pruning:p=0.9", "stochastic_pruning:placement=input", "sdgp", "sdgp:rank=random",
    "meprop:k=3", "meprop:k=3,per=batch", "random_entries:k=30", "channel_drop:ratio=0.5",
    "gradient_filter:r=2", "gradient_filter:r=3",
    "nm_unbiased", "nm_unbiased:n=1,m=2,chances=equal", "wta_crs:ratio=0.5",
    "wta_crs:ratio=0.5,mode=both,size=fixed", "vcas:ratio=0.5", "vcas:weight_ratio=0.5",
    "int8:min_uses=0", "int8:scales=tensor,rounding=nearest,min_uses=0"]


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    counters.clear()


def pair(method, model=small, **options):
    """Two models alike."""
    models = [model(), model()]
    for one in models:
        approxtrain.apply(one, method, **{"skip_first": False, **options})
    return models


def graphs():
    """How many graphs there are, when nothing broke."""
    assert not counters["graph_break"], dict(counters["graph_break"])
    return counters["stats"]["unique_graphs"]


def compiled_as(model, backend="aot_eager", **options):
    return torch.compile(model, backend=backend, fullgraph=True, **options)


def step(model, x):
    """Gradients by name, then a step along them."""
    found = gradients(model, x)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter -= 0.1 * parameter.grad
    return {name.removeprefix("_orig_mod."): one for name, one in found.items()}


def assert_equal(got, wanted, what=""):
    assert got.keys() == wanted.keys(), what
    for name in wanted:
        assert torch.equal(got[name], wanted[name]), (what, name)


def assert_alike(compiled, model):
    """Equal steps and counts."""
    assert approxtrain.steps(compiled) == approxtrain.steps(model)
    for one, other in zip(approxtrain.stats(compiled), approxtrain.stats(model)):
        assert one == other


def train_both(model, twin, run, count=3, sizes=(4,)):
    for number in range(count):
        x = images(sizes[number % len(sizes)], seed=number)
        assert_equal(step(run, x), step(model, x), number)
    assert_alike(twin, model)


@pytest.mark.parametrize("method", METHODS)
def test_a_compiled_step_is_the_eager_step(method):
    model, twin = pair(method)
    train_both(model, twin, compiled_as(twin))
    assert graphs() == 1


def test_every_method_of_the_library_is_among_them(program):
    import json
    import subprocess
    listed = json.loads(subprocess.run([program, "list", "methods", "--format", "json"], check=True,
                                       capture_output=True, text=True).stdout)
    names = {one["name"] for one in listed["rows"] if not one.get("stops_blocks")}
    names -= {"dense", "mixed", "msbp", "freeze_layers"}
    assert names == {method.partition(":")[0] for method in METHODS}


class Plain(nn.Module):
    """Nothing in it that a compiler rounds in an order of its own."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, stride=2)
        self.last = nn.Linear(16 * 9, 10)

    def forward(self, x):
        x = self.second(self.first(x).relu()).relu_()
        return self.last(x.flatten(1))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["crs:ratio=0.5", "topk_crs:ratio=0.5", "zero", "sdgp",
                                    "stochastic_pruning:p=0.9", "topk_position:k=2"])
def test_inductor(method):
    model, twin = pair(method, Plain)
    run = compiled_as(twin, "inductor")
    for number in range(3):
        x = images(seed=number)
        found = []
        for one in (model, run):
            model.zero_grad(), twin.zero_grad()
            y = one(x)
            y.backward(torch.randn(y.shape, generator=torch.Generator().manual_seed(number)))
            found.append([y] + [p.grad for p in one.parameters() if p.grad is not None])
        assert all(map(torch.equal, *found)), number
    assert_alike(twin, model)
    assert graphs() == 1


@pytest.mark.parametrize("dynamic", [None, True])
def test_twenty_steps_compile_once(dynamic):
    model, twin = pair("sdgp")
    run = compiled_as(twin, dynamic=dynamic)
    train_both(model, twin, run, count=1)
    with torch._dynamo.config.patch(error_on_recompile=True):
        train_both(model, twin, run, count=20, sizes=(4, 7, 5) if dynamic else (4,))
    assert graphs() == 1


@pytest.mark.parametrize("dynamic", [None, True])
def test_a_schedule_compiles_once_for_each_pattern(dynamic):
    schedule = [{"layers": "1", "steps": "::2"}, {"layers": "2::1+kind=linear", "steps": "1::4"}]
    model, twin = pair("topk_crs:ratio=0.5", schedule=schedule)
    run = compiled_as(twin, dynamic=dynamic)
    train_both(model, twin, run, count=4)
    with torch._dynamo.config.patch(error_on_recompile=True):
        train_both(model, twin, run, count=20)
    assert graphs() == 3  # the first layer, all others, none


def test_a_product_of_a_schedule():
    model, twin = pair("meprop:k=3", schedule="slice:layers=2,products=weight_gradient,steps=1::2")
    train_both(model, twin, compiled_as(twin), count=4)
    assert graphs() == 2


def test_nothing_breaks_the_graph():
    model, _ = pair("stochastic_pruning:p=0.9")
    explained = torch._dynamo.explain(model)(images())
    assert (explained.graph_count, explained.graph_break_count) == (1, 0)


def test_the_eager_backend_counts_steps_too():
    model, twin = pair("crs:ratio=0.5")
    train_both(model, twin, compiled_as(twin, "eager"))


def test_layers_alike_share_a_graph():
    """Each block compiled by itself: neither the layer's number nor its counts are in the graph."""
    def blocks():
        torch.manual_seed(0)
        return nn.Sequential(*(nn.Sequential(nn.Conv2d(3, 3, 3, padding=1), nn.ReLU())
                               for _ in range(12)), nn.Flatten(), nn.Linear(192, 10))
    model, twin = pair("sdgp:rank=random", blocks)
    for block in twin[1:-2]:  # the first one's input needs no gradient
        block.compile(backend="aot_eager", fullgraph=True)
    train_both(model, twin, twin)
    assert graphs() == 1


def test_graphs_wait_for_their_backward_passes():
    """Draws are those of the forward pass, though another backward pass ended in between."""
    model, twin = pair("sdgp:rank=random")
    run, found = compiled_as(twin), []
    for one in (model, run):
        losses = [nn.functional.cross_entropy(one(images(seed=n)), labels()) for n in range(2)]
        for loss in losses:
            loss.backward()
        found.append({n.removeprefix("_orig_mod."): p.grad for n, p in one.named_parameters()})
    assert_equal(*found)
    assert set(approxtrain.steps(twin).values()) == {2}
    assert_alike(twin, model)


def test_micro_batches_and_gradients_by_name():
    model, twin = pair("crs:ratio=0.5")
    run = compiled_as(twin)
    for one in (model, run):
        weights = list(one.parameters())
        for number in range(2):
            nn.functional.cross_entropy(one(images(seed=number)), labels()).backward()
        torch.autograd.grad(one(images()).sum(), weights[:2])
    assert_equal({n: p.grad for n, p in twin.named_parameters()},
                 {n: p.grad for n, p in model.named_parameters()})
    assert set(approxtrain.steps(model).values()) == {3}
    assert approxtrain.steps(twin) == approxtrain.steps(model)


class Saving(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = small()

    def forward(self, x):
        x = checkpoint(self.body[:3], x, use_reentrant=False)
        return checkpoint(self.body[3:], x, use_reentrant=False)


@pytest.mark.parametrize("method", ["crs:ratio=0.5", "sdgp:rank=random"])
def test_gradient_checkpointing(method):
    model, twin = pair(method, Saving)
    run = compiled_as(twin)
    for number in range(3):
        assert_equal(step(run, images(seed=number)), step(model, images(seed=number)), number)
    assert approxtrain.steps(twin) == approxtrain.steps(model) == dict.fromkeys(
        ["body.0", "body.3", "body.6"], 3)
    assert graphs() == 1


def test_checkpointing_around_a_compiled_model():
    model, twin = pair("crs:ratio=0.5")
    run = compiled_as(twin)
    outside = lambda x: checkpoint(run, x, use_reentrant=False)
    for number in range(3):
        nn.functional.cross_entropy(outside(images(seed=number)), labels()).backward()
        nn.functional.cross_entropy(model(images(seed=number)), labels()).backward()
    assert_equal({n: p.grad for n, p in twin.named_parameters()},
                 {n: p.grad for n, p in model.named_parameters()})
    assert approxtrain.steps(twin) == approxtrain.steps(model)


def test_copies_share_the_graph_and_count_apart():
    model, twin = pair("crs:ratio=0.5")
    train_both(model, twin, compiled_as(twin))
    other, reference = copy.deepcopy(twin), copy.deepcopy(model)
    train_both(reference, other, compiled_as(other))
    assert approxtrain.steps(other)["3"] == 6 and approxtrain.steps(twin)["3"] == 3
    assert graphs() == 1


def test_a_resumed_training_draws_on():
    whole, resumed = pair("crs:ratio=0.5")
    run = compiled_as(whole)
    step(run, images())
    resumed.load_state_dict(whole.state_dict())
    assert_equal(step(compiled_as(resumed), images()), step(run, images()))


def test_evaluation_and_passes_without_gradients():
    model, twin = pair("topk_crs:ratio=0.5", schedule="slice:layers=::1,steps=1::2")
    run = compiled_as(twin)
    for _ in range(2):  # an exact step, an approximated one
        with torch.no_grad():
            assert torch.equal(run(images()), model(images()))
        assert_equal(step(run, images()), step(model, images()))
    assert_alike(twin, model)
    for one in (model, run):
        one.eval()
    assert torch.equal(run(images()), model(images()))
    assert_alike(twin, model)


@pytest.mark.parametrize("method", ["zero:freeze=true", "sdgp"])
@pytest.mark.parametrize("inplace", [False, True])
def test_frozen_layers_and_changes_in_place(method, inplace):
    def model():
        torch.manual_seed(0)
        layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(inplace), nn.Conv2d(4, 4, 3),
                               nn.ReLU(inplace), nn.Flatten(), nn.Linear(64, 16), nn.ReLU(inplace),
                               nn.Linear(16, 10))
        layers[0].requires_grad_(False)
        layers[2].weight.requires_grad_(False)
        return layers
    schedule = {"layers": "::1+kind=linear", "steps": "::2"}
    for options in ({}, {"schedule": schedule}):
        one, twin = pair(method, model, **options)
        train_both(one, twin, compiled_as(twin), count=3)
        steps = approxtrain.steps(twin)
        assert steps.pop("0", 0) == 0 and set(steps.values()) == {3}


def test_autocast():
    model, twin = pair("topk_crs:ratio=0.5")
    run, found = compiled_as(twin), []
    for one in (model, run):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = one(images())
        assert y.dtype == torch.bfloat16
        y.float().square().sum().backward()
        found.append({n.removeprefix("_orig_mod."): p.grad for n, p in one.named_parameters()})
    assert_equal(*found)


def test_a_whole_training_step_compiles():
    model, twin = pair("stochastic_pruning:p=0.9")
    loss_of = lambda one: lambda x: nn.functional.cross_entropy(one(x), labels())
    run = torch.compile(loss_of(twin), backend="aot_eager", fullgraph=True)
    for number in range(3):
        for loss in (loss_of(model), run):
            loss(images(seed=number)).backward()
    assert_equal({n: p.grad for n, p in twin.named_parameters()},
                 {n: p.grad for n, p in model.named_parameters()})
    assert_alike(twin, model)


@approxtrain.method("compiled_keep")
def compiled_keep(dy, share=0.5):
    return dy * (dy.abs() >= dy.abs().flatten().quantile(1 - share))


@approxtrain.method("compiled_draw")
def compiled_draw(dy, p=0.5, generator=None):
    return dy * torch.bernoulli(torch.full_like(dy, p), generator=generator) / p


@pytest.mark.parametrize("backend", ["aot_eager", "eager"])
@pytest.mark.parametrize("method", ["compiled_keep", "compiled_draw:p=0.25"])
def test_methods_in_python_run_in_the_graph(method, backend):
    for options in ({}, {"schedule": "slice:layers=2,steps=::2,products=weight_gradient"}):
        model, twin = pair(method, **options)
        train_both(model, twin, compiled_as(twin, backend), count=4)
    assert graphs() == 3


def test_a_bad_return_in_a_graph_names_the_layer():
    seen = []
    approxtrain.method("compiled_bad")(
        lambda dy: (seen.append(1), dy if len(seen) < 3 else dy[:1])[1])
    model = small()
    approxtrain.apply(model, "compiled_bad")
    with pytest.raises(ValueError, match="^6: compiled_bad returned"):
        gradients(compiled_as(model))
