"""gsa.torch.attend and aggregate: gradients, bits, compilation, memory, processes, refusals."""

import gc
import itertools
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

import numpy as np
from support import Case, command, needs_command, needs_torch, torch

import gsa

if torch:
    from torch.autograd import forward_ad
    import gsa.torch

EDGES = np.array([[4, 0, 1, 2, 2, 0, 3, 3], [3, 0, 0, 1, 1, 3, 4, 0]])  # row 2 reads nothing
LABELS = [0, 1, 2, 0, 1, 2, 0, 1]


def own():
    return gsa.graph(EDGES, rows=5, label=LABELS)


def numbers(graph, heads=2, dim=3, dtype=None, seed=1, phase=None):
    """q, k, v, label vectors, label biases for a phase."""
    p, dice = graph.phase(phase), torch.Generator().manual_seed(seed)
    shapes = ((p.rows, heads, dim), (p.sources, heads, dim), (p.sources, heads, dim),
              (p.labels, dim), (p.labels, heads))
    return [torch.randn(s, dtype=dtype or torch.float64, generator=dice) for s in shapes]


def dense(q, k, v, graph, r=None, b=None, phase=None):
    """The same out of torch's own operations, edge by edge."""
    p = graph.phase(phase)
    row, source, label = (torch.as_tensor(a).long() for a in p.coo())
    keys = k[source] if r is None else k[source] + r[label][:, None]
    score = (q[row] * keys).sum(-1) / q.shape[2] ** .5
    score = score if b is None else score + b[label]
    out = []
    for i in range(p.rows):
        weight = score[row == i].softmax(0)
        out.append((weight[..., None] * v[source[row == i]]).sum(0))
    return torch.stack(out)


@needs_torch
class Gradients(Case):
    def check(self, call, *inputs):
        inputs = [x.requires_grad_() for x in inputs]
        self.assertTrue(torch.autograd.gradcheck(call, inputs))

    def test_attend_with_each_use_of_labels_and_dropout(self):
        for g in (own(), gsa.topology("bpt:k=2").graph([5, 3])):
            q, k, v, r, b = numbers(g)
            for dropout in (0, .4):
                def call(q, k, v, r=None, b=None, g=g, dropout=dropout):
                    return gsa.torch.attend(q, k, v, g, label_vectors=r, label_bias=b,
                                            dropout=dropout, seed=7)
                for inputs in ((q, k, v), (q, k, v, r), (q, k, v, r, b)):
                    self.check(call, *inputs)
                self.check(lambda q, k, v, b: call(q, k, v, None, b), q, k, v, b)

    def test_a_gradient_that_is_not_wanted_changes_no_other(self):
        g = own()
        inputs = numbers(g)
        def gradients(wanted):
            leaves = [x.clone().requires_grad_(i in wanted) for i, x in enumerate(inputs)]
            out = gsa.torch.attend(*leaves[:3], g, label_vectors=leaves[3], label_bias=leaves[4])
            out.square().sum().backward()
            return [x.grad for x in leaves]
        everything = gradients(range(5))
        for i in range(5):
            one = gradients([i])
            self.assertTrue(torch.equal(one[i], everything[i]))
            self.assertEqual(sum(x is not None for x in one), 1)

    def test_sources_of_their_own_and_two_phases(self):
        g = gsa.graph([[0, 6, 3, 6], [1, 0, 1, 1]], rows=2, sources=7)
        self.check(lambda q, k, v: gsa.torch.attend(q, k, v, g), *numbers(g)[:3])
        star = gsa.topology("star").graph([4, 6])
        for phase in ("down", "up"):
            inputs = numbers(star, phase=phase)[:3]
            self.check(lambda q, k, v, p=phase: gsa.torch.attend(q, k, v, star, p), *inputs)

    def test_sums_and_means(self):
        g = own()
        for mean in (False, True):
            v = torch.randn(5, 4, dtype=torch.float64)
            self.check(lambda v, m=mean: gsa.torch.aggregate(v, g, mean=m), v)

    def test_no_gradient_of_a_gradient(self):
        g = own()
        q, k, v = (x.requires_grad_() for x in numbers(g)[:3])
        out = gsa.torch.attend(q, k, v, g).square().sum()
        first, = torch.autograd.grad(out, q, create_graph=True)
        with self.assertRaisesRegex(RuntimeError, "once_differentiable"):
            first.sum().backward()
        one = gsa.torch.attend(q, k, v, g).sum()  # the gradient that comes in is a constant
        d, = torch.autograd.grad(one, q, create_graph=True)
        with self.assertRaisesRegex(RuntimeError, "once_differentiable"):
            (d.square().sum() + q.sum()).backward()


@needs_torch
class Values(Case):
    def test_attend_is_torchs_softmax_over_the_edges(self):
        g = gsa.graph(EDGES[:, EDGES[1] != 2], rows=5, label=LABELS)
        q, k, v, r, b = numbers(g)
        for labels in ((None, None), (r, None), (None, b), (r, b)):
            out = gsa.torch.attend(q, k, v, g, label_vectors=labels[0], label_bias=labels[1])
            torch.testing.assert_close(out, dense(q, k, v, g, *labels))

    def test_sums_and_means_are_those_of_sparse_products(self):
        g, v = own(), torch.randn(5, 4)
        row, source, _ = (torch.as_tensor(a).long() for a in g.phase().coo())
        total = torch.zeros(5, 4).index_add(0, row, v[source])
        torch.testing.assert_close(gsa.torch.aggregate(v, g), total)
        degree = torch.bincount(row, minlength=5).clamp(min=1)[:, None]
        torch.testing.assert_close(gsa.torch.aggregate(v, g, mean=True), total / degree)
        np.testing.assert_array_equal(gsa.aggregate(v.numpy(), g, mean=True),
                                      gsa.torch.aggregate(v, g, mean=True).numpy())

    def test_numpy_tensors_and_strides_give_the_same_bits(self):
        g = gsa.topology("window:width=5").graph([40, 9])
        q, k, v, _, _ = numbers(g, 4, 16, torch.float32)
        out = gsa.torch.attend(q, k, v, g)
        arrays = [x.numpy() for x in (q, k, v)]
        np.testing.assert_array_equal(out.numpy(), gsa.attend(*arrays, g))
        for a, b in zip(gsa.torch.attend(q, k, v, g, weights=True),
                        gsa.attend(*arrays, g, weights=True)):
            np.testing.assert_array_equal(a.numpy(), b)
        strided = [x.transpose(0, 1).contiguous().transpose(0, 1) for x in (q, k, v)]
        self.assertFalse(strided[0].is_contiguous())
        self.assertTrue(torch.equal(gsa.torch.attend(*strided, g), out))
        expanded = gsa.torch.attend(q, k[:1].expand_as(k), v, g)
        self.assertTrue(torch.equal(expanded, gsa.torch.attend(q, k[:1].repeat(49, 1, 1), v, g)))

    def test_what_is_replaced_before_backward_is_looked_at_again(self):
        g = own()
        for at, labels in itertools.product(range(3), (False, True)):
            leaves = [x.requires_grad_() for x in numbers(g)]
            named = dict(label_vectors=leaves[3], label_bias=leaves[4]) if labels else {}
            out = gsa.torch.attend(*leaves[:3], g, **named)
            leaves[at].data = torch.zeros(1, 1, 1, dtype=torch.float64)
            with self.assertRaises(gsa.Error):
                out.sum().backward()
        leaves = [x.requires_grad_() for x in numbers(g)[:3]]
        out = gsa.torch.attend(*leaves, g)
        for x in leaves:
            x.data = x.data[:, :1].contiguous()
        with self.assertRaises(gsa.Error):
            out.sum().backward()

    def test_a_storage_that_was_shortened_is_one_sentence(self):
        g = own()
        names = ("q", "k", "v", "label_vectors", "label_bias", "the gradient", "v")
        def short(x, size):
            x.untyped_storage().resize_(size)
            return x
        def forward(x):
            gsa.torch.attend(*x[:3], g, label_vectors=x[3], label_bias=x[4])
        def backward(at, size, x):
            x = [y.requires_grad_() for y in x]
            out = gsa.torch.attend(*x[:3], g) if at < 3 else \
                gsa.torch.attend(*x[:3], g, label_vectors=x[3], label_bias=x[4])
            d = torch.ones_like(out)
            short((*x, d)[at], size)
            out.backward(d)
        def sums(x):
            gsa.torch.aggregate(short(x[0].flatten(1).clone(), size), g)
        for size, (at, name) in itertools.product((0, 8), enumerate(names)):
            sentence = f"{name} has a storage of {size} bytes, which is too short: it was resized"
            if at < 5:
                x = numbers(g)
                short(x[at], size)
                self.refused(sentence, forward, x)
            if at < 6:
                self.refused(sentence, backward, at, size, numbers(g))
            else:
                self.refused(sentence, sums, numbers(g))
        x = [y.requires_grad_() for y in numbers(g)[:3]]
        out = gsa.torch.attend(*x, g)
        loss = out.sum()
        short(out, 8)
        self.refused("the output has a storage of 8 bytes, which is too short: it was resized",
                     loss.backward)

    def test_hooks_of_saved_tensors_may_change_strides(self):
        g, found = own(), []
        def turned(x):
            return x.transpose(0, 1).contiguous().transpose(0, 1)
        for unpack in (lambda x: x, turned):
            q, k, v = (x.requires_grad_() for x in numbers(g)[:3])
            with torch.autograd.graph.saved_tensors_hooks(lambda x: x, unpack):
                out = gsa.torch.attend(q, k, v, g)
            out.square().sum().backward()
            found.append([q.grad, k.grad, v.grad])
        self.assertTrue(all(map(torch.equal, *found)))

    def test_parts_of_a_storage_are_used_where_they_are(self):
        g = own()
        q, k, v, _, _ = numbers(g)
        wanted = gsa.torch.attend(q, k, v, g)
        for x in (torch.stack([q, k, v]), torch.stack([q, k, v], 2).movedim(2, 0)):
            self.assertTrue(torch.equal(gsa.torch.attend(*x, g), wanted))

    def test_a_tensor_that_is_negated_as_a_view_has_its_sign(self):
        g = own()
        q, k, v, r, b = numbers(g)
        negative = torch._neg_view
        wanted = gsa.torch.attend(-q, -k, -v, g, label_vectors=-r, label_bias=-b)
        found = gsa.torch.attend(*map(negative, (q, k, v)), g, label_vectors=negative(r),
                                 label_bias=negative(b))
        self.assertTrue(torch.equal(found, wanted))
        self.assertTrue(torch.equal(gsa.torch.attend(negative(q), k, v, g),
                                    gsa.torch.attend(-q, k, v, g)))
        sums, x = gsa.torch.aggregate, v.flatten(1)
        self.assertTrue(torch.equal(sums(negative(x), g), sums(-x, g)))
        for call, x in ((lambda x: gsa.torch.attend(x, k, v, g), q), (lambda x: sums(x, g), x)):
            x = x.clone().requires_grad_()
            out = call(x)
            d = torch.randn_like(out)
            one, = torch.autograd.grad(out, x, negative(d), retain_graph=True)
            other, = torch.autograd.grad(out, x, -d)
            self.assertTrue(torch.equal(one, other))

    def test_autocast_computes_halves_in_float32(self):
        g = own()
        x = [y.bfloat16().requires_grad_() for y in numbers(g)]
        wide = [y.detach().float() for y in x]
        def call(q, k, v, r, b):
            return gsa.torch.attend(q, k, v, g, label_vectors=r, label_bias=b)
        for f in (call, torch.compile(call, backend="aot_eager")):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                out, total = f(*x), gsa.torch.aggregate(x[2].flatten(1), g)
            self.assertTrue(torch.equal(out, call(*wide)))
            self.assertTrue(torch.equal(total, gsa.torch.aggregate(wide[2].flatten(1), g)))
            out.sum().backward()
            self.assertEqual({y.grad.dtype for y in x}, {torch.bfloat16})

    def test_weights_are_the_softmax_of_each_row(self):
        g = own()
        q, k, v, _, _ = numbers(g)
        out, weights = gsa.torch.attend(q, k, v, g, weights=True)
        row, source, _ = (torch.as_tensor(a).long() for a in g.phase().coo())
        torch.testing.assert_close(torch.zeros(5, 2).double().index_add(0, row, weights),
                                   torch.tensor([1., 1, 0, 1, 1]).double()[:, None].expand(5, 2))
        torch.testing.assert_close(
            torch.zeros_like(out).index_add(0, row, weights[..., None] * v[source]), out)

    def test_threads_do_not_change_the_bits(self):
        g, before = gsa.topology("full").graph([70, 30]), torch.get_num_threads()
        found = []
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            q, k, v = (x.requires_grad_() for x in numbers(g, 2, 16, torch.float32)[:3])
            out = gsa.torch.attend(q, k, v, g, dropout=.1, seed=3)
            out.sum().backward()
            found.append([out, q.grad, k.grad, v.grad])
        torch.set_num_threads(before)
        for other in found[1:]:
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(found[0], other)))

    def test_calls_without_gradients_have_the_bits_of_those_with(self):
        g = gsa.topology("window:width=5").graph([300])
        cases = [numbers(g, heads, 8, dtype)[:3] for dtype in (torch.float32, torch.float64)
                 for heads in (1, 2, 4)]
        wanted = [gsa.torch.attend(*(x.requires_grad_() for x in case), g) for case in cases]
        found = []
        def call(start):
            with torch.no_grad():  # from many threads, by turns of sizes and types
                for i in range(start, start + 60):
                    i %= len(cases)
                    found.append(torch.equal(gsa.torch.attend(*cases[i], g), wanted[i]))
        threads = [threading.Thread(target=call, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [True] * 240)

    def test_transforms_are_one_sentence(self):
        g = own()
        q, k, v, _, _ = numbers(g)
        def call(q):
            return gsa.torch.attend(q, k, v, g)
        def sums(q):
            return gsa.torch.aggregate(q.flatten(-2), g)
        def dual(f, q):
            with forward_ad.dual_level():
                self.assertTrue(torch.equal(f(q), f(q.clone())))  # without a tangent all is well
                f(forward_ad.make_dual(q, q))
        for f in (call, sums):
            for transform in (lambda f: torch.func.jvp(f, (q,), (q,)), lambda f: dual(f, q),
                              lambda f: torch.vmap(f)(q[None]), lambda f: torch.func.vjp(f, q),
                              lambda f: torch.func.grad(lambda q: f(q).sum())(q)):
                self.refused("torch.func (grad, vmap, jvp) and forward gradients are not offered; "
                             "torch.autograd.grad is", transform, f)
        x = q.clone().requires_grad_()
        out = call(x)
        self.refused("backward: the gradient has no memory of its own: is_grads_batched and vmap "
                     "are not offered", torch.autograd.grad, out, x, out.detach()[None],
                     is_grads_batched=True)
        self.assertTrue(call(q).isfinite().all())  # the graph is as it was

    def test_traces_hold_the_call_and_not_its_result(self):
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.fx.experimental.proxy_tensor import make_fx
        g = own()
        q, k, v, _, _ = numbers(g)
        def call(q):
            return gsa.torch.attend(q, k, v, g)
        for traced in (make_fx(call)(q), torch.jit.trace(call, q)):
            self.assertTrue(torch.equal(traced(2 * q), call(2 * q)))
        mode = FakeTensorMode()
        fakes = [mode.from_tensor(x) for x in (q, k, v)]
        for fake in (lambda: gsa.torch.attend(*fakes, g),
                     lambda: gsa.torch.attend(*fakes, g, dropout=.1)):
            with mode:
                self.assertEqual(fake().shape, q.shape)
            self.assertIs(type(fake()), type(fakes[0]))  # outside of its mode, too
        for some in ((q, *fakes[1:]), (q, k, v)):
            with self.assertRaisesRegex(AssertionError, "^Please convert all Tensors to FakeT"):
                gsa.torch.attend(*some, g, label_bias=mode.from_tensor(numbers(g)[4]))

    def test_a_trace_of_backward_alone_holds_the_call(self):
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.fx.experimental.proxy_tensor import make_fx
        g = own()
        leaves = [x.requires_grad_() for x in numbers(g)]
        def back(out, wanted):
            return lambda d: torch.autograd.grad(out, wanted, d, retain_graph=True)
        plain, sums = gsa.torch.attend(*leaves[:3], g), leaves[2].flatten(1)
        for out in (plain, gsa.torch.attend(*leaves[:3], g, label_vectors=leaves[3],
                                            label_bias=leaves[4], dropout=.3)):
            wanted = leaves[:3] if out is plain else leaves
            traced = make_fx(back(out, wanted))(torch.ones_like(out))
            d = torch.randn_like(out)
            for one, other in zip(traced(d), back(out, wanted)(d)):
                self.assertTrue(torch.equal(one, other))
            with FakeTensorMode(allow_non_fake_inputs=True):
                found = back(out, wanted)(torch.ones(out.shape, dtype=out.dtype))
            self.assertEqual([x.shape for x in found], [x.shape for x in wanted])
        out = gsa.torch.aggregate(sums, g)
        self.refused("aggregate is no operator of torch: no trace can hold it, and it takes no "
                     "fake tensor", make_fx(lambda d: torch.autograd.grad(out, sums, d)),
                     torch.ones_like(out))

    def test_aggregate_refuses_traces_and_fake_tensors(self):
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.fx.experimental.proxy_tensor import make_fx
        from torch.utils.flop_counter import FlopCounterMode
        g, mode = own(), FakeTensorMode()
        v = numbers(g)[2].flatten(1)
        fake = mode.from_tensor(v)
        def call(v):
            return gsa.torch.aggregate(v, g)
        def within(v):
            with mode:
                call(v)
        for function, *arguments in (
                (torch.jit.trace, call, v), (make_fx(call), v), (within, fake), (call, fake),
                (make_fx(call, tracing_mode="fake"), v), (make_fx(call, pre_dispatch=True), v)):
            self.refused("aggregate is no operator of torch: no trace can hold it, and it takes no "
                         "fake tensor", function, *arguments)
        wanted = call(v)
        with FlopCounterMode(display=False):  # it only looks on
            self.assertTrue(torch.equal(call(v), wanted))

    def test_dropout_draws_from_torchs_generator(self):
        g = gsa.topology("full").graph([9])
        q, k, v, _, _ = numbers(g)
        def draw(seed):
            torch.manual_seed(seed)
            return gsa.torch.attend(q, k, v, g, dropout=.5)
        self.assertTrue(torch.equal(draw(1), draw(1)))
        self.assertFalse(torch.equal(draw(1), draw(2)))

    def test_nan_stays_in_the_rows_that_read_it(self):
        g = own()
        q, k, v, _, _ = numbers(g)
        v[4] = float("nan")
        bad = gsa.torch.attend(q, k, v, g).isnan().any(-1).any(-1)
        self.assertEqual(bad.tolist(), [False, False, False, True, False])

    @needs_command
    def test_bits_are_those_of_the_command(self):
        from gsa.torch._checkpoint import read_tensors
        # Numbers of a kind's nodes are a plane of their own in the file, one after the other here.
        for spec, double in (("window:width=5", 0), ("bpt:k=2", 0), ("star", 0),
                             ("full:clip=4", 1)):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "x.safetensors")
                command("bench", "kernel", "--topology", spec, "--length", "50", "--batch", "3",
                        "--heads", "2", "--head-dim", "16", "--runs", "1", "--arrays", path,
                        "--device", "ref" if double else "cpu", "--real",
                        "double" if double else "float")
                x, _ = read_tensors(path)
            g = gsa.topology(spec).graph([50, 50, 50])
            for p in (p for p in g.phases if p.schema.aggregate == "attend"):
                self.compare(x, g, p, f"{spec} {p.name}")

    def compare(self, x, g, p, what):
        def joined(name):
            parts = [x[f"{p.name}.{name}.{k}"] for k in range(9) if f"{p.name}.{name}.{k}" in x]
            return np.concatenate(parts) if parts else x[f"{p.name}.{name}"]
        def tensor(name):
            return torch.tensor(joined(name)).reshape(-1, 2, 16).requires_grad_()
        np.testing.assert_array_equal(p.coo()[2], x[f"{p.name}.label"][:, 0])
        q, k, v = map(tensor, "qkv")
        r = x.get(f"{p.name}.label_vectors")
        out = gsa.torch.attend(q, k, v, g, p, scale=.125,
                               label_vectors=None if r is None else torch.tensor(r))
        out.backward(tensor("dout").detach())
        for name, found in (("out", out.detach()), ("dq", q.grad), ("dk", k.grad), ("dv", v.grad)):
            np.testing.assert_array_equal(found.flatten().numpy(), joined(name).ravel(),
                                          f"{what} {name}")


@needs_torch
class Compiled(Case):
    def test_compiled_attend_has_the_same_bits_and_gradients(self):
        g = own()
        inputs = numbers(g, dtype=torch.float32)
        def call(q, k, v, r, b):
            return gsa.torch.attend(q * 2, k, v, g, label_vectors=r, label_bias=b) + 1
        found = []
        for f in (call, torch.compile(call, fullgraph=True, backend="aot_eager")):
            leaves = [x.clone().requires_grad_() for x in inputs]
            out = f(*leaves)
            out.square().sum().backward()
            found.append([out, *(x.grad for x in leaves)])
        for a, b in zip(*found):
            torch.testing.assert_close(a, b, rtol=0, atol=0)

    def test_the_operator_keeps_torchs_rules(self):
        g = own()
        q, k, v, r, b = (x.requires_grad_() for x in numbers(g))
        for labels, dropout in (((None, None), 0.), ((r, b), .3)):
            torch.library.opcheck(torch.ops.gsa.attend.default,
                                  (q, k, v, *labels, torch.tensor([5]), g.number, 0, 0., dropout))

    def test_a_graph_that_is_gone_is_one_sentence(self):
        g = own()
        number, (q, k, v, _, _) = g.number, numbers(g)
        del g
        gc.collect()
        self.refused(f"graph {number} is gone: it was made before, and nothing holds it",
                     torch.ops.gsa.attend, q, k, v, None, None, torch.tensor([0]), number, 0, 0.,
                     0.)


    def test_the_operator_trusts_no_argument(self):
        g = own()
        q, k, v, _, b = numbers(g)
        ops, seed, lse = torch.ops.gsa, torch.tensor([0]), torch.zeros(5, 2).double()
        def call(q=q, k=k, b=None, seed=seed, phase=0, dropout=0.):
            return ops.attend(q, k, v, None, b, seed, g.number, phase, 0., dropout)
        self.refused("q has 2 rows; phase attend of the graph has 5", call, q[:2])
        self.refused("k has shape (1, 2, 3); [sources, heads, dim] was expected: (5, 2, 3)", call,
                     k=k[:1])
        self.refused("k is torch.float32; all tensors must be float32, or all float64", call,
                     k=k.float())
        self.refused("label_bias has shape (0, 2); [labels, heads] was expected: (3, 2)", call,
                     b=b[:0])
        self.refused("edges has no phase -1; its phases are attend", call, phase=-1)
        self.refused("seed is -1; a whole number from 0 to 2^32-1 was expected", call, seed=-seed-1)
        self.refused("dropout is 2.0; a number from 0, and below 1, was expected", call, dropout=2.)
        for bad in (lse[:1], lse.int()):
            self.refused(f"lse is {bad.dtype} of shape {tuple(bad.shape)}; torch.float64 of shape "
                         f"(5, 2) was expected", ops.attend_backward, q, q, k, v, None, None, q,
                         bad, seed, g.number, 0, 0., 0.)


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@needs_torch
class Memory(Case):
    def test_a_thousand_calls_do_not_grow_memory(self):
        t = gsa.topology("window:width=9")
        g = t.graph([256])
        q, k, v, _, _ = numbers(g, 2, 16, torch.float32)
        def once(graph):
            leaves = [x.clone().requires_grad_() for x in (q, k, v)]
            gsa.torch.attend(*leaves, graph, dropout=.1).sum().backward()
        for what, call in (("calls", lambda: once(g)), ("graphs", lambda: once(t.graph([256]))),
                           ("lists", lambda: once(gsa.graph(np.arange(512).reshape(2, 256) % 256,
                                                            rows=256)))):
            for _ in range(100):
                call()
            gc.collect()
            before = resident()
            for _ in range(1000):
                call()
            gc.collect()
            grown = resident() - before
            self.assertLess(grown, 1 << 20, f"{what}: {grown} bytes in 1,000 calls")


class Rows(torch.utils.data.Dataset if torch else object):
    """Examples that hold a graph and have been attended to in the worker."""

    def __init__(self, graph):
        self.graph = graph

    def __len__(self):
        return 4

    def __getitem__(self, i):
        q, k, v, _, _ = numbers(self.graph, dtype=torch.float32, seed=i)
        return gsa.torch.attend(q, k, v, self.graph), gsa.topology("star").graph([i + 1])


def first(batch):
    return batch[0]


@needs_torch
class Processes(Case):
    def test_a_pickled_graph_gives_the_same_bits(self):
        for g in (own(), gsa.topology("bpt:k=2").graph([9, 4])):
            q, k, v, _, _ = numbers(g)
            back = pickle.loads(pickle.dumps(g))
            self.assertTrue(torch.equal(gsa.torch.attend(q, k, v, g),
                                        gsa.torch.attend(q, k, v, back)))

    def test_workers_by_fork_and_by_spawn(self):
        data = Rows(own())
        wanted = [data[i][0] for i in range(4)]  # the parent's threads have run
        for how in ("fork", "spawn"):
            loader = torch.utils.data.DataLoader(data, num_workers=2, collate_fn=first,
                                                 multiprocessing_context=how)
            found = list(loader)
            self.assertEqual([g.phase("up").rows for _, g in found], [1, 1, 1, 1])
            for a, (b, _) in zip(wanted, found):
                self.assertTrue(torch.equal(a, b), how)


    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_a_child_of_a_busy_process_uses_the_graph(self):
        g = own()
        q, k, v, _, _ = numbers(g)
        wanted, busy = gsa.torch.attend(q, k, v, g), [True]
        def call():
            while busy:
                gsa.torch.attend(q, k, v, g)
        def make():
            while busy:
                own()
        others = [own() for _ in range(1000)]  # a look at all graphs takes a while
        interval = sys.getswitchinterval()
        self.addCleanup(sys.setswitchinterval, interval)
        sys.setswitchinterval(interval / 100)
        threads = [threading.Thread(target=target) for target in (call, call, call, make, make)]
        for thread in threads:
            thread.start()
        ended, unraised = [], []
        def fork():
            for _ in range(20):
                child = os.fork()
                if child == 0:
                    signal.alarm(20)
                    os._exit(not torch.equal(gsa.torch.attend(q, k, v, g), wanted))
                ended.append(os.waitpid(child, 0)[1])
        forks = [threading.Thread(target=fork) for _ in range(3)]  # all at once
        with unittest.mock.patch.object(sys, "unraisablehook", lambda e:
                                        unraised.append(str(e.exc_value))):
            for thread in forks:
                thread.start()
            for thread in forks:
                thread.join()
        busy.clear()
        for thread in threads:
            thread.join()
        self.assertEqual((ended, unraised, len(others)), ([0] * 60, [], 1000))


@needs_torch
class Refusals(Case):
    def test_every_bad_tensor_is_one_sentence(self):
        g = own()
        q, k, v, r, b = numbers(g)
        attend = gsa.torch.attend
        self.refused("q has 4 rows; phase attend of the graph has 5", attend, q[:4], k, v, g)
        self.refused("q has shape (5, 6); [rows, heads, dim] was expected",
                     attend, q.flatten(1), k, v, g)
        self.refused("k has shape (5, 2, 2); [sources, heads, dim] was expected: (5, 2, 3)",
                     attend, q, k[..., :2], v, g)
        self.refused("label_vectors has shape (2, 3); [labels, dim] was expected: (3, 3)",
                     attend, q, k, v, g, label_vectors=r[:2])
        self.refused("label_bias has shape (3, 1); [labels, heads] was expected: (3, 2)",
                     attend, q, k, v, g, label_bias=b[:, :1])
        self.refused("v is torch.float32; all tensors must be float32, or all float64",
                     attend, q, k, v.float(), g)
        self.refused("q is torch.int64; all tensors must be float32, or all float64",
                     attend, q.long(), k.long(), v.long(), g)
        self.refused("q is torch.bfloat16; all tensors must be float32, or all float64",
                     attend, q.bfloat16(), k.bfloat16(), v.bfloat16(), g)
        self.refused("k is a ndarray; a torch.Tensor was expected", attend, q, k.numpy(), v, g)
        self.refused("v is a NoneType; a torch.Tensor was expected", attend, q, k, None, g)
        self.refused("k is on meta; cpu or cuda was expected", attend, q, k.to("meta"), v, g)
        self.refused("k has layout torch.sparse_coo; torch.strided was expected",
                     attend, q, k.to_sparse(), v, g)
        self.refused("graph is a int; a gsa.Graph was expected", attend, q, k, v, 3)
        self.refused("q has 2 heads of 0 columns; each is at least 1",
                     attend, q[..., :0], k[..., :0], v[..., :0], g)

    def test_a_device_that_is_not_there_is_one_sentence(self):
        with self.assertRaisesRegex(gsa.Error, "^(this build has no CUDA|cuda: )[^\n]*$"):
            gsa._attend.run(False, (4095, 0), own(), gsa._attend.lib.gsa_aggregate_forward, 0, 0,
                            1, 0, 0)
        for name in ("cuda", "cuda-graphs-tf32"):
            wanted = f"^(device '{name}': this build has no CUDA backend, use cpu or auto|cuda: .*)$"
            with self.assertRaisesRegex(gsa.Error, wanted):
                gsa._library.made(gsa._attend.lib.gsa_backend_open, None, name.encode(), 0, 1)

    def test_every_bad_number_is_one_sentence(self):
        g = own()
        q, k, v, _, _ = numbers(g)
        for bad in (1, -.1, float("nan")):
            self.refused(f"dropout is {bad}; a number from 0, and below 1, was expected",
                         gsa.torch.attend, q, k, v, g, dropout=bad)
        for bad in ("x", None, torch.zeros(2), np.zeros(2), torch.zeros((), device="meta")):
            self.refused(f"dropout is {bad!r}; a number from 0, and below 1, was expected",
                         gsa.torch.attend, q, k, v, g, dropout=bad)
        for bad in (float("inf"), "x", torch.ones((), device="meta"),
                    0):  # which stands for the default in the library
            self.refused(f"scale is {bad!r}; a finite number other than 0 was expected",
                         gsa.torch.attend, q, k, v, g, scale=bad)
        for bad in (-1, 2**32, 1.5, "x"):
            self.refused(f"seed is {bad!r}; a whole number from 0 to 2^32-1 was expected",
                         gsa.torch.attend, q, k, v, g, dropout=.1, seed=bad)

    def test_a_closed_graph_and_a_foreign_phase(self):
        g, other = own(), own()
        q, k, v = (x.requires_grad_() for x in numbers(g)[:3])
        out = gsa.torch.attend(q, k, v, g)
        self.refused("phase attend is of another graph; one of this graph was expected",
                     gsa.torch.attend, q, k, v, g, other.phase())
        g.close()
        self.refused("the graph was closed", gsa.torch.attend, q, k, v, g)
        self.refused("the graph was closed", out.sum().backward)
        self.refused("the graph was closed", gsa.torch.aggregate, v.flatten(1), g)

    def test_an_old_pytorch_is_one_sentence(self):
        code = "import torch; torch.__version__ = type(torch.__version__)('2.8.1'); import gsa.torch"
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr
        self.assertEqual(told.splitlines()[-1], "ImportError: gsa.torch needs PyTorch 2.9 or newer,"
                                                " and 2.8.1 is here")

    def test_sums_refuse_too(self):
        g = own()
        self.refused("v has shape (4, 3); [5, columns] was expected",
                     gsa.torch.aggregate, torch.zeros(4, 3), g)
        self.refused("v is torch.float16; all tensors must be float32, or all float64",
                     gsa.torch.aggregate, torch.zeros(5, 3).half(), g)
        self.refused("graph is a NoneType; a gsa.Graph was expected", gsa.torch.aggregate,
                     torch.zeros(5, 3), None)


if __name__ == "__main__":
    unittest.main()
