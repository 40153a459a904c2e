#!/usr/bin/env python3
"""What PyTorch takes on the CPU for the work that gsa does, both in one run, in turn, with the same number of threads.

    python3 tools/peers/torch_peers.py kernels --build build [--threads 1]     attention over a pattern's edges, forward and backward:
        SDPA (with a mask; for `full` without), gathered edges with a scatter softmax, sparse CSR, compiled FlexAttention (on the CPU it has
        no backward pass: forward alone; wants a C++ compiler); against `gsa bench kernel`
    python3 tools/peers/torch_peers.py step --build build [--threads 1]        a training step: Masked Summation by a Star-Transformer and by
        a dense Transformer, SST-5 by a Star-Transformer (torch_steps.py); against `gsa bench train --steps`

One JSON object a line; --json FILE: the first, with the others as its "cases". Ratios are of medians of the wall's clock and of the processor's time, all
threads together; gsa's is taken with one thread only. A peer that cannot do it is a line that says why. Without PyTorch: a sentence, and
status 77.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
import warnings

CASES = [("star", 2048), ("window:width=11", 2048), ("bpt:k=4", 2048), ("full", 2048)]
HEADS, DIM = 8, 64
FACTS = []


def say(**facts):
    FACTS.append(facts)
    print(json.dumps(facts), flush=True)


def median_ms(call, options):
    """Of the wall's clock and of the process's, all threads together; no more rounds than fit --limit, but three."""
    call()
    times, begun = [], time.perf_counter()
    while len(times) < options.rounds and (len(times) < 3 or time.perf_counter() - begun < options.limit):
        start = time.perf_counter(), time.process_time()
        call()
        times.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    return [1e3 * statistics.median(column) for column in zip(*times)]


def bench(options, clock, *words):
    """A benchmark's JSON."""
    command = [os.path.join(options.build, "gsa"), *words, "--device", "cpu", "--threads", str(options.threads), "--clock", clock,
               "--json", "-"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(text[text.index("\n{") + 1:])


def gsa(options, clock, *words):
    """Of a benchmark's JSON the first case."""
    return bench(options, clock, *words)["cases"][0]


def clocks(options):
    return ["wall", "cpu"] if options.threads == 1 else ["wall"]


# ---- kernels: edges are the pattern's, of all phases together; nodes that no edge leads to have no query, others no key ------------------


class Graph:
    def __init__(self, torch, options, pattern, length):
        command = [os.path.join(options.build, "gsa"), "graph", "--topology", pattern, "--length", str(length), "--format", "mtx"]
        lines = subprocess.run(command + ["--out", "-"], check=True, capture_output=True, text=True).stdout.splitlines()
        text = " ".join(line for line in lines if line[0] != "%")
        table = torch.tensor([int(word) for word in text.split()]).view(-1, 3)[1:]
        rows, sources = (table[:, i].repeat_interleave(table[:, 2]) for i in (0, 1))  # repeated edges stay repeated
        order = torch.argsort(rows, stable=True)
        nodes, self.rows = torch.unique(rows[order], return_inverse=True)
        keys, self.sources = torch.unique(sources[order], return_inverse=True)
        self.queries, self.keys, self.edges = len(nodes), len(keys), len(rows)


def with_mask(torch, g):
    heads = lambda x: x.transpose(0, 1)[None]  # [1, heads, nodes, dim]
    mask = None
    if g.edges < g.queries * g.keys:  # what is added to scores: faster here than a mask of bool, which is turned into it at each call
        mask = torch.full((g.queries, g.keys), -math.inf)
        mask[g.rows, g.sources] = 0

    def forward(q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(heads(q), heads(k), heads(v), attn_mask=mask)[0].transpose(0, 1)
    return forward


def with_scatter(torch, g):
    def forward(q, k, v):
        s = (q[g.rows] * k[g.sources]).sum(-1) / math.sqrt(DIM)  # [edges, heads]
        at = g.rows[:, None].expand_as(s)
        top = torch.full((g.queries, HEADS), -math.inf).scatter_reduce(0, at, s.detach(), "amax")
        p = torch.exp(s - top[g.rows])
        p = p / torch.zeros(g.queries, HEADS).index_add(0, g.rows, p)[g.rows]
        return torch.zeros_like(q).index_add(0, g.rows, p[..., None] * v[g.sources])
    return forward


def with_csr(torch, g):
    start = torch.cat([torch.zeros(1, dtype=torch.long), torch.bincount(g.rows, minlength=g.queries).cumsum(0)])
    turned = torch.argsort(g.sources, stable=True)
    turned_start = torch.cat([torch.zeros(1, dtype=torch.long), torch.bincount(g.sources, minlength=g.keys).cumsum(0)])

    def matrix(values):
        return torch.sparse_csr_tensor(start, g.sources, values, (g.queries, g.keys))

    def transposed(values):
        return torch.sparse_csr_tensor(turned_start, g.rows[turned], values[turned], (g.keys, g.queries))

    def sampled(a, b):
        return torch.sparse.sampled_addmm(matrix(torch.zeros(g.edges)), a, b.t(), beta=0.0).values()

    def sums(values):
        return torch.zeros(g.queries).index_add(0, g.rows, values)

    class Head(torch.autograd.Function):
        @staticmethod
        def forward(context, q, k, v):
            s = sampled(q, k) / math.sqrt(DIM)
            p = torch.exp(s - torch.full((g.queries,), -math.inf).scatter_reduce(0, g.rows, s, "amax")[g.rows])
            p = p / sums(p)[g.rows]
            context.save_for_backward(q, k, v, p)
            return matrix(p) @ v

        @staticmethod
        def backward(context, grad):
            q, k, v, p = context.saved_tensors
            grad = grad.contiguous()
            slope = sampled(grad, v)
            ds = p * (slope - sums(p * slope)[g.rows]) / math.sqrt(DIM)
            return matrix(ds) @ k, transposed(ds) @ q, transposed(p) @ grad

    def forward(q, k, v):
        heads = [Head.apply(*(x[:, h].contiguous() for x in (q, k, v))) for h in range(HEADS)]
        return torch.stack(heads, 1)
    return forward


def with_flex(torch, g):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    heads = lambda x: x.transpose(0, 1)[None]
    mask = torch.zeros(g.queries, g.keys, dtype=torch.bool)
    mask[g.rows, g.sources] = True
    blocks = None if bool(mask.all()) else create_block_mask(lambda _, __, q, k: mask[q, k], None, None, g.queries, g.keys, device="cpu")
    compiled = torch.compile(flex_attention, dynamic=False)

    def forward(q, k, v):
        return compiled(heads(q), heads(k), heads(v), block_mask=blocks)[0].transpose(0, 1)
    return forward


# Name, what it does, about how many numbers it holds at once.
FORWARD_ALONE = ["FlexAttention"]
PEERS = [("SDPA", with_mask, lambda g: 6 * HEADS * g.queries * g.keys), ("scatter softmax", with_scatter, lambda g: 6 * HEADS * DIM * g.edges),
         ("sparse CSR", with_csr, lambda g: 12 * HEADS * g.edges), ("FlexAttention", with_flex, lambda g: 4 * HEADS * DIM * g.keys + g.queries * g.keys)]


def time_peer(torch, options, name, make, g, qkv):
    forward, still = make(torch, g), [x.detach() for x in qkv]
    with torch.no_grad():
        ahead = median_ms(lambda: forward(*still), options)
        if name in FORWARD_ALONE:
            return forward(*still), dict(forward_ms=ahead[0], forward_processor_ms=ahead[1])
    out = forward(*qkv)
    grad = torch.ones_like(out)
    both = median_ms(lambda: torch.autograd.grad(forward(*qkv), qkv, grad), options)
    return out.detach(), dict(forward_ms=ahead[0], both_ms=both[0], forward_processor_ms=ahead[1], both_processor_ms=both[1])


def time_gsa(options, pattern, length):
    """Name of a time: milliseconds."""
    words = ["bench", "kernel", "--topology", pattern, "--length", str(length), "--batch", "1", "--heads", str(HEADS), "--head-dim",
             str(DIM), "--runs", str(options.rounds)]
    found = {}
    for clock in clocks(options):
        case, name = gsa(options, clock, *words), "" if clock == "wall" else "processor_"
        found[f"forward_{name}ms"] = case["forward"]["median_ms"]
        found[f"both_{name}ms"] = case["forward"]["median_ms"] + case["backward"]["median_ms"]
    return found


def kernels(torch, options):
    for pattern, length in [case for case in CASES if not options.topology or case[0] in options.topology]:
        g = Graph(torch, options, pattern, length)
        facts = dict(spec=pattern, length=length, edges=g.edges, threads=options.threads, rounds=options.rounds)
        qkv = [torch.randn(rows, HEADS, DIM, requires_grad=True) for rows in (g.queries, g.keys, g.keys)]
        ours, found, first = [time_gsa(options, pattern, length)], [], None
        for name, make, numbers in PEERS:
            if 4 * numbers(g) > options.memory * 2 ** 30:
                found.append(dict(peer=name, failed=f"about {4 * numbers(g) / 2 ** 30:.0f} GiB are needed, {options.memory:g} are allowed"))
                continue
            try:
                out, times = time_peer(torch, options, name, make, g, qkv)
            except Exception as error:  # a peer that cannot is a result, not the end
                found.append(dict(peer=name, failed=f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"))
                continue
            ours.append(time_gsa(options, pattern, length))
            first = out if first is None else first
            found.append(dict(peer=name, apart=(out - first).abs().max().item(), **times))
        own = {name: statistics.median(one[name] for one in ours) for name in ours[0]}
        say(**facts, peer="gsa", **own)
        for one in found:
            ratios = {name.replace("_ms", "_ratio"): one[name] / own[name] for name in own if name in one}
            say(**facts, **one, **ratios)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["kernels", "step"])
    parser.add_argument("--build", required=True, help="folder of the program gsa")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=20, help="step: steps of a round")
    parser.add_argument("--limit", type=float, default=30, help="kernels: seconds that the rounds of one figure may take, beyond three of them")
    parser.add_argument("--memory", type=float, default=6, help="kernels: GiB that a peer may take")
    parser.add_argument("--topology", action="append", help="kernels: of the patterns this one alone; repeatable")
    parser.add_argument("--json", help="file for the figures")
    options = parser.parse_args()
    try:
        import torch
    except ImportError as missing:
        print(f"torch_peers.py: nothing to set gsa against: {missing}", file=sys.stderr)
        sys.exit(77)
    warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    build = bench(options, "wall", "bench", "graph", "--topology", "ring", "--length", "1", "--runs", "1")["build"]
    say(peer="PyTorch", version=torch.__version__, build=build, threads=torch.get_num_threads(), load=os.getloadavg()[0])
    if options.what == "kernels":
        kernels(torch, options)
    else:
        from torch_steps import steps
        steps(torch, options, lambda clock, *words: gsa(options, clock, *words), clocks(options), say)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            head, *cases = FACTS
            lines = ",\n".join(json.dumps(facts) for facts in cases)
            out.write(json.dumps(head)[:-1] + ', "cases": [\n' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
