"""gsa.torch on CUDA tensors, against the CPU: values, gradients, streams, compilation, memory."""

import gc
import unittest

import numpy as np
from support import Case, torch

import gsa

if torch:
    import gsa.torch

EDGES = np.array([[4, 0, 1, 2, 2, 0, 3, 3], [3, 0, 0, 1, 1, 3, 4, 0]])  # row 2 reads nothing
LONG = 1 << 28  # cycles of a kernel that does nothing: a tenth of a second and more


def has_device():
    if not torch or not torch.cuda.is_available():
        return False
    try:
        gsa.torch.attend(*torch.zeros(3, 1, 1, 1, device="cuda"), gsa.graph([[0], [0]], rows=1))
    except gsa.Unsupported:  # a build without CUDA; any other error is a failure of the tests
        return False
    except gsa.Error:
        pass
    return True


def graphs():
    return (gsa.graph(EDGES, rows=5, label=[0, 1, 2, 0, 1, 2, 0, 1]),
            gsa.topology("bpt:k=2").graph([5, 3]), gsa.topology("window:width=7").graph([90, 33]))


def numbers(graph, heads=2, dim=8, phase=None):
    """q, k, v, label vectors and biases for a phase; None for a phase without labels."""
    p, dice = graph.phase(phase), torch.Generator().manual_seed(1)
    shapes = ((p.rows, heads, dim), (p.sources, heads, dim), (p.sources, heads, dim),
              (p.labels, dim), (p.labels, heads))
    return [torch.randn(s, generator=dice) if s[0] else None for s in shapes]


def results(device, graph, inputs, phase=None, call=None, **named):
    """out and the gradients of the inputs, on the CPU."""
    leaves = [None if x is None else x.detach().to(device, copy=True).requires_grad_()
              for x in inputs]
    call = call or gsa.torch.attend
    out = call(*leaves[:3], graph, phase, label_vectors=leaves[3], label_bias=leaves[4], **named)
    out.square().sum().backward()
    return [x.detach().cpu() for x in (out, *(x.grad for x in leaves if x is not None))]


def used():
    """Bytes of the device that are not of torch's allocator."""
    gc.collect()
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    return total - free - torch.cuda.memory_reserved()


@unittest.skipUnless(has_device(), "no CUDA device, or a library without CUDA")
class Device(Case):
    def same(self, one, other):
        for a, b in zip(one, other, strict=True):
            self.assertTrue(torch.equal(a, b))

    def near(self, one, other):
        for a, b in zip(one, other, strict=True):
            torch.testing.assert_close(a, b, atol=2e-5, rtol=1e-4)

    def test_each_use_of_labels_and_dropout_is_the_cpus(self):
        for g in graphs():
            q, k, v, r, b = numbers(g)
            for labels in dict.fromkeys([(None, None), (r, None), (None, b), (r, b)]):
                for dropout in (0., .4):
                    with self.subTest(dropout=dropout, rows=len(q)):
                        self.near(*(results(device, g, (q, k, v, *labels), dropout=dropout,
                                            seed=7) for device in ("cuda", "cpu")))

    def test_the_same_bits_twice(self):
        for g in graphs():
            inputs = numbers(g)
            self.same(results("cuda", g, inputs), results("cuda", g, inputs))

    def test_sums_and_means(self):
        g, v = graphs()[0], torch.randn(5, 4)
        for mean in (False, True):
            found = []
            for device in ("cpu", "cuda"):
                x = v.to(device, copy=True).requires_grad_()
                out = gsa.torch.aggregate(x, g, mean=mean)
                out.square().sum().backward()
                found.append((out.detach().cpu(), x.grad.cpu()))
            self.near(*found)

    def test_weights_are_the_softmax_of_each_row(self):
        g = graphs()[0]
        q, k, v = numbers(g)[:3]
        self.near(*((x.cpu() for x in gsa.torch.attend(q.to(d), k.to(d), v.to(d), g, weights=True))
                    for d in ("cuda", "cpu")))

    def test_phases_and_strides(self):
        g = gsa.topology("star").graph([40, 6])
        for phase in ("down", "up"):
            q, k, v, _, _ = numbers(g, phase=phase)
            self.near(*(results(d, g, (q, k, v, None, None), phase) for d in ("cuda", "cpu")))
            turned = [x.cuda().transpose(0, 1).contiguous().transpose(0, 1) for x in (q, k, v)]
            self.assertTrue(torch.equal(gsa.torch.attend(*turned, g, phase),
                                        gsa.torch.attend(q.cuda(), k.cuda(), v.cuda(), g, phase)))

    def test_a_call_does_not_wait_for_its_stream(self):
        g = graphs()[2]
        q, k, v = (x.cuda() for x in numbers(g)[:3])
        wanted = gsa.torch.attend(q, k, v, g)
        stream = torch.cuda.Stream()
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            late = torch.zeros_like(q)
            torch.cuda._sleep(LONG)
            late.copy_(q)  # is there once the kernel before has ended
            out = gsa.torch.attend(late, k, v, g)
            self.assertFalse(stream.query())
        torch.cuda.synchronize()
        self.assertTrue(torch.equal(out, wanted))

    def test_compiled_attend_has_the_same_bits(self):
        g = graphs()[1]
        inputs = numbers(g)
        whole = torch.compile(gsa.torch.attend, fullgraph=True)
        self.same(results("cuda", g, inputs, call=whole, dropout=.3, seed=4),
                  results("cuda", g, inputs, dropout=.3, seed=4))

    def test_a_compiled_graph_of_cuda_is_cut_around_the_call(self):
        g = graphs()[2]
        q, k, v = (x.cuda() for x in numbers(g)[:3])
        call = torch.compile(lambda q, k, v: gsa.torch.attend(q + 1, k, v, g) * 2,
                             mode="reduce-overhead")
        for _ in range(4):
            q = torch.randn_like(q)
            with torch.no_grad():
                torch.testing.assert_close(call(q, k, v), gsa.torch.attend(q + 1, k, v, g) * 2)

    def test_a_captured_stream_is_one_sentence(self):
        g = graphs()[0]
        q, k, v = (x.cuda() for x in numbers(g)[:3])
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            self.refused("cuda: the stream is being captured: the library's calls are no part of "
                         "the caller's graphs", gsa.torch.attend, q, k, v, g)
            q = q + 1  # the capture goes on
        gsa.torch.attend(q, k, v, g)

    def test_doubles_are_one_sentence(self):
        g = graphs()[0]
        q, k, v = (x.cuda().double() for x in numbers(g)[:3])
        with self.assertRaisesRegex(gsa.Unsupported, "only float"):
            gsa.torch.attend(q, k, v, g)

    def test_nan_stays_in_the_rows_that_read_it(self):
        g = graphs()[2]
        q, k, v = (x.cuda() for x in numbers(g)[:3])
        k[0] = float("nan")
        rows = gsa.torch.attend(q, k, v, g).isnan().any(-1).any(-1).cpu()
        row, source, _ = (torch.as_tensor(a).long() for a in g.phase().coo())
        wanted = torch.zeros(len(q), dtype=torch.bool)
        wanted[row[source == 0]] = True
        self.assertTrue(torch.equal(rows, wanted))

    def test_autocast_computes_halves_in_float32(self):
        g = graphs()[0]
        q, k, v = (x.cuda() for x in numbers(g)[:3])
        with torch.autocast("cuda", dtype=torch.bfloat16):
            out = gsa.torch.attend(q.bfloat16(), k.bfloat16(), v.bfloat16(), g)
        self.assertIs(out.dtype, torch.float32)

    def test_a_thousand_calls_do_not_grow_memory(self):
        g = graphs()[2]
        inputs = numbers(g)[:3] + [None, None]
        def calls(count):
            for _ in range(count):
                results("cuda", g, inputs)
            return used(), torch.cuda.memory_allocated()
        before = calls(50)
        self.assertEqual(calls(1000), before)

    def test_graphs_that_go_give_their_copies_back(self):
        def use(count):
            for _ in range(count):
                g = gsa.topology("window:width=33").graph([20000])
                gsa.torch.attend(*torch.randn(3, 20000, 1, 8, device="cuda"), g)
            return used()
        before = use(20)
        self.assertLess(use(60) - before, 32 << 20)

    def test_an_encoder_answers_as_on_the_cpu(self):
        torch.manual_seed(1)
        for spec in ("star", "bpt:k=2", "window:width=5*2"):
            e, x = gsa.torch.Encoder(spec, hidden=32, heads=4).eval(), torch.randn(12, 32)
            with torch.no_grad():
                wanted, found = e(x, [7, 5]), e.cuda()(x.cuda(), [7, 5])
            self.near((found.sequence.cpu(), found.summary.cpu()),
                      (wanted.sequence, wanted.summary))

    def test_tensors_on_two_devices_are_one_sentence(self):
        g = graphs()[0]
        q, k, v = numbers(g)[:3]
        self.refused("k is on cpu, and q on cuda:0; one was expected", gsa.torch.attend, q.cuda(),
                     k, v, g)
