"""torch.ops.approxtrain as a user meets it. Usage: ops_test.py LIBRARY

What the operators compute is held to definitions in NumPy; how they fail to what docs/python.md
promises.
"""
import sys
import unittest

import numpy as np
import torch
from torch.nn import functional

torch.ops.load_library(sys.argv.pop(1))
ops = torch.ops.approxtrain
METHODS = ["exact", "zero", "random", "topk_position:k=2", "crs:ratio=0.5,mix=0.1",
           "bernoulli_crs:ratio=0.5", "topk_crs:ratio=0.5",
           "topk_weights:ratio=0.5,min_k=1,mode=both", "stochastic_pruning:p=0.9",
           "sdgp:n=2,m=4,rank=magnitude,rescale=sample_channel", "meprop:k=30,per=example",
           "topk_crs:ratio=0.5,mode=backward", "crs:mode=weight_gradient",
           "bernoulli_crs:mode=black_box", "nm_unbiased", "wta_crs:ratio=0.5",
            "gradient_filter:r=2", "vcas:ratio=0.5,weight_ratio=0.5", "int8:min_uses=0",
           "int8:scales=tensor,rounding=nearest,min_uses=0"]


def tensors(*sizes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(size, generator=generator, requires_grad=True) for size in sizes]


def gradients(function, *inputs):
    y = function(*inputs)
    upstream = torch.randn(y.shape, generator=torch.Generator().manual_seed(1))
    return (y.detach(), *torch.autograd.grad(y, inputs, upstream))


def close(a, b, tolerance=2e-5):
    np.testing.assert_allclose(np.asarray(a.detach()), np.asarray(b), rtol=0,
                               atol=tolerance * max(1e-30, float(np.abs(np.asarray(b)).max())))


def taps(x, w, stride, padding, dilation, groups):
    """For each group, output pixel and tap of a convolution: the output channels of the group, the
    input channels, the pixel of y, the pixel of x and the tap."""
    (_, channels, height, width), (outputs, _, kh, kw) = x.shape, w.shape
    ho, wo = ((size + 2 * p - d * (k - 1) - 1) // s + 1
              for size, p, d, k, s in zip((height, width), padding, dilation, (kh, kw), stride))
    for g in range(groups):
        of = slice(g * outputs // groups, (g + 1) * outputs // groups)
        to = slice(g * channels // groups, (g + 1) * channels // groups)
        for i, j, u, v in np.ndindex(ho, wo, kh, kw):
            h = i * stride[0] - padding[0] + u * dilation[0]
            c = j * stride[1] - padding[1] + v * dilation[1]
            if 0 <= h < height and 0 <= c < width:
                yield of, to, (i, j), (h, c), (u, v)


def by_loops(x, w, b, dy, of_data, of_weight, channels, *geometry):
    """y, dx, dw and db by loops in double precision. `channels` [Ci] multiplies the input channels
    in all three products, `of_data` and `of_weight` [N,Co,Ho,Wo] the entries of dy."""
    x, w, b, dy = (np.asarray(t.detach().double()) for t in (x, w, b, dy))
    y, dx, dw = np.zeros(dy.shape), np.zeros(x.shape), np.zeros(w.shape)
    for of, to, (i, j), (h, c), (u, v) in taps(x, w, *geometry):
        each = channels[to]
        y[:, of, i, j] += (x[:, to, h, c] * each) @ w[of, :, u, v].T
        dx[:, to, h, c] += (dy * of_data)[:, of, i, j] @ w[of, :, u, v] * each
        dw[of, :, u, v] += (dy * of_weight)[:, of, i, j].T @ x[:, to, h, c] * each
    return y + b[:, None, None], dx, dw, dy.sum((0, 2, 3))


def largest(scores, k):
    """1 at the k largest, 0 elsewhere; among equals the first."""
    kept = np.zeros(scores.shape)
    kept[np.argsort(-scores, kind="stable")[:k]] = 1
    return kept


# A tensor of the same numbers that lies otherwise, and shares memory with another.
LAYOUTS = {
    "plain": lambda t: t,
    "channels last": lambda t: t.contiguous(memory_format=torch.channels_last),
    "transposed": lambda t: t.transpose(2, 3).contiguous().transpose(2, 3),
    "every second": lambda t: t.repeat_interleave(2, 3)[..., ::2],
    "negated": lambda t: torch._neg_view(-t),
    "conjugated": lambda t: torch.complex(torch.zeros_like(t), -t).conj().imag,
}


class Values(unittest.TestCase):
    def test_products_are_those_of_plain_loops(self):
        geometries = [([1, 1], [0, 0], [1, 1], 1), ([2, 1], [1, 0], [1, 1], 2),
                      ([1, 3], [2, 1], [2, 1], 1), ([2, 2], [1, 2], [1, 2], 4)]
        layouts = list(LAYOUTS.items())
        for number, (geometry, kernel) in enumerate(
                (g, k) for g in geometries for k in [(1, 1), (3, 3), (1, 4), (2, 1)]):
            groups = geometry[-1]
            x, w, b = tensors((2, 8, 6, 7), (8, 8 // groups, *kernel), (8,), seed=number)
            dy = torch.randn(functional.conv2d(x, w, b, *geometry).shape,
                             generator=torch.Generator().manual_seed(number + 100))
            X, W = (np.asarray(t.detach().double()) for t in (x, w))
            ones = np.ones(dy.shape)
            of_weights = np.sqrt((W.reshape(groups, 8 // groups, 8 // groups, -1) ** 2)
                                 .sum((1, 3))).reshape(-1)
            pairs = largest(np.sqrt((X ** 2).sum((0, 2, 3))) * of_weights, 4)
            entries = np.stack([largest(np.abs(np.asarray(example)).reshape(-1), 9)
                                .reshape(example.shape) for example in dy])
            expected = {"exact": (ones, ones, np.ones(8)),
                        "zero": (ones, 0 * ones, np.ones(8)),
                        "topk_crs:ratio=0.5": (ones, ones, pairs),
                        "meprop:k=9": (entries, entries, np.ones(8))}
            for at, (method, factors) in enumerate(expected.items()):
                right = by_loops(x, w, b, dy, *factors, *geometry)
                for name, lay in [layouts[(number + at) % 6], layouts[(number + at + 3) % 6]]:
                    places = [lay(x.detach()).requires_grad_(), lay(w.detach()).requires_grad_(),
                              b.detach().requires_grad_()]
                    y = ops.conv2d(*places, *geometry, method, 7)
                    got = (y, *torch.autograd.grad(y, places, lay(dy)))
                    for one, other in zip(got, right):
                        close(one.resolve_neg(), other)

    def test_a_lazy_minus_sign_is_seen_by_all_operators(self):
        a, b = (t.detach() for t in tensors((4, 8), (8, 5)))
        minus = lambda t: torch._neg_view(-t)
        for method in ["dense", *METHODS]:
            self.assertTrue(torch.equal(ops.matmul(minus(a), minus(b), method, 3),
                                        ops.matmul(a, b, method, 3)), method)
            self.assertTrue(torch.equal(ops.linear(minus(a), minus(b.t()), minus(b[0]), method, 3),
                                        ops.linear(a, b.t(), b[0], method, 3)), method)
        for method in ["dense", "meprop:k=3", "sdgp", "stochastic_pruning", "topk_position:k=1"]:
            self.assertTrue(torch.equal(ops.prune(minus(a), method, 3), ops.prune(a, method, 3)))

    def test_dense_and_exact_are_pytorchs_own(self):
        for stride, padding, dilation, groups in [(1, 1, 1, 1), (2, 0, 1, 1), (1, 2, 2, 2)]:
            x, w, b = tensors((3, 4, 9, 9), (6, 4 // groups, 3, 3), (6,))
            expected = gradients(lambda x, w, b: functional.conv2d(
                x, w, b, stride, padding, dilation, groups), x, w, b)
            for method in ["dense", "exact"]:
                got = gradients(lambda x, w, b: ops.conv2d(
                    x, w, b, [stride], [padding, padding], [dilation], groups, method, 7), x, w, b)
                for one, other in zip(got, expected):
                    close(one, other)
        x, w, b = tensors((2, 5, 7), (4, 7), (4,))
        for method in ["dense", "exact"]:
            for one, other in zip(gradients(lambda *t: ops.linear(*t, method, 0), x, w, b),
                                  gradients(functional.linear, x, w, b)):
                close(one, other)
            a, b2 = tensors((5, 7), (7, 3))
            for one, other in zip(gradients(lambda *t: ops.matmul(*t, method, 0), a, b2),
                                  gradients(torch.matmul, a, b2)):
                close(one, other)

    def test_directions_may_differ(self):
        cases = [([2, 1], [0, 0], [1, 1], 1), ([1, 3], [2, 0], [1, 1], 1),
                 ([1, 1], [1, 3], [2, 1], 2), ([2, 3], [0, 2], [1, 2], 2)]
        for stride, padding, dilation, groups in cases:
            for kernel in [(3, 3), (1, 4), (2, 1)]:
                x, w, b = tensors((3, 4, 9, 12), (6, 4 // groups, *kernel), (6,))
                expected = gradients(lambda x, w, b: functional.conv2d(
                    x, w, b, stride, padding, dilation, groups), x, w, b)
                # A sample of all pairs, and all entries of dY, are the exact product.
                for method in ["dense", "exact", "topk_crs:ratio=1",
                               "topk_crs:ratio=1,mode=backward", "meprop:k=100000",
                               "topk_position:k=100000,scale=none"]:
                    got = gradients(lambda x, w, b: ops.conv2d(
                        x, w, b, stride, padding, dilation, groups, method, 7), x, w, b)
                    for one, other in zip(got, expected):
                        close(one, other)
                sparse = "topk_position:k=2,scale=none"
                _, _, dw, _ = gradients(lambda x, w, b: ops.conv2d(
                    x, w, b, stride, padding, dilation, groups, sparse, 7), x, w, b)
                seeded = torch.Generator().manual_seed(1)
                upstream = torch.randn(expected[0].shape, generator=seeded)
                y = functional.conv2d(x, w, b, stride, padding, dilation, groups)
                close(dw, torch.autograd.grad(y, w, ops.prune(upstream, sparse, 7))[0])

    def test_topk_crs_multiplies_the_largest_pairs(self):
        a, b = tensors((6, 10), (10, 5))
        y, da, db = gradients(lambda a, b: ops.matmul(a, b, "topk_crs:ratio=0.4", 0), a, b)
        A, B = a.detach().numpy(), b.detach().numpy()
        score = np.linalg.norm(A, axis=0) * np.linalg.norm(B, axis=1)
        factor = np.zeros(10)
        factor[np.argsort(-score, kind="stable")[:4]] = 1
        G = torch.randn(y.shape, generator=torch.Generator().manual_seed(1)).numpy()
        close(y, (A * factor) @ B)
        close(da, (G @ B.T) * factor)
        close(db, (A.T @ G) * factor[:, None])

    def test_sdgp_prunes_the_data_gradient_alone(self):
        x, w = tensors((2, 3, 6, 6), (8, 3, 3, 3))
        method = "sdgp:n=2,m=4,rank=magnitude,rescale=sample_channel"
        _, dx, dw = gradients(lambda x, w: ops.conv2d(x, w, None, 1, 1, 1, 1, method, 0), x, w)
        G = torch.randn((2, 8, 6, 6), generator=torch.Generator().manual_seed(1)).numpy()
        groups = G.reshape(2, 2, 4, 6, 6)
        order = np.argsort(-np.abs(groups), axis=2, kind="stable")
        kept = np.zeros_like(groups)
        np.put_along_axis(kept, order[:, :, :2],
                          np.take_along_axis(groups, order[:, :, :2], 2), 2)
        kept = kept.reshape(G.shape)
        kept = kept * (np.abs(G).sum((2, 3)) / np.abs(kept).sum((2, 3)))[:, :, None, None]
        close(ops.prune(torch.from_numpy(G), method, 0), kept)
        exact = torch.ops.aten.convolution_backward
        rest = [None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False]]
        kept = torch.from_numpy(kept.astype(np.float32))
        close(dx, exact(kept, x.detach(), w.detach(), *rest)[0])
        close(dw, exact(torch.from_numpy(G), x.detach(), w.detach(), *rest)[1])

    def test_draws_are_the_seeds(self):
        x, w = tensors((4, 16, 8, 8), (16, 16, 3, 3))
        for method in ["crs:ratio=0.3", "bernoulli_crs:ratio=0.3", "random",
                       "stochastic_pruning", "sdgp:rank=random"]:
            run = lambda seed: gradients(
                lambda x, w: ops.conv2d(x, w, None, 1, 1, 1, 1, method, seed), x, w)
            one, same, other = run(3), run(3), run(4)
            for a, b in zip(one, same):
                self.assertTrue(torch.equal(a, b), method)
            self.assertFalse(all(torch.equal(a, b) for a, b in zip(one, other)), method)
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        alone = ops.conv2d(x, w, None, 1, 1, 1, 1, "crs:ratio=0.3", 3)
        torch.set_num_threads(threads)
        close(alone, ops.conv2d(x, w, None, 1, 1, 1, 1, "crs:ratio=0.3", 3).detach())

    def test_prune_is_what_the_backward_uses(self):
        dy = torch.randn(4, 6, 5, 5)
        x, w = tensors((4, 3, 7, 7), (6, 3, 3, 3))
        for method in ["stochastic_pruning:p=0.8", "meprop:k=20", "meprop:k=3,per=batch",
                       "random_entries:k=20", "random_entries:k=3,per=batch",
                       "topk_position:k=3,scale=none", "random_position:k=2", "sdgp:rank=random"]:
            pruned = ops.prune(dy, method, 5)
            self.assertEqual(pruned.shape, dy.shape)
            self.assertGreater((pruned == 0).sum(), 0, method)
            # Which of the two gradients goes by it depends on the method.
            y = ops.conv2d(x, w, None, 1, 0, 1, 1, method, 5)
            exact = torch.autograd.grad(functional.conv2d(x, w), (x, w), pruned)
            got = torch.autograd.grad(y, (x, w), dy)
            same = [torch.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in zip(got, exact)]
            weight_alone = "position" in method
            self.assertEqual(same, [not weight_alone, "sdgp" not in method], method)
        self.assertTrue(torch.equal(ops.prune(dy, "dense", 0), dy))
        self.assertEqual(int((ops.prune(dy[:, :, 0, 0], "meprop:k=2", 0) != 0).sum()), 8)

    def test_the_channels_that_were_not_sampled_are_not_kept(self):
        x, w = tensors((8, 64, 16, 16), (8, 64, 3, 3))
        saved = []
        with torch.autograd.graph.saved_tensors_hooks(
                lambda t: saved.append(t.numel()) or t, lambda t: t):
            y = ops.conv2d(x * 1, w, None, 1, 1, 1, 1, "topk_crs:ratio=0.25", 0)
        self.assertIn(x.numel() // 4, saved)
        self.assertNotIn(x.numel(), saved)
        y.sum().backward()
        self.assertEqual(int((w.grad.abs().sum((0, 2, 3)) > 0).sum()), 16)


class Behaviour(unittest.TestCase):
    def test_every_method_trains(self):
        torch.manual_seed(0)
        x = torch.randn(64, 3, 8, 8)
        labels = (x[:, 0].mean((1, 2)) > 0).long()
        for method in METHODS:
            torch.manual_seed(1)
            w1, w2 = torch.nn.Conv2d(3, 16, 3).weight, torch.nn.Linear(16, 2).weight
            optimizer = torch.optim.Adam([w1, w2], lr=0.02)
            losses = []
            for step in range(30):
                h = ops.conv2d(x, w1, None, 1, 1, 1, 1, method, step).relu().mean((2, 3))
                loss = functional.cross_entropy(ops.linear(h, w2, None, "exact", step), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            self.assertTrue(np.isfinite(losses).all(), method)
            self.assertLess(min(losses[-5:]), losses[0], method)

    def test_results_lie_as_pytorchs_do(self):
        for sizes in [(2, 3, 6, 6), (1, 1, 4, 4), (3, 8, 1, 1)]:
            for x_format in [torch.contiguous_format, torch.channels_last]:
                for w_format in [torch.contiguous_format, torch.channels_last]:
                    x = torch.randn(sizes).to(memory_format=x_format)
                    w = torch.randn(4, sizes[1], 1, 1).to(memory_format=w_format)
                    expected = functional.conv2d(x, w)
                    for method in ["dense", *METHODS]:
                        y = ops.conv2d(x, w, None, 1, 0, 1, 1, method, 0)
                        for each in [torch.contiguous_format, torch.channels_last]:
                            self.assertEqual(y.is_contiguous(memory_format=each),
                                             expected.is_contiguous(memory_format=each),
                                             (method, sizes, each))
                        # As models written for PyTorch's layout do.
                        if x_format == w_format == torch.contiguous_format:
                            self.assertEqual(y.view(sizes[0], -1).shape[0], sizes[0])

    def test_every_precision(self):
        for dtype in [torch.float64, torch.bfloat16, torch.float16]:
            for method in [*METHODS, "meprop:k=3,per=batch", "random_entries:k=3,per=batch"]:
                x, w = (t.detach().to(dtype).requires_grad_() for t in
                        tensors((2, 8, 5, 5), (8, 8, 3, 3)))
                y = ops.conv2d(x, w, None, 1, 1, 1, 1, method, 0)
                y.sum().backward()
                self.assertEqual((y.dtype, w.grad.dtype), (dtype, dtype), method)

    def test_bad_arguments_are_python_exceptions(self):
        x, w = tensors((2, 3, 6, 6), (4, 3, 3, 3))
        cases = [
            (lambda: ops.matmul(x[0, 0], w[0, 0], "dense:ratio=0.5", 0), ValueError,
             "dense takes no parameters"),
            (lambda: ops.matmul(x[0, 0], x[0, 0], "dens", 0), ValueError, 'mean "dense"'),
            (lambda: ops.matmul(x[0, 0], x[0, 0], "mixed", 0), ValueError, "name one method"),
            (lambda: ops.matmul(x[0, 0], w[0, 0], "crs", 0), ValueError,
             r"a must be \[...,m,k\] and b \[k,n\], got \[6, 6\] and \[3, 3\]"),
            (lambda: ops.matmul(x[0, 0].to_sparse(), x[0, 0], "crs", 0), ValueError, "strided"),
            (lambda: ops.conv2d(x, w[:0], None, 1, 1, 1, 1, "crs", 0), ValueError,
             "no output channels"),
            (lambda: ops.conv2d(x.to(torch.float8_e4m3fn), w, None, 1, 1, 1, 1, "crs", 0),
             TypeError, "float32, float64, float16 or bfloat16"),
            (lambda: ops.prune(x.to("meta"), "crs", 0), ValueError, "does not prune"),
            (lambda: ops.conv2d(x, w, None, 1, 1, 1, 1, "topk_csr", 0), ValueError, "topk_crs"),
            (lambda: ops.conv2d(x, w, None, 1, 1, 1, 1, "crs:ratio=2", 0), ValueError, "ratio"),
            (lambda: ops.conv2d(x, w, None, 1, 1, 1, 1, "", 0), ValueError, "name"),
            (lambda: ops.conv2d(x, w, None, 1, 1, 1, 1, "msbp", 0), ValueError, "remembers"),
            (lambda: ops.conv2d(x, w, None, 1, 1, 1, 1, "vcas:norm=drop", 0), ValueError,
             "norm=resample"),
            (lambda: ops.conv2d(x[0], w, None, 1, 1, 1, 1, "crs", 0), ValueError, "N,C,H,W"),
            (lambda: ops.conv2d(x, w[:, :2], None, 1, 1, 1, 1, "crs", 0), ValueError, "fit"),
            (lambda: ops.conv2d(x, w, None, [1, 0], 1, 1, 1, "crs", 0), ValueError, "stride"),
            (lambda: ops.conv2d(x, w, None, [1, 1, 1], 1, 1, 1, "crs", 0), ValueError, "stride"),
            (lambda: ops.conv2d(x, w, None, 1, 1, [1, 0], 1, "crs", 0), ValueError, "dilation"),
            (lambda: ops.conv2d(x, w, None, 1, [0, 1], [3, 1], 1, "crs", 0), ValueError, "larger"),
            (lambda: ops.conv2d(x, w, None, 0, 1, 1, 1, "crs", 0), ValueError, "stride"),
            (lambda: ops.conv2d(x, w, None, 1, -1, 1, 1, "crs", 0), ValueError, "padding"),
            (lambda: ops.conv2d(x, w, None, 1, 1, 1, 0, "crs", 0), ValueError, "groups"),
            (lambda: ops.conv2d(x, w, w, 1, 1, 1, 1, "crs", 0), ValueError, "bias"),
            (lambda: ops.conv2d(x[:, :, :1], w, None, 1, 0, 1, 1, "crs", 0), ValueError, "larger"),
            (lambda: ops.conv2d(x.long(), w, None, 1, 1, 1, 1, "crs", 0), TypeError, "float32"),
            (lambda: ops.conv2d(x.double(), w, None, 1, 1, 1, 1, "crs", 0), TypeError, "Double"),
            (lambda: ops.linear(x, w, None, "crs", 0), ValueError, "fit"),
            (lambda: ops.matmul(x[0, 0], w, "crs", 0), ValueError, "matmul"),
            (lambda: ops.prune(x, "crs", 0), ValueError, "does not prune"),
            (lambda: ops.prune(x, "zero", 0), ValueError, "does not prune"),
            (lambda: ops.prune(x[0], "meprop", 0), ValueError, "N,C"),
        ]
        for call, kind, text in cases:
            with self.assertRaisesRegex(kind, text):
                call()

    def test_other_derivatives_are_refused(self):
        import torch.autograd.forward_ad as forward_ad
        a, b = tensors((3, 8), (8, 5))
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(a, torch.ones_like(a))
            for method in ["topk_crs", "exact", "sdgp"]:
                with self.assertRaisesRegex(RuntimeError, "forward mode"):
                    ops.matmul(dual, b, method, 0)
            with self.assertRaisesRegex(RuntimeError, "forward mode"):
                ops.prune(dual, "sdgp", 0)
            tangent = forward_ad.unpack_dual(ops.matmul(dual, b, "dense", 0)).tangent
            close(tangent, torch.ones_like(a) @ b.detach())
        for method in METHODS:
            y = ops.matmul(a, b, method, 0)
            with self.assertRaisesRegex(RuntimeError, "is_grads_batched"):
                torch.autograd.grad(y, (a, b), torch.randn(2, 3, 5), is_grads_batched=True)

    def test_meta_tensors_get_shapes(self):
        x, w = torch.empty(2, 3, 9, 9, device="meta"), torch.empty(4, 3, 3, 3, device="meta")
        y = ops.conv2d(x, w, None, 2, 1, 1, 1, "crs", 0)
        self.assertEqual((y.device.type, y.shape), ("meta", (2, 4, 5, 5)))
        self.assertEqual(ops.prune(x, "sdgp", 0).shape, x.shape)

    def test_autocast_computes_in_its_precision(self):
        x, w = tensors((4, 8, 6, 6), (8, 8, 3, 3))
        with torch.autocast("cpu", torch.bfloat16):
            y = ops.conv2d(x, w, None, 1, 1, 1, 1, "topk_crs:ratio=0.5", 0)
        self.assertEqual(y.dtype, torch.bfloat16)
        y.float().sum().backward()
        self.assertEqual((x.grad.dtype, w.grad.dtype), (torch.float32, torch.float32))
        full = ops.conv2d(x, w, None, 1, 1, 1, 1, "topk_crs:ratio=0.5", 0)
        close(y.float(), full.detach(), 2e-2)

    def test_empty_batches_pass_through(self):
        for method in ["dense", *METHODS]:
            x, w, b = tensors((0, 3, 6, 6), (4, 3, 3, 3), (4,))
            y, dx, dw, db = gradients(lambda x, w, b: ops.conv2d(
                x, w, b, 1, 1, 1, 1, method, 0), x, w, b)
            self.assertEqual((y.shape, dx.shape), ((0, 4, 6, 6), x.shape), method)
            for zero, like in [(dw, w), (db, b)]:
                self.assertTrue(torch.equal(zero, torch.zeros_like(like)), method)
        self.assertEqual(ops.prune(torch.randn(0, 3, 6, 6), "sdgp", 0).shape, (0, 3, 6, 6))


if __name__ == "__main__":
    unittest.main()
