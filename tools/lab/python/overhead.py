#!/usr/bin/env python3
"""What gsa.torch.attend takes above the library's kernel, on one thread, in processor time.

    python3 tools/lab/python/overhead.py --build build [--rounds 7] [--kept-memory]

`kernel`: `gsa bench kernel`, a process of its own in each round. `bare`: the library's calls on
buffers that stay, from Python, in turn with `attend` call by call. `attend`: gsa.torch.attend and
its backward pass, by autograd. Microseconds, medians over all rounds and calls, all phases
together. `empty`: an autograd function of the same tensors, outputs and saved values that computes
nothing, called in turn with the others, so from the same cold caches: what PyTorch itself takes.
`fresh`: the bare calls into tensors made for each call, as autograd's are: colder memory.
--kept-memory: glibc keeps freed memory; else large outputs may be mapped anew each call.
"""
import argparse
import os
import statistics
import subprocess
import sys
import time

import json

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
        self.leaves = [x if x is None else x.clone().requires_grad_() for x in self.tensors]
        self.out, self.dout, self.lse = self.q.clone(), rand(*self.q.shape), rand(p.rows, heads)
        self.grads = [x if x is None else x.clone() for x in self.tensors]

    def bare_forward(self):
        A.attend_forward(False, 1, self.graph, self.p.index, self.heads, self.dim, SCALE, 0.,
                         *map(at, self.tensors), 0, at(self.out), at(self.lse), 0)

    def bare_both(self):
        self.bare_forward()
        A.attend_backward(False, 1, self.graph, self.p.index, self.heads, self.dim, SCALE, 0.,
                          *map(at, self.tensors), 0, at(self.out), at(self.lse), at(self.dout),
                          *map(at, self.grads))

    def fresh(self):
        self.out, self.lse = torch.empty_like(self.q), torch.empty_like(self.lse)
        self.grads = [x if x is None else torch.empty_like(x) for x in self.tensors]
        self.bare_both()

    def attend(self, q, k, v, r, b):
        return gsa.torch.attend(q, k, v, self.graph, self.p.index, label_vectors=r, label_bias=b,
                                scale=SCALE)

    def forward(self):
        with torch.no_grad():
            self.attend(*self.tensors)

    def both(self):
        wanted = [x for x in self.leaves if x is not None]
        torch.autograd.grad(self.attend(*self.leaves), wanted, self.dout)

    def empty(self):
        wanted = [x for x in self.leaves if x is not None]
        torch.autograd.grad(Empty.apply(*self.leaves, self.lse), wanted, self.dout)


class Empty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, r, b, like):
        out, lse = torch.empty_like(q), torch.empty_like(like)
        ctx.save_for_backward(q, k, v, r, b, out, lse)
        return out

    @staticmethod
    def backward(ctx, dout):
        return *(None if x is None else torch.empty_like(x) for x in ctx.saved_tensors[:5]), None


def at(x):
    return 0 if x is None else x.data_ptr()


def clock(call):
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
    columns = {name: [] for name in
               ("bare_forward", "forward", "bare_both", "both", "empty", "fresh")}
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
    found = [statistics.median(column) for column in columns.values()]
    return [statistics.median(k[i] for k in kernels) for i in range(2)], found, len(cases)


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
          f"{'kept' if options.kept_memory else 'as glibc does'}; microseconds, (attend above bare)")
    print(f"{'pattern':<18}{'n':>5}  {'kernel fwd':>10} {'bare':>9} {'attend':>9}           "
          f"  {'kernel both':>11} {'bare':>9} {'attend':>9}             "
          f"{'empty':>7} {'fresh':>9}  (above fresh and empty)")
    for spec, length, heads, dim in CASES:
        if not spec.startswith(options.only):
            continue
        kernels, (f0, f1, b0, b1, e, m), phases = measure(options.build, spec, length, heads, dim,
                                                          options.rounds)
        def above(slow, quick):
            return f"{100 * (slow / quick - 1):+.1f} %" if length >= 1024 else \
                f"{(slow - quick) / phases:+.1f} us"
        print(f"{spec:<18}{length:>5}  {kernels[0]:>10.1f} {f0:>9.1f} {f1:>9.1f} {above(f1, f0):>9}"
              f"   {kernels[1]:>11.1f} {b0:>9.1f} {b1:>9.1f} {above(b1, b0):>9}"
              f"   {e:>7.1f} {m:>9.1f} {above(b1, m + e):>9}", flush=True)


if __name__ == "__main__":
    main()
