#!/usr/bin/env python3
"""What PyTorch takes on the CPU for the work that gsa does, both in one run, with the same number of threads.

    python3 tools/peers/torch_peers.py kernels --build build [--threads 1]     attention over a pattern's edges, forward and backward:
        SDPA with a mask, gathered edges with a scatter softmax, sparse CSR; against `gsa bench kernel`, once before them and once after
    python3 tools/peers/torch_peers.py step --build build [--threads 1]        a training step of Masked Summation (n = 200, batches of 32,
        hidden 100, 10 heads) by a Star-Transformer and by a dense Transformer; against `gsa bench train --profile`

One JSON object a line; a peer that cannot do it is a line that says why. Without PyTorch: a sentence, and status 77.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import time
import warnings

CASES = [("star", 2048), ("window:width=11", 2048), ("bpt:k=4", 2048), ("full", 512)]
HEADS, DIM = 8, 64
RECIPE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../train/recipes/masked-summation.ini")


def say(**facts):
    print(json.dumps(facts), flush=True)


def best_ms(call, rounds):
    """The wall's clock and the process's, all threads together, each the least of the rounds: what other processes disturb least."""
    call()
    times = []
    for _ in range(rounds):
        start = time.perf_counter(), time.process_time()
        call()
        times.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    return [1e3 * min(column) for column in zip(*times)]


def gsa(options, *words):
    """The cases of a benchmark's JSON."""
    command = [os.path.join(options.build, "gsa"), *words, "--device", "cpu", "--threads", str(options.threads), "--json", "-"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(text[text.index("\n{") + 1:])["cases"]


# ---- kernels: every node of the layer has q, k and v; edges are the pattern's, of all phases together ------------------------------------


def edges_of(torch, options, pattern, length):
    """Destinations and sources, in the order of destinations, and the number of nodes. Repeated edges stay repeated."""
    command = [os.path.join(options.build, "gsa"), "graph", "--topology", pattern, "--length", str(length), "--format", "mtx", "--out", "-"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    numbers = [[int(word) for word in line.split()] for line in lines if line[0] != "%"]
    table = torch.tensor(numbers[1:])
    rows, sources = (table[:, i].repeat_interleave(table[:, 2]) - 1 for i in (0, 1))
    order = torch.argsort(rows, stable=True)
    return rows[order], sources[order], numbers[0][0]


def with_mask(torch, rows, sources, nodes):
    mask = torch.zeros(nodes, nodes, dtype=torch.bool)
    mask[rows, sources] = True
    mask[mask.sum(1) == 0, 0] = True  # a row without edges would be NaN; its output is not looked at

    def forward(q, k, v):
        heads = [x.transpose(0, 1)[None] for x in (q, k, v)]  # [1, heads, nodes, dim]
        return torch.nn.functional.scaled_dot_product_attention(*heads, attn_mask=mask)[0].transpose(0, 1)
    return forward


def with_scatter(torch, rows, sources, nodes):
    def forward(q, k, v):
        s = (q[rows] * k[sources]).sum(-1) / math.sqrt(DIM)  # [edges, heads]
        at = rows[:, None].expand_as(s)
        top = torch.full((nodes, HEADS), -math.inf).scatter_reduce(0, at, s.detach(), "amax")
        p = torch.exp(s - top[rows])
        p = p / torch.zeros(nodes, HEADS).index_add(0, rows, p)[rows]
        return torch.zeros_like(q).index_add(0, rows, p[..., None] * v[sources])
    return forward


def with_csr(torch, rows, sources, nodes):
    count = torch.bincount(rows, minlength=nodes)
    start = torch.cat([torch.zeros(1, dtype=torch.long), count.cumsum(0)])
    turned = torch.argsort(sources, stable=True)
    turned_start = torch.cat([torch.zeros(1, dtype=torch.long), torch.bincount(sources, minlength=nodes).cumsum(0)])

    def matrix(values):
        return torch.sparse_csr_tensor(start, sources, values, (nodes, nodes))

    def transposed(values):
        return torch.sparse_csr_tensor(turned_start, rows[turned], values[turned], (nodes, nodes))

    def sampled(a, b):
        return torch.sparse.sampled_addmm(matrix(torch.zeros(len(rows))), a, b.t(), beta=0.0).values()

    def sums(values):
        return torch.zeros(nodes).index_add(0, rows, values)

    class Head(torch.autograd.Function):
        @staticmethod
        def forward(context, q, k, v):
            s = sampled(q, k) / math.sqrt(DIM)
            p = torch.exp(s - torch.full((nodes,), -math.inf).scatter_reduce(0, rows, s, "amax")[rows])
            p = p / sums(p)[rows]
            context.save_for_backward(q, k, v, p)
            return matrix(p) @ v

        @staticmethod
        def backward(context, grad):
            q, k, v, p = context.saved_tensors
            grad = grad.contiguous()
            slope = sampled(grad, v)
            ds = p * (slope - sums(p * slope)[rows]) / math.sqrt(DIM)
            return matrix(ds) @ k, transposed(ds) @ q, transposed(p) @ grad

    def forward(q, k, v):
        heads = [Head.apply(*(x[:, h].contiguous() for x in (q, k, v))) for h in range(HEADS)]
        return torch.stack(heads, 1)
    return forward


def time_kernel(torch, make, graph, qkv, rounds):
    forward = make(torch, *graph)
    with torch.no_grad():
        ahead = best_ms(lambda: forward(*qkv), rounds)
    out = forward(*qkv)
    grad = torch.ones_like(out)
    both = best_ms(lambda: torch.autograd.grad(forward(*qkv), qkv, grad), rounds)
    return out.detach(), ahead, both


def kernels(torch, options):
    for pattern, length in CASES:
        words = ["bench", "kernel", "--topology", pattern, "--length", str(length), "--batch", "1", "--heads", str(HEADS), "--head-dim",
                 str(DIM), "--runs", str(options.rounds)]
        graph = edges_of(torch, options, pattern, length)
        facts = dict(spec=pattern, length=length, edges=len(graph[0]), threads=options.threads, rounds=options.rounds)
        qkv = [torch.randn(graph[2], HEADS, DIM, requires_grad=True) for _ in range(3)]
        ours, first = [gsa(options, *words)[0]], None
        found = []
        for name, make in (("SDPA with a mask", with_mask), ("scatter softmax", with_scatter), ("sparse CSR", with_csr)):
            try:
                out, ahead, both = time_kernel(torch, make, graph, qkv, options.rounds)
                out = out[torch.bincount(graph[0], minlength=graph[2]) > 0]
                first = out if first is None else first
                found.append(dict(peer=name, forward_ms=ahead[0], both_ms=both[0], forward_processor_ms=ahead[1], both_processor_ms=both[1],
                                  apart=(out - first).abs().max().item()))
            except Exception as error:  # a peer that cannot is a result, not the end
                found.append(dict(peer=name, failed=f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"))
        ours.append(gsa(options, *words)[0])
        ahead = min(one["forward"]["low_ms"] for one in ours)
        both = ahead + min(one["backward"]["low_ms"] for one in ours)
        say(**facts, peer="gsa", forward_ms=ahead, both_ms=both)
        for one in found:
            if "both_ms" in one:
                one.update(forward_ratio=one["forward_ms"] / ahead, both_ratio=one["both_ms"] / both)
            say(**facts, **one)


# ---- a training step -----------------------------------------------------------------------------------------------------------------------


def models(torch, hidden, heads, outputs):
    nn = torch.nn

    def attend(q, k, v):
        """q [b, n, heads, d]; k, v [b, n, sources, heads, d]"""
        p = torch.softmax(torch.einsum("bnhd,bnshd->bnhs", q, k) / math.sqrt(q.shape[-1]), -1)
        return torch.einsum("bnhs,bnshd->bnhd", p, v).flatten(2)

    class Phase(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Linear(hidden, hidden, bias=False) for _ in range(4))
            self.norm = nn.LayerNorm(hidden, eps=1e-6)

        def split(self, layer, x):
            return layer(x).unflatten(-1, (heads, hidden // heads))

        def update(self, a):
            return self.norm(torch.relu(self.o(a)))

    class Star(nn.Module):
        """One layer (Guo et al. 2019): in layer one the embedding of a token is its state, so K and V are made once."""

        def __init__(self, width):
            super().__init__()
            self.start, self.down, self.up, self.head = nn.Linear(width, hidden), Phase(), Phase(), nn.Linear(hidden, outputs)

        def forward(self, x):
            h = self.start(x)
            relay = h.mean(1, keepdim=True)
            planes = []
            for layer in (self.down.k, self.down.v):
                own, far = self.down.split(layer, h), self.down.split(layer, relay)
                planes.append(torch.stack([own.roll(1, 1), own, own.roll(-1, 1), own, far.expand_as(own)], 2))
            h = self.down.update(attend(self.down.split(self.down.q, h), *planes))
            read = torch.cat([relay, h], 1)
            k, v = (self.up.split(layer, read)[:, None] for layer in (self.up.k, self.up.v))
            relay = self.up.update(attend(self.up.split(self.up.q, relay), k, v))
            return self.head(relay[:, 0] + h.max(1).values)

    class Full(nn.Module):
        def __init__(self, width):
            super().__init__()
            layer = nn.TransformerEncoderLayer(hidden, heads, 2 * hidden, dropout=0.0, activation="gelu", batch_first=True)
            self.start, self.head = nn.Linear(width, hidden), nn.Linear(hidden, outputs)
            self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

        def forward(self, x):
            return self.head(self.layers(self.start(x)).max(1).values)

    return {"star*1": Star, "full*2": Full}


def batch_of(torch, count=32, n=200, k=10, width=10):
    x = torch.rand(count, n, width)
    x[:, :, 0] = 0
    for one in x:
        one[torch.randperm(n)[:k], 0] = 1
    return x, (x[:, :, :1] * x[:, :, 1:]).sum(1)


def torch_step(torch, model, options):
    adam = torch.optim.Adam(model.parameters(), lr=0.001)
    batches = [batch_of(torch) for _ in range(8)]
    losses = []

    def step():
        x, target = batches[len(losses) % len(batches)]
        adam.zero_grad(set_to_none=True)
        loss = ((model(x) - target) ** 2).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        adam.step()
        losses.append(loss.item())
    start = time.perf_counter(), time.process_time()
    for _ in range(options.steps):
        step()
    spent = time.perf_counter() - start[0], time.process_time() - start[1]
    return [1e3 * seconds / options.steps for seconds in spent], losses


def steps(torch, options):
    for encoder, make in models(torch, 100, 10, 9).items():
        settings = [f"model.encoder={encoder}", "model.ffn=200", "model.activation=gelu", f"task.train={32 * options.steps}",
                    "task.dev=0", "task.test=0", "train.epochs=1"]
        words = ["bench", "train", RECIPE, "--profile", "--runs", "1"] + [word for one in settings for word in ("--set", one)]
        before = gsa(options, *words)[0]["step"]
        time_torch, losses = torch_step(torch, make(10), options)
        after = gsa(options, *words)[0]["step"]
        ours = [sum(1e3 * one[what] / one["calls"] for one in (before, after)) / 2 for what in ("seconds", "processor_seconds")]
        say(model=encoder, threads=options.threads, gsa_ms=ours[0], torch_ms=time_torch[0], ratio=time_torch[0] / ours[0],
            gsa_processor_ms=ours[1], torch_processor_ms=time_torch[1], processor_ratio=time_torch[1] / ours[1], loss_first=losses[0],
            loss_last=losses[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["kernels", "step"])
    parser.add_argument("--build", required=True, help="folder of the program gsa")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    try:
        import torch
    except ImportError as missing:
        print(f"torch_peers.py: nothing to set gsa against: {missing}", file=sys.stderr)
        sys.exit(77)
    warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    say(peer="PyTorch", version=torch.__version__, threads=torch.get_num_threads())
    (kernels if options.what == "kernels" else steps)(torch, options)


if __name__ == "__main__":
    main()
