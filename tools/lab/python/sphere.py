#!/usr/bin/env python3
"""Attention over neighbours on the sphere, trained on the CPU: gsa against PyTorch, in one run.

    python3 tools/lab/python/sphere.py [--nside 16 32] [--rounds 5] [--steps 100] [--threads 1]

The graph: a HEALPix grid (Gorski et al. 2005) of 12 nside^2 pixels; each reads itself and the 7 or
8 that touch it (pytorch issue 139507). A step is forward, backward and Adam of one layer that
learns to blur a random field. Three ways to the same numbers, in turn, each a compiled layer: `gsa`
is gsa.torch.attend, `scatter` an edge softmax by index_add, `SDPA` scaled_dot_product_attention
with a dense mask. Milliseconds a step, medians: of processor time on one thread, which a loaded
machine changes little, else of wall time. Needs healpy.
"""
import argparse
import os
import statistics
import time

import healpy
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import gsa.torch

HEADS, DIM = 4, 16


def neighbours(nside):
    """[2, edges] of sources and destinations, each pixel's own among them."""
    own = np.arange(12 * nside**2)
    source = np.concatenate([own[None], healpy.get_all_neighbours(nside, own)])
    destination = np.broadcast_to(own, source.shape)
    return np.stack([source[source >= 0], destination[source >= 0]])


class Layer(nn.Module):
    def __init__(self, way):
        super().__init__()
        torch.manual_seed(1)
        self.way, width = way, HEADS * DIM
        self.enter, self.leave = nn.Linear(1, width), nn.Linear(width, 1)
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        q, k, v = self.qkv(self.enter(x)).view(len(x), 3, HEADS, DIM).unbind(1)
        return self.leave(self.way(q, k, v).flatten(1))


def ways(edges, rows):
    graph = gsa.graph(edges, rows=rows)
    source, destination = (torch.as_tensor(e) for e in edges)
    mask = torch.zeros(rows, rows, dtype=torch.bool)
    mask[destination, source] = True

    def scatter(q, k, v):
        score = (q[destination] * k[source]).sum(-1) / DIM**.5
        most = score.detach().new_full((rows, HEADS), float("-inf"))
        most = most.scatter_reduce(0, destination[:, None].expand_as(score), score.detach(), "amax")
        weight = (score - most[destination]).exp()
        total = weight.new_zeros(rows, HEADS).index_add(0, destination, weight)
        out = v.new_zeros(rows, HEADS, DIM).index_add(0, destination, weight[..., None] * v[source])
        return out / total[..., None]

    def dense(q, k, v):
        q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)[0].transpose(0, 1)

    return {"gsa": lambda q, k, v: gsa.torch.attend(q, k, v, graph), "scatter": scatter,
            "SDPA": dense}


class Run:
    """One way's layer with its optimiser; takes steps."""

    def __init__(self, name, way, x, wanted):
        self.layer = Layer(way)
        self.step_of = torch.compile(self.layer)
        self.adam = torch.optim.Adam(self.layer.parameters(), 1e-2)
        self.x, self.wanted, self.losses, self.times = x, wanted, [], []

    def step(self):
        clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
        start = clock()
        loss = F.mse_loss(self.step_of(self.x), self.wanted)
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        self.times.append(1e3 * (clock() - start))
        self.losses.append(loss.item())


def measure(nside, rounds, steps):
    edges, rows = neighbours(nside), 12 * nside**2
    x = torch.randn(rows, 1, generator=torch.Generator().manual_seed(1))
    source, destination = (torch.as_tensor(e) for e in edges)
    degree = torch.bincount(destination)[:, None]
    wanted = torch.zeros(rows, 1).index_add(0, destination, x[source]) / degree
    runs = {name: Run(name, way, x, wanted) for name, way in ways(edges, rows).items()}
    for _ in range(2 + rounds):  # two to warm up, in turn
        for run in runs.values():
            run.step()
    one = runs["gsa"]
    for name, run in runs.items():
        torch.testing.assert_close(run.losses[0], one.losses[0], rtol=1e-4, atol=1e-6)
        run.median = statistics.median(run.times[2:2 + rounds])
    while len(one.losses) < steps:
        one.step()
    print(f"nside {nside}: {rows} pixels, {edges.shape[1]} edges; ms a step: "
          + ", ".join(f"{name} {run.median:.1f}" for name, run in runs.items())
          + "; times gsa: " + ", ".join(f"{name} {run.median / one.median:.1f}"
                                        for name, run in runs.items() if name != "gsa")
          + f"; gsa's loss {one.losses[0]:.3f} -> {one.losses[-1]:.4f} in {steps} steps",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nside", type=int, nargs="+", default=[16, 32])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"PyTorch {torch.__version__}, {options.threads} thread(s), load "
          f"{os.getloadavg()[0]:.1f}")
    for nside in options.nside:
        measure(nside, options.rounds, options.steps)


if __name__ == "__main__":
    main()
