#!/usr/bin/env python3
"""What gsa.torch.attend takes above the library's kernel, on one thread, in processor time.

    python3 tools/lab/python/overhead.py --build build [--rounds 7] [--kept-memory]

Microseconds, all phases of a pattern together, of three calls:
`forward`:  attend without gradients;
`recorded`: attend, forward, on tensors that require gradients;
`backward`: torch.autograd.grad of that; for small graphs what one more attend adds to it where ten
            are there (torch.autograd.grad's own start, 6 to 12 microseconds, is paid once a step).
Each of
`kernel`: `gsa bench kernel`.
`bare`:   the library's calls from Python, on buffers that stay; as in the bench, backward adds to
          gradients.
`torch`:  the library's calls into new tensors, in an autograd function that checks nothing: what
          PyTorch takes, and backward writes gradients.
`attend`: gsa.torch.attend.
All alike: the least of as many calls, in the bench's order (forward, backward, phase after phase),
with the same setting of glibc. Columns take turns in laps. A round is a process of its own, for
where its pages lie changes times by a tenth. Shown are medians over all laps; of what attend takes
above each other column the median of the laps' own, and of that above the kernel the quartiles. A
line that misses its bar (5 %; of small graphs 20 microseconds a call) ends with a star. The last
line is torch.addcmul of 8 tokens, recorded and backward, one more of ten: an operation of PyTorch's
own that has three gradients.
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
BARS = 5, 20  # per cent above the kernel; microseconds a call above it
WAYS = "forward", "recorded", "backward"
MANY = 11  # attends in one torch.autograd.grad
LAPS = 3  # of a round: each has a figure of each column, soon one after the other
TUNABLES = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=68719476736"
SCALE = .125  # of gsa bench kernel


class Case:
    """One phase's numbers, and the ways to the library."""

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
        copies = MANY if graph.lengths[0] < LARGE else 1
        self.leaves = [[x if x is None else (x.clone() if i else x).requires_grad_()
                        for x in self.tensors] for i in range(copies)]
        self.out, self.dout, self.lse = self.q.clone(), rand(*self.q.shape), rand(p.rows, heads)
        self.grads = [x if x is None else x.clone() for x in self.tensors]

    def run_forward(self, out, lse):
        self.run(A.forward, 0, out, lse, 0, *[None] * 5)

    def run_backward(self, out, lse, grads, add):
        self.run(A.backward, add, out, lse, self.dout.data_ptr(), *grads)

    def run(self, function, add, out, lse, dout, *grads):
        A.run(False, 1, self.graph, function,
              A.packed(self.p.index, self.heads, self.dim, SCALE, *map(at, self.tensors), 0., 0, 0,
                       0, add, 0, at(out), at(lse), 0, dout, *map(at, grads)))

    def forward(self, how):
        with torch.no_grad():
            if how == "bare":
                self.run_forward(self.out, self.lse)
            elif how == "torch":
                self.run_forward(torch.empty_like(self.out), torch.empty_like(self.lse))
            else:
                self.attend(*self.tensors)

    def recorded(self, how, i=0):
        """What backward takes."""
        if how == "bare":
            return self.run_forward(self.out, self.lse)
        if how == "addcmul":
            return torch.addcmul(*self.leaves[i][:3])
        return Torch.apply(self, *self.leaves[i]) if how == "torch" else \
            self.attend(*self.leaves[i])

    def backward(self, how, outs):
        if how == "bare":
            for _ in outs:
                self.run_backward(self.out, self.lse, self.grads, 1)
        else:
            wanted = [x for leaves in self.leaves[:len(outs)] for x in leaves if x is not None]
            torch.autograd.grad(outs, wanted, [self.dout] * len(outs))

    def attend(self, q, k, v, r, b):
        return gsa.torch.attend(q, k, v, self.graph, self.p.index, label_vectors=r, label_bias=b,
                                scale=SCALE)


class Torch(torch.autograd.Function):
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
        ctx.case.run_backward(out, ctx.lse, grads, 0)
        return None, *grads


def at(x):
    return 0 if x is None else x.data_ptr()


def kernel(build, spec, length, heads, dim, runs):
    words = ["bench", "kernel", "--topology", spec, "--length", length, "--batch", 1, "--heads",
             heads, "--head-dim", dim, "--threads", 1, "--clock", "cpu", "--device", "cpu",
             "--runs", runs, "--json", "-"]
    text = subprocess.run([os.path.join(build, "gsa"), *map(str, words)], check=True,
                          capture_output=True, text=True).stdout
    case = json.loads(text)["cases"][0]
    forward, backward = (1e3 * case[way]["low_ms"] for way in ("forward", "backward"))
    return forward, forward, backward


def clock(call, *arguments):
    """Microseconds, and what the call gives."""
    start = time.process_time_ns()
    found = call(*arguments)
    return (time.process_time_ns() - start) / 1e3, found


def forward_turn(cases, how, _):
    took = 0
    for c in cases:
        took += clock(c.forward, how)[0]
        c.run_backward(c.out, c.lse, c.grads, 1)
    return [took]


def gradient_turn(cases, how, count):
    """recorded, and `count` backwards together."""
    took = [0, 0]
    for c in cases:
        once, out = clock(c.recorded, how)
        outs = [out, *(c.recorded(how, i) for i in range(1, count))]
        took = [took[0] + once, took[1] + clock(c.backward, how, outs)[0]]
    return took


def least(turn, cases, how, calls, count=1):
    turn(cases, how, count)  # warms up, as the bench does
    return [min(column) for column in zip(*(turn(cases, how, count) for _ in range(calls)))]


def measure(build, spec, length, heads, dim, hows=("bare", "torch", "attend")):
    """Laps of what a call takes by WAYS, of the kernel and of each of `hows`; how many phases."""
    graph = gsa.topology(spec).graph([length], heads=heads)
    cases = [Case(graph, p.index, heads, dim) for p in graph._attends]
    calls = max(3, min(70, 700_000 // max(1, sum(c.p.edges for c in cases))))
    laps = [[kernel(build, spec, length, heads, dim, calls),
             *(lap(cases, how, calls, length < LARGE) for how in hows)] for _ in range(LAPS)]
    return laps, len(cases)


def lap(cases, how, calls, small):
    took = [0] if how == "addcmul" else least(forward_turn, cases, how, calls)
    took += least(gradient_turn, cases, how, calls)
    if small:
        many = least(gradient_turn, cases, how, calls, MANY)[1]
        took[2] = (many - took[2]) / (MANY - 1)
    return took


def one_round(build, only):
    """Prints what a round finds, as JSON."""
    torch.set_num_threads(1)
    found = [measure(build, *case) for case in CASES if case[0].startswith(only)]
    print(json.dumps([*found, measure(build, *SMALL, ("addcmul",))]))


def show(spec, length, way, laps, phases):
    """laps: [kernel, bare, torch, attend] of each."""
    large = length >= LARGE
    excess = [[100 * (one[3] / one[i] - 1) if large else (one[3] - one[i]) / phases for one in laps]
              for i in range(3)]
    above = [statistics.median(column) for column in excess]
    low, _, high = statistics.quantiles(excess[0], n=4)
    print(f"{spec:<16}{length:>5} {way:<8} " +
          " ".join(f"{statistics.median(column):>8.1f}" for column in zip(*laps)) +
          f"  {above[0]:>+6.1f} ({low:+.1f} .. {high:+.1f})".ljust(28) +
          f"{above[1]:>+6.1f} {above[2]:>+6.1f}{' %' if large else ' us'}" +
          ("" if above[0] < BARS[not large] else " *"), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="patterns that begin so")
    parser.add_argument("--kept-memory", action="store_true")
    parser.add_argument("--one", action="store_true", help="one round, as JSON")
    options = parser.parse_args()
    if options.one:
        one_round(options.build, options.only)
        return
    own = {**os.environ, **({"GLIBC_TUNABLES": TUNABLES} if options.kept_memory else {})}
    print(f"PyTorch {torch.__version__}, load {os.getloadavg()[0]:.1f}, memory "
          f"{'kept' if options.kept_memory else 'as glibc does'}; microseconds")
    words = [sys.executable, __file__, "--one", "--build", options.build, "--only", options.only]
    rounds = [json.loads(subprocess.run(words, check=True, env=own, capture_output=True,
                                        text=True).stdout) for _ in range(options.rounds)]
    heading = "".join(f"{word:>9}" for word in "kernel bare torch attend".split())
    print(f"{'pattern':<16}{'n':>5} {'':<8}{heading}   above kernel             bare  torch")
    cases = [case for case in CASES if case[0].startswith(options.only)]
    merged = [([lap for laps, _ in of_rounds for lap in laps], of_rounds[0][1])
              for of_rounds in zip(*rounds)]
    for (spec, length, *_), (laps, phases) in zip(cases, merged):
        for w, way in enumerate(WAYS):
            show(spec, length, way, [[column[w] for column in one] for one in laps], phases)
    recorded, backward = (statistics.median(one[1][w] for one in merged[-1][0]) for w in (1, 2))
    print(f"torch.addcmul: recorded {recorded:.1f}, backward {backward:.1f}")


if __name__ == "__main__":
    main()
