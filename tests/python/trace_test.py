"""torch.ops.approxtrain under torch.compile and torch.func, and its second derivatives.

Usage: trace_test.py LIBRARY
"""
import shutil
import sys
import unittest
import warnings

import torch
import torch._dynamo
from torch._dynamo.utils import counters
from torch.nn import functional

torch.ops.load_library(sys.argv.pop(1))
ops = torch.ops.approxtrain
# Between them: a sample whose size shapes tell, one whose size is drawn, all kinds of pruning, and
# weight gradients that read no input.
METHODS = ["exact", "zero", "zero:freeze=true", "random", "topk_position:k=2",
           "random_position", "crs:ratio=0.5,mix=0.1", "crs:ratio=0.5,size=fixed",
           "bernoulli_crs:ratio=0.5", "bernoulli_crs:ratio=0.5,size=fixed", "topk_crs:ratio=0.5",
           "topk_crs:share=0.6", "topk_crs:min_k=8", "uniform_crs:ratio=0.25",
           "topk_weights:ratio=0.5,min_k=1,mode=both", "stochastic_pruning:p=0.9",
           "stochastic_pruning:placement=input", "sdgp", "sdgp:rank=random", "meprop:k=30",
           "meprop:k=3,per=batch", "random_entries:k=30", "topk_crs:ratio=0.5,mode=backward",
           "crs:mode=weight_gradient", "bernoulli_crs:mode=black_box", "nm_unbiased",
            "wta_crs:ratio=0.5", "wta_crs:ratio=0.5,mode=both", "gradient_filter:r=2",
            "vcas:ratio=0.5", "vcas:ratio=0.5,weight_ratio=0.5", "int8:min_uses=0"]
GEOMETRIES = [([1, 1], [1, 1], [1, 1], 1), ([2, 1], [0, 1], [1, 2], 2)]


def randn(*sizes, seed=0, **options):
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed), **options)


def seed_of(number):
    return torch.tensor(number)


def conv(x, w, b, geometry, method, seed):
    return ops.conv2d.seeded(x, w, b, *geometry, method, seed)


def cases_of(methods):
    """Every method with one of the geometries."""
    return [(method, GEOMETRIES[number % 2]) for number, method in enumerate(methods)]


def operands(methods=METHODS):
    """For each case: x, w and b that require gradients."""
    made = []
    for number, (method, geometry) in enumerate(cases_of(methods)):
        x, b = randn(4, 8, 7, 6, seed=number), randn(8, seed=number + 2)
        w = randn(8, 8 // geometry[-1], 3, 3, seed=number + 1)
        if number % 3 == 0:
            x = x.contiguous(memory_format=torch.channels_last)
        made.append([t.requires_grad_() for t in (x, w, b)])
    return made


def layers(inputs, seed, methods=METHODS):
    """The convolutions of all methods, a linear layer after each, and a pruned tensor."""
    results = []
    for (x, w, b), (method, geometry) in zip(inputs, cases_of(methods)):
        y = conv(x, w, b, geometry, method, seed).relu()
        rows = y.flatten(2)[:, :, :8]
        results += [y, ops.linear.seeded(rows, w[:, :1].flatten(1)[:, :8], b, method, seed + 1)]
    return results + [ops.prune.seeded(results[0], "sdgp:rank=random", seed)]


def results_of(function, inputs, seed):
    """All values and gradients."""
    outputs = function(inputs, seed)
    sources = [t for each in inputs for t in each]
    differentiable = [y for y in outputs if y.requires_grad]
    upstream = [randn(*y.shape, seed=n) for n, y in enumerate(differentiable)]
    return outputs + list(torch.autograd.grad(differentiable, sources, upstream, allow_unused=True))


class Compiled(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        counters.clear()

    def assert_same(self, got, expected, what):
        self.assertEqual(len(got), len(expected))
        for number, (one, other) in enumerate(zip(got, expected)):
            if other is None:
                self.assertIsNone(one, (what, number))
            else:
                self.assertTrue(torch.equal(one, other), (what, number))

    def check_backend(self, backend, methods=METHODS):
        inputs = operands(methods)
        of_methods = lambda inputs, seed: layers(inputs, seed, methods)
        compiled = torch.compile(of_methods, backend=backend, fullgraph=True)
        for number in [3, 4, 1 << 40]:
            self.assert_same(results_of(compiled, inputs, seed_of(number)),
                             results_of(of_methods, inputs, seed_of(number)), (backend, number))
        self.assertEqual(dict(counters["graph_break"]), {})
        # A new seed is no new graph.
        self.assertEqual(counters["stats"]["unique_graphs"], 1)

    def test_eager_backend(self):
        self.check_backend("eager")

    def test_aot_eager_backend(self):
        self.check_backend("aot_eager")

    @unittest.skipUnless(shutil.which("g++") or shutil.which("clang++"), "no compiler for inductor")
    def test_inductor_backend(self):
        self.check_backend("inductor", ["crs:ratio=0.5", "topk_crs:ratio=0.5",
                                        "stochastic_pruning"])

    def test_the_trace_freezes_no_seed(self):
        x, w = randn(4, 16, 6, 6), randn(16, 16, 3, 3, requires_grad=True)
        step = lambda seed: conv(x, w, None, GEOMETRIES[0], "crs:ratio=0.3", seed)
        compiled = torch.compile(step, backend="aot_eager", fullgraph=True)
        one, same, other = (compiled(seed_of(n)) for n in (3, 3, 4))
        self.assertTrue(torch.equal(one, same))
        self.assertFalse(torch.equal(one, other))

    def test_an_overload_is_found_by_its_seed(self):
        x, w = randn(4, 16), randn(16, 5)
        by_name = lambda seed: ops.matmul(x, w, "crs:ratio=0.3", seed)
        compiled = torch.compile(by_name, backend="aot_eager", fullgraph=True)
        for n in [5, 6]:
            self.assertTrue(torch.equal(by_name(seed_of(n)), by_name(n)))
            self.assertTrue(torch.equal(compiled(seed_of(n)), by_name(n)))
        self.assertEqual(counters["stats"]["unique_graphs"], 1)

    def test_batches_of_any_size_share_a_graph(self):
        w = randn(8, 8, 3, 3, requires_grad=True)
        methods = ["topk_crs:ratio=0.5", "crs:ratio=0.5", "sdgp", "zero"]

        def step(x, seed):
            each = [conv(x, w, None, GEOMETRIES[0], m, seed) for m in methods]
            return each + [ops.matmul.seeded(x.flatten(2), x[0, 0, :, :3].repeat(6, 1), m, seed)
                           for m in methods]

        compiled = torch.compile(step, backend="aot_eager", fullgraph=True, dynamic=True)
        for n in [4, 3, 7]:
            x = randn(n, 8, 6, 6, seed=n)
            for one, other in zip(compiled(x, seed_of(n)), step(x, seed_of(n))):
                self.assertTrue(torch.equal(one, other))
        self.assertEqual(counters["stats"]["unique_graphs"], 1)

    def test_a_trace_keeps_what_eager_keeps(self):
        w = randn(8, 64, 3, 3, requires_grad=True)
        expected = {"topk_crs:ratio=0.25": ({"part"}, {"part"}),
                    "uniform_crs:ratio=0.25": ({"part"}, {"part"}),
                    "crs:ratio=0.25,size=fixed": ({"part"}, {"part"}),
                    "crs:ratio=0.25": ({"part"}, {"all"}),  # how many are drawn no trace knows
                    "zero": (set(), set()), "random": (set(), set()), "exact": ({"all"}, {"all"})}
        x = randn(8, 64, 6, 6, requires_grad=True)
        for method, kept in expected.items():
            step = lambda x, seed: conv(x, w, None, GEOMETRIES[0], method, seed)
            torch._dynamo.reset()
            for function, want in zip(
                    (step, torch.compile(step, backend="aot_eager", fullgraph=True)), kept):
                saved = []
                with torch.autograd.graph.saved_tensors_hooks(
                        lambda t: saved.append(t.shape) or t, lambda t: t):
                    y = function(x, seed_of(1))
                sizes = [s for s in saved if len(s) == 4 and s[2:] == x.shape[2:]]
                self.assertEqual({"all" if s == x.shape else "part" for s in sizes}, want, method)
                self.assertLess(max([s[1] for s in sizes if s != x.shape], default=0), 17)
                y.sum().backward()

    def test_autocast_is_traced(self):
        x, w = randn(4, 8, 6, 6), randn(8, 8, 3, 3, requires_grad=True)

        def step(seed):
            with torch.autocast("cpu", torch.bfloat16):
                return conv(x, w, None, GEOMETRIES[0], "topk_crs:ratio=0.5", seed)

        compiled = torch.compile(step, backend="aot_eager", fullgraph=True)
        y, expected = compiled(seed_of(1)), step(seed_of(1))
        self.assertEqual(y.dtype, torch.bfloat16)
        self.assertTrue(torch.equal(y, expected))
        for one, other in zip(torch.autograd.grad(y.float().sum(), w),
                              torch.autograd.grad(expected.float().sum(), w)):
            self.assertEqual(one.dtype, torch.float32)
            self.assertTrue(torch.equal(one, other))

    def test_empty_batches_and_meta_tensors(self):
        w = randn(4, 3, 3, 3)
        step = lambda x, seed: conv(x, w, None, GEOMETRIES[0], "crs", seed)
        compiled = torch.compile(step, backend="aot_eager", fullgraph=True)
        self.assertEqual(compiled(torch.randn(0, 3, 6, 6), seed_of(1)).shape, (0, 4, 6, 6))
        from torch._subclasses.fake_tensor import FakeTensorMode
        with FakeTensorMode() as mode:
            fake = lambda *sizes: torch.empty(*sizes)
            y = conv(fake(2, 3, 6, 6), fake(4, 3, 3, 3), None, GEOMETRIES[0], "crs",
                     torch.empty((), dtype=torch.long))
            self.assertEqual((y.device.type, y.shape), ("cpu", (2, 4, 6, 6)))

    def test_registrations_hold_what_they_state(self):
        g = GEOMETRIES[0]
        for method in ["topk_crs:ratio=0.5", "crs:ratio=0.5"]:
            x, w, b = randn(4, 8, 7, 6), randn(8, 8, 3, 3), randn(8)
            dy, sample = randn(4, 8, 7, 6), [torch.arange(4)] if "topk" in method else []
            kept = x[:, :4].contiguous(memory_format=torch.channels_last) if sample else x
            for t in (x, w, b, kept, dy):
                t.requires_grad_()
            for op, args in [
                    (ops._conv2d, (x, w, b, seed_of(3), *g, method)),
                    (ops._conv2d_backward, (dy, kept, w, seed_of(3), sample, x.shape, *g, method,
                                            [True, True, True]))]:
                torch.library.opcheck(op.default, args)
        torch.library.opcheck(ops._prune.default, (dy.detach(), seed_of(3), "sdgp:rank=random"))


def gradients(function, *inputs):
    return torch.autograd.grad(function(*inputs), inputs)


class Transformed(unittest.TestCase):
    def loss(self, method, geometry=GEOMETRIES[0]):
        upstream = randn(4, 8, 7, 6, seed=5)

        def value(x, w, b, seed):
            y = conv(x, w, b, geometry, method, seed)
            return (y * upstream[:, :, :y.shape[2], :y.shape[3]]).sum()
        return value

    def test_grad(self):
        for method in METHODS:
            if "freeze" in method:
                continue
            for geometry in GEOMETRIES:
                x, w, b = (t.detach() for t in operands(["dense"] * 2)[GEOMETRIES.index(geometry)])
                loss = self.loss(method, geometry)
                got = torch.func.grad(loss, argnums=(0, 1, 2))(x, w, b, seed_of(3))
                expected = gradients(lambda *t: loss(*t, seed_of(3)),
                                     *(t.clone().requires_grad_() for t in (x, w, b)))
                for one, other in zip(got, expected):
                    self.assertTrue(torch.equal(one, other), method)

    def test_vmap_over_seeds(self):
        x, w, b = (t.detach() for t in operands(["dense"] * 2)[0])
        seeds = torch.arange(3, 7)
        for method in ["crs:ratio=0.5", "crs:ratio=0.5,size=fixed", "topk_crs", "random",
                       "stochastic_pruning", "sdgp:rank=random"]:
            run = lambda seed: conv(x, w, b, GEOMETRIES[0], method, seed)
            each = torch.stack([run(seed) for seed in seeds])
            self.assertTrue(torch.equal(torch.func.vmap(run)(seeds), each), method)
            loss = self.loss(method)
            weights = lambda w, seed: loss(x, w, b, seed)
            by_seed = torch.func.vmap(torch.func.grad(weights), in_dims=(None, 0))(w, seeds)
            for one, seed in zip(by_seed, seeds):
                other, = gradients(lambda w: weights(w, seed), w.clone().requires_grad_())
                self.assertTrue(torch.equal(one, other), method)
            # A loss over all draws.
            leaf = w.clone().requires_grad_()
            total = torch.func.vmap(lambda seed: weights(leaf, seed))(seeds).sum()
            torch.testing.assert_close(torch.autograd.grad(total, leaf)[0], by_seed.sum(0))
            # Examples each on their own, at one seed.
            one = lambda x: conv(x[None], w, b, GEOMETRIES[0], method, seed_of(3))[0]
            torch.testing.assert_close(torch.func.vmap(one)(x)[1], one(x[1]))
        pruned = torch.func.vmap(lambda seed: ops.prune.seeded(x, "sdgp:rank=random", seed))(seeds)
        self.assertTrue(torch.equal(pruned[2], ops.prune(x, "sdgp:rank=random", 5)))

    def test_what_cannot_be_had_is_refused_in_a_line(self):
        x, w, b = (t.detach() for t in operands(["dense"] * 2)[0])
        one_line = lambda text: rf"\A.*{text}.*"
        jvp = lambda: torch.func.jvp(lambda w: conv(x, w, b, GEOMETRIES[0], "crs", seed_of(1)),
                                     (w,), (w,))
        value = lambda w: ops.matmul.seeded(x[0, 0], w, "crs", seed_of(1)).square().sum()
        cases = [
            (jvp, RuntimeError, "forward mode"),
            (lambda: torch.func.hessian(value)(randn(6, 3)), RuntimeError, "forward mode"),
            (lambda: torch.func.vmap(lambda s: conv(x, w, b, GEOMETRIES[0], "crs", s))(
                torch.empty(0, dtype=torch.long)), (ValueError, RuntimeError), "size 0"),
            (lambda: conv(x, w, b, GEOMETRIES[0], "crs", torch.tensor(1.0)), TypeError, "int64"),
            (lambda: conv(x, w, b, GEOMETRIES[0], "crs", torch.arange(2)), ValueError,
             "seed must be one number"),
            (lambda: conv(x, w, b, GEOMETRIES[0], "crs", seed_of(1).to("meta")), ValueError,
             "seed must be on the CPU"),
        ]
        for call, kind, text in cases:
            with self.assertRaisesRegex(kind, one_line(text)) as caught:
                call()
            self.assertEqual(str(caught.exception).count("\n"), 0, str(caught.exception))


# The entries of dY that a method keeps for the data gradient, for the weight gradient, and whether
# both gradients go by the forward product's sample.
SECOND = {"exact": (False, False), "zero": (False, None), "random": (False, None),
          "crs:ratio=0.5": (False, False), "crs:ratio=0.5,size=fixed": (False, False),
          "bernoulli_crs:ratio=0.5": (False, False), "topk_crs:ratio=0.5": (False, False),
          "topk_weights:ratio=0.5": (False, False), "uniform_crs:ratio=0.5": (False, False),
          "meprop:k=30": (True, True), "meprop:k=3,per=batch": (True, True),
          "random_entries:k=30": (True, True), "sdgp": (True, False),
          "sdgp:rank=random": (True, False), "stochastic_pruning:p=0.9": (True, True),
          "topk_position:k=3,scale=none": (False, True), "bernoulli_crs:mode=black_box":
          (False, False)}


class SecondDerivatives(unittest.TestCase):
    def constants(self, method, geometry, x, w, dy, pruned):
        """What multiplies dY for each gradient, and the input channels for both."""
        exact = lambda: functional.conv2d(x, w, None, *geometry)
        of_data, of_weight = (
            None if each is None else ops.prune(dy, method, 3) / dy if each else torch.ones_like(dy)
            for each in pruned)
        if of_weight is None:
            of_weight = torch.zeros_like(dy)
        y = ops.conv2d(x, w, None, *geometry, method, 3)
        dx, = torch.autograd.grad(y, x, dy)
        full, = torch.autograd.grad(exact(), x, of_data * dy)
        channels = (dx * full).sum((0, 2, 3)) / (full * full).sum((0, 2, 3))
        return of_data, of_weight, channels.detach()

    def test_they_are_those_of_the_pruned_product(self):
        for method, pruned in SECOND.items():
            for geometry in GEOMETRIES:
                groups = geometry[-1]
                x, w, b = (t.detach().double().requires_grad_() for t in
                           operands(["dense"] * 2)[GEOMETRIES.index(geometry)])
                dy = randn(*functional.conv2d(x, w, None, *geometry).shape, seed=9).double()
                of_data, of_weight, channels = self.constants(method, geometry, x, w, dy, pruned)
                dy.requires_grad_()

                def ours():
                    y = ops.conv2d(x, w, b, *geometry, method, 3)
                    return torch.autograd.grad(y, (x, w, b), dy, create_graph=True)

                def reference():
                    of_w = channels.view(groups, 1, -1).expand(groups, 8 // groups, -1)
                    backward = lambda g, x, w, mask: torch.ops.aten.convolution_backward(
                        g, x, w, None, *geometry[:3], False, [0, 0], groups, mask)
                    dx = backward(of_data * dy, x, w, [True, False, False])[0]
                    dw = backward(of_weight * dy, x, w, [False, True, False])[1]
                    return (dx * channels.view(1, -1, 1, 1),
                            dw * of_w.reshape(8, -1, 1, 1), dy.sum((0, 2, 3)))

                firsts = [each() for each in (ours, reference)]
                if method != "random":
                    for one, other in zip(*firsts):
                        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4, msg=method)
                upstream = [randn(*t.shape, seed=n).double() for n, t in enumerate(firsts[0])]
                seconds = [torch.autograd.grad(first, (dy, x, w), upstream, allow_unused=True)
                           for first in firsts]
                for one, other in zip(*seconds):
                    one = torch.zeros_like(other) if one is None else one
                    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4,
                                               msg=lambda text: f"{method} {geometry}: {text}")

    def test_samples_of_the_backward_pass(self):
        # While the choice stays, the gradients are linear: differences are exact.
        for method in ["topk_crs:ratio=0.5,mode=backward",
                       "topk_crs:ratio=0.5,mode=weight_gradient",
                       "uniform_crs:ratio=0.5,mode=backward"]:
            x, w = (t.double().requires_grad_() for t in (randn(4, 6), randn(6, 8)))
            run = lambda x, w: ops.matmul(x, w, method, 3)
            torch.autograd.gradgradcheck(run, (x, w), eps=1e-3, atol=2e-3, fast_mode=True)

    def test_a_gradient_penalty_trains(self):
        x, w = randn(8, 3, 6, 6).requires_grad_(), randn(4, 3, 3, 3).requires_grad_()
        y = ops.conv2d(x, w, None, 1, 1, 1, 1, "topk_crs:ratio=0.4", 0).relu()
        slope, = torch.autograd.grad(y.sum(), x, create_graph=True)
        (slope.norm() - 1).square().backward()
        self.assertGreater(int((w.grad != 0).sum()), 0)
        self.assertEqual(int((w.grad.abs().sum((0, 2, 3)) > 0).sum()), 1)  # one channel of three

    def test_nested_transforms(self):
        x, w = randn(4, 6), randn(6, 8)
        for method in ["topk_crs:ratio=0.5", "crs:ratio=0.5", "meprop:k=3"]:
            value = lambda x, w: ops.matmul.seeded(x, w, method, seed_of(3)).square().sum()
            slope = lambda x, w: torch.func.grad(value)(x, w).square().sum()
            got = torch.func.grad(slope, argnums=1)(x, w)
            X, W = (t.clone().requires_grad_() for t in (x, w))
            first, = torch.autograd.grad(ops.matmul(X, W, method, 3).square().sum(), X,
                                         create_graph=True)
            expected, = torch.autograd.grad(first.square().sum(), W)
            torch.testing.assert_close(got, expected)

    def test_a_hessian_by_reverse_mode(self):
        a, w = randn(3, 6), randn(6, 2)
        value = lambda product: lambda w: product(a, w).square().sum()
        ours = value(lambda a, w: ops.matmul.seeded(a, w, "exact", seed_of(1)))
        twice = lambda f: torch.func.jacrev(torch.func.jacrev(f))(w)
        torch.testing.assert_close(twice(ours), twice(value(torch.matmul)))

    def test_others_are_refused_when_asked_for(self):
        x, w = randn(2, 3, 6, 6).requires_grad_(), randn(4, 3, 3, 3).requires_grad_()
        for method in ["topk_position:k=2", "random_position",
                       "stochastic_pruning:placement=input"]:
            y = ops.conv2d(x, w, None, 1, 1, 1, 1, method, 0)
            dx, dw = torch.autograd.grad(y.sum(), (x, w), create_graph=True)
            plain = torch.autograd.grad(ops.conv2d(x, w, None, 1, 1, 1, 1, method, 0).sum(), (x, w))
            for one, other in zip((dx, dw), plain):
                self.assertTrue(torch.equal(one, other), method)
            with self.assertRaisesRegex(RuntimeError, r"\A.*has no second derivative.*") as caught:
                dw.sum().backward()
            self.assertNotIn("\n", str(caught.exception))


if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)
    unittest.main()
