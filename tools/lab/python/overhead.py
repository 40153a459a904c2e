#!/usr/bin/env python3
"""What gsa.torch.attend takes above the library's kernel, on one thread, in processor time.

    python3 tools/lab/python/overhead.py --build build [--rounds 7] [--kept-memory]

Microseconds, all phases together, of a forward pass and of both ways:
`kernel`: `gsa bench kernel`, a process of its own in each round; medians.
`bare`:   the library's calls on buffers that stay, from Python.
`least`:  the same calls into new tensors, and for both ways an autograd function and
          torch.autograd.grad: what PyTorch takes where nothing is checked.
`attend`: gsa.torch.attend, and torch.autograd.grad; how much more than bare, and than least.
bare, least and attend take turns; in its turn each makes two calls, and the second one counts, for
it finds its own memory in the caches, as a call of gsa bench kernel does. The first decile is
shown, for a loaded machine makes most calls longer. The last line says what torch.neg, both ways,
takes of 8 tokens: PyTorch's smallest operation that has a gradient, and torch.autograd.grad.
--kept-memory: glibc keeps freed memory; else large outputs may be mapped anew each call.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import torch

import gsa.torch
from gsa import _attend as A

CASES = [(spec, length, 4, 64) for length in (1024, 2048)
         for spec in ("star", "window:width=33", "bpt:k=4", "full")]
CASES += [(spec, length, 2, 16) for length in (8, 32) for spec in ("star", "window:width=5", "full")]
TUNABLES = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=68719476736"
SCALE = .125  # of gsa bench kernel


class Case:
    """One phase's numbers, and the two ways to the library."""

    def __init__(self, graph, phase, heads, dim):
        p = graph._find(phase)
        self.graph, self.p, self.heads, self.dim = graph, p, heads, dim
        dice = torch.Generator().manual_seed(1)
        rand = lambda *shape: torch.rand(shape, generator=dice) - .5
        self.q, self.k, self.v = (rand(n, heads, dim) for n in (p.rows, p.sources, p.sources))
        use = p.schema.label_use
        self.r = rand(p.labels, dim) if use == "key_vectors" else None
        self.b = rand(p.labels, heads) if use == "head_bias" else None
        self.tensors = [self.q, self.k, self.v, self.r, self.b]
        self.leaves = [x if x is None else x.detach().requires_grad_() for x in self.tensors]
        self.out, self.dout, self.lse = self.q.clone(), rand(*self.q.shape), rand(p.rows, heads)
        self.grads = [x if x is None else x.clone() for x in self.tensors]

    def run_forward(self, out, lse):
        A.run(False, 1, self.graph, A.forward,
              A.packed(self.p.index, self.heads, self.dim, SCALE, 0., *map(at, self.tensors), 0,
                       at(out), at(lse), 0))

    def run_backward(self, out, lse, grads):
        A.run(False, 1, self.graph, A.backward,
              A.packed(self.p.index, self.heads, self.dim, SCALE, 0., *map(at, self.tensors), 0,
                       at(out), at(lse), 0, at(self.dout), *map(at, grads)))

    def bare_forward(self):
        self.run_forward(self.out, self.lse)

    def bare_both(self):
        self.run_forward(self.out, self.lse)
        self.run_backward(self.out, self.lse, self.grads)

    def least_forward(self):
        with torch.no_grad():
            self.run_forward(torch.empty_like(self.out), torch.empty_like(self.lse))

    def least_both(self):
        wanted = [x for x in self.leaves if x is not None]
        torch.autograd.grad(Least.apply(self, *self.leaves), wanted, self.dout)

    def attend(self, q, k, v, r, b):
        return gsa.torch.attend(q, k, v, self.graph, self.p.index, label_vectors=r, label_bias=b,
                                scale=SCALE)

    def attend_forward(self):
        with torch.no_grad():
            self.attend(*self.tensors)

    def attend_both(self):
        wanted = [x for x in self.leaves if x is not None]
        torch.autograd.grad(self.attend(*self.leaves), wanted, self.dout)


class Least(torch.autograd.Function):
    @staticmethod
    def forward(ctx, case, q, k, v, r, b):
        out, ctx.lse = torch.empty_like(q), torch.empty_like(case.lse)
        case.run_forward(out, ctx.lse)
        ctx.save_for_backward(q, k, v, r, b, out)
        ctx.case = case
        return out

    @staticmethod
    def backward(ctx, dout):
        *inputs, out = ctx.saved_tensors
        grads = [None if x is None else torch.empty_like(x) for x in inputs]
        ctx.case.run_backward(out, ctx.lse, grads)
        return None, *grads


def at(x):
    return 0 if x is None else x.data_ptr()


def clock(call):
    call()
    start = time.process_time_ns()
    call()
    return (time.process_time_ns() - start) / 1e3


def kernel(build, spec, length, heads, dim, runs):
    words = ["bench", "kernel", "--topology", spec, "--length", length, "--batch", 1, "--heads",
             heads, "--head-dim", dim, "--threads", 1, "--clock", "cpu", "--device", "cpu",
             "--runs", runs, "--json", "-"]
    own = {k: v for k, v in os.environ.items() if k != "GLIBC_TUNABLES"}
    text = subprocess.run([os.path.join(build, "gsa"), *map(str, words)], check=True, env=own,
                          capture_output=True, text=True).stdout
    case = json.loads(text[text.index("\n{") + 1:])["cases"][0]
    return [1e3 * case["forward"]["median_ms"],
            1e3 * (case["forward"]["median_ms"] + case["backward"]["median_ms"])]


def measure(build, spec, length, heads, dim, rounds):
    graph = gsa.topology(spec).graph([length], heads=heads)
    cases = [Case(graph, p.index, heads, dim) for p in graph._attends]
    columns = {f"{name}_{way}": [] for way in ("forward", "both")
               for name in ("bare", "least", "attend")}
    kernels = []
    calls = max(3, min(200, 2_000_000 // max(1, sum(c.p.edges for c in cases))))
    for c in cases:
        for name in columns:
            for _ in range(3):
                getattr(c, name)()
    for _ in range(rounds):
        kernels.append(kernel(build, spec, length, heads, dim, calls))
        for _ in range(calls):
            for name, column in columns.items():
                column.append(sum(clock(getattr(c, name)) for c in cases))
    found = [decile(column) for column in columns.values()]
    return [statistics.median(k[i] for k in kernels) for i in range(2)], found, len(cases)


def decile(column):
    return statistics.quantiles(column, n=10)[0]


def smallest():
    x = torch.zeros(8, 2, 16, requires_grad=True)
    return decile([clock(lambda: torch.autograd.grad(torch.neg(x), x, x)) for _ in range(1000)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="patterns that begin so")
    parser.add_argument("--kept-memory", action="store_true")
    options = parser.parse_args()
    if options.kept_memory and "GLIBC_TUNABLES" not in os.environ:
        os.environ["GLIBC_TUNABLES"] = TUNABLES
        os.execv(sys.executable, [sys.executable, *sys.argv])
    torch.set_num_threads(1)
    print(f"PyTorch {torch.__version__}, load {os.getloadavg()[0]:.1f}, memory "
          f"{'kept' if options.kept_memory else 'as glibc does'}; microseconds")
    names = "kernel bare least attend above least".split()
    print(f"{'pattern':<16}{'n':>5}" + (" {:>8} {:>7} {:>7} {:>7} {:>8} {:>8}".format(*names)) * 2)
    for spec, length, heads, dim in CASES:
        if not spec.startswith(options.only):
            continue
        kernels, found, phases = measure(options.build, spec, length, heads, dim, options.rounds)
        line = f"{spec:<16}{length:>5}"
        for kernel_took, (bare, least, attend) in zip(kernels, (found[:3], found[3:])):
            line += f" {kernel_took:>8.1f} {bare:>7.1f} {least:>7.1f} {attend:>7.1f}"
            for quick in (bare, least):
                more = f"{100 * (attend / quick - 1):+.1f} %" if length >= 1024 else \
                    f"{(attend - quick) / phases:+.1f} us"
                line += f" {more:>8}"
        print(line, flush=True)
    print(f"torch.neg, both ways: {smallest():.1f}")


if __name__ == "__main__":
    main()
