#!/usr/bin/env python3
"""What gsa.torch.attend takes above the library's kernel, on one thread, in processor time.

    python3 tools/lab/python/overhead.py --build build [--rounds 7] [--kept-memory]

Microseconds, all phases of a pattern together, of three calls:
`forward`:  attend without gradients;
`recorded`: attend, forward, on tensors that require gradients;
`backward`: torch.autograd.grad of that; for small graphs what one more attend adds to it where ten
            are there (torch.autograd.grad's own start, 6 to 12 microseconds, is paid once a step).
Each of
`kernel`: `gsa bench kernel`, a process of its own in each round; medians.
`bare`:   the library's calls on buffers that stay, from Python.
`least`:  the same calls into new tensors, in an autograd function: what PyTorch takes where nothing
          is checked.
`attend`: gsa.torch.attend; how much more than bare, and than least.
bare, least and attend take turns of many calls each, as gsa bench kernel makes them: a call finds
its own memory in the caches. The first decile is shown, for a loaded machine makes most calls
longer. The last line is torch.addcmul of 8 tokens,
recorded and backward, one more of ten: an operation of PyTorch's own that has three gradients.
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
SMALL = "window:width=5", 8, 2, 16
CASES += [(spec, length, *SMALL[2:]) for length in (8, 32) for spec in ("star", SMALL[0], "full")]
LARGE = 1024  # tokens from which a share is told
WAYS = "forward", "recorded", "backward"
MANY = 11  # attends in one torch.autograd.grad
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
        self.leaves = [[x if x is None else x.clone().requires_grad_() for x in self.tensors]
                       for _ in range(MANY)]
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

    def forward(self, how):
        with torch.no_grad():
            if how == "bare":
                self.run_forward(self.out, self.lse)
            elif how == "least":
                self.run_forward(torch.empty_like(self.out), torch.empty_like(self.lse))
            else:
                self.attend(*self.tensors)

    def recorded(self, how, i=0):
        """What backward takes."""
        if how == "bare":
            return self.run_forward(self.out, self.lse)
        if how == "addcmul":
            return torch.addcmul(*self.leaves[i][:3])
        return Least.apply(self, *self.leaves[i]) if how == "least" else \
            self.attend(*self.leaves[i])

    def backward(self, how, outs):
        if how == "bare":
            for _ in outs:
                self.run_backward(self.out, self.lse, self.grads)
        else:
            wanted = [x for leaves in self.leaves[:len(outs)] for x in leaves if x is not None]
            torch.autograd.grad(outs, wanted, [self.dout] * len(outs))

    def clock(self, how, way, count=1):
        outs = [self.recorded(how, i) for i in range(count)] if way == "backward" else ()
        start = time.process_time_ns()
        getattr(self, way)(how, *([outs] if outs else []))
        return (time.process_time_ns() - start) / 1e3

    def attend(self, q, k, v, r, b):
        return gsa.torch.attend(q, k, v, self.graph, self.p.index, label_vectors=r, label_bias=b,
                                scale=SCALE)


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


def kernel(build, spec, length, heads, dim, runs):
    words = ["bench", "kernel", "--topology", spec, "--length", length, "--batch", 1, "--heads",
             heads, "--head-dim", dim, "--threads", 1, "--clock", "cpu", "--device", "cpu",
             "--runs", runs, "--json", "-"]
    own = {k: v for k, v in os.environ.items() if k != "GLIBC_TUNABLES"}
    text = subprocess.run([os.path.join(build, "gsa"), *map(str, words)], check=True, env=own,
                          capture_output=True, text=True).stdout
    case = json.loads(text[text.index("\n{") + 1:])["cases"][0]
    forward, backward = (1e3 * case[way]["median_ms"] for way in ("forward", "backward"))
    return {"forward": forward, "recorded": forward, "backward": backward}


def measure(build, spec, length, heads, dim, rounds, hows=("bare", "least", "attend")):
    """Of each way: the kernel, and what each of `hows` takes."""
    graph = gsa.topology(spec).graph([length], heads=heads)
    cases = [Case(graph, p.index, heads, dim) for p in graph._attends]
    more = [("backward", MANY)] if length < LARGE else []
    columns = {(how, way, count): [] for way, count in [*((w, 1) for w in WAYS), *more]
               for how in hows if (how, way) != ("addcmul", "forward")}
    kernels = []
    calls = max(3, min(200, 2_000_000 // max(1, sum(c.p.edges for c in cases))))
    for _ in range(rounds):
        kernels.append(kernel(build, spec, length, heads, dim, calls))
        for key, column in columns.items():
            column += [sum(c.clock(*key) for c in cases) for _ in range(calls)]
    found = {key: statistics.quantiles(column, n=10)[0] for key, column in columns.items()}
    for how in hows if more else ():
        many, one = found[how, "backward", MANY], found[how, "backward", 1]
        found[how, "backward", 1] = (many - one) / (MANY - 1)
    return {way: [statistics.median(k[way] for k in kernels),
                  *(found.get((how, way, 1), 0) for how in hows)] for way in WAYS}, len(cases)


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
    heading = "kernel bare least attend above least".split()
    print(f"{'pattern':<16}{'n':>5} {'':<8} " + " ".join(f"{word:>8}" for word in heading))
    for spec, length, heads, dim in CASES:
        if not spec.startswith(options.only):
            continue
        found, phases = measure(options.build, spec, length, heads, dim, options.rounds)
        for way, (kernel_took, bare, least, attend) in found.items():
            above = [f"{100 * (attend / quick - 1):+.1f} %" if length >= LARGE else
                     f"{(attend - quick) / phases:+.1f} us" for quick in (bare, least)]
            print(f"{spec:<16}{length:>5} {way:<8} " +
                  " ".join(f"{x:>8.1f}" for x in (kernel_took, bare, least, attend)) +
                  " ".join(f"{word:>9}" for word in above), flush=True)
    found, _ = measure(options.build, *SMALL, options.rounds, ("addcmul",))
    print(f"torch.addcmul: recorded {found['recorded'][1]:.1f}, backward {found['backward'][1]:.1f}")


if __name__ == "__main__":
    main()
