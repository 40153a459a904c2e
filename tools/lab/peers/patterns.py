#!/usr/bin/env python3
"""One pattern in gsa, FlexAttention, PyG and DGL: a sliding window with global tokens, and a tree. Prints, for each, the lines that say the
pattern and attend over it, the memory that a call adds to the process, and its time; the outputs of all are compared first.

    GSA_LIBRARY=build/libgsa.so.0 PYTHONPATH=tools/python python3 tools/lab/peers/patterns.py [--json FILE] [--rounds N] [--dgl PYTHON]

Needs PyTorch 2.9 or newer and torch_geometric. Each cell is a process of its own, on one thread; times are of the processor, medians of
calls of one round after another. DGL 2.1.0, its latest release, does not load with these versions of PyTorch: --dgl names the Python of an
environment that has it (pip install dgl==2.1.0 torch==2.2.1 torchdata==0.7.1 pandas "numpy<2")."""
import argparse
import inspect
import json
import os
import resource
import statistics
import subprocess
import sys
import time

NODES, HEADS, DIM, REACH, GLOBAL = 2047, 4, 64, 16, 4


def gsa_window(torch, q, k, v):
    import gsa.torch
    graph = gsa.topology(f"longformer:width={2 * REACH + 1}:global={GLOBAL}:own=0").graph([NODES])
    return lambda: gsa.torch.attend(q, k, v, graph)


def flex_window(torch, q, k, v):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    near = lambda b, h, i, j: ((i - j).abs() <= REACH) | (i < GLOBAL) | (j < GLOBAL)
    mask = create_block_mask(near, None, None, NODES, NODES, device="cpu")
    run = torch.compile(flex_attention)
    return lambda: run(*(x.transpose(0, 1)[None] for x in (q, k, v)), block_mask=mask)[0].transpose(0, 1)


def pyg_window(torch, q, k, v):
    i = torch.arange(NODES)
    row, source = (((i[:, None] - i).abs() <= REACH) | (i[:, None] < GLOBAL) | (i < GLOBAL)).nonzero().T
    return scatter(torch, q, k, v, row, source)


def gsa_tree(torch, q, k, v):
    import gsa.torch
    i = torch.arange(1, NODES)
    self, up = torch.arange(NODES), (i - 1) // 2
    graph = gsa.graph(torch.stack([torch.cat([self, up, i]), torch.cat([self, i, up])]), rows=NODES)
    return lambda: gsa.torch.attend(q, k, v, graph)


def flex_tree(torch, q, k, v):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    near = lambda b, h, i, j: (i == j) | ((i > 0) & (j == (i - 1) // 2)) | ((j > 0) & (i == (j - 1) // 2))
    mask = create_block_mask(near, None, None, NODES, NODES, device="cpu")
    run = torch.compile(flex_attention)
    return lambda: run(*(x.transpose(0, 1)[None] for x in (q, k, v)), block_mask=mask)[0].transpose(0, 1)


def pyg_tree(torch, q, k, v):
    i = torch.arange(1, NODES)
    self, up = torch.arange(NODES), (i - 1) // 2
    return scatter(torch, q, k, v, torch.cat([self, i, up]), torch.cat([self, up, i]))


def scatter(torch, q, k, v, row, source):
    """What TransformerConv does between its linear layers."""
    from torch_geometric.utils import scatter as gather, softmax

    def attend():
        score = (q[row] * k[source]).sum(-1) / DIM ** 0.5
        return gather(softmax(score, row, num_nodes=NODES)[..., None] * v[source], row, dim_size=NODES, reduce="sum")
    return attend


def dgl_window(torch, q, k, v):
    i = torch.arange(NODES)
    row, source = (((i[:, None] - i).abs() <= REACH) | (i[:, None] < GLOBAL) | (i < GLOBAL)).nonzero().T
    return edge_softmax(q, k, v, row, source)


def dgl_tree(torch, q, k, v):
    i = torch.arange(1, NODES)
    self, up = torch.arange(NODES), (i - 1) // 2
    return edge_softmax(q, k, v, torch.cat([self, i, up]), torch.cat([self, up, i]))


def edge_softmax(q, k, v, row, source):
    import dgl
    graph = dgl.graph((source, row), num_nodes=NODES)

    def attend():
        score = dgl.ops.v_dot_u(graph, q, k) / DIM ** 0.5
        return dgl.ops.u_mul_e_sum(graph, v, dgl.ops.edge_softmax(graph, score))
    return attend


WAYS = {"gsa": (gsa_window, gsa_tree), "FlexAttention": (flex_window, flex_tree), "PyG": (pyg_window, pyg_tree),
        "DGL": (dgl_window, dgl_tree)}


def lines(way):
    """Of its body, and of PyG's and DGL's the shared five."""
    body = len(inspect.getsource(way).strip().split("\n")) - 1
    return body + (5 if way.__name__.startswith(("pyg", "dgl")) else 0)


def child(peer, pattern, rounds):
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(1)
    q, k, v = torch.randn(3, NODES, HEADS, DIM, requires_grad=peer != "FlexAttention")
    call = WAYS[peer][pattern](torch, q, k, v)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    forward, both = [], []
    out = call()
    for _ in range(rounds):
        start = time.process_time()
        out = call()
        forward.append(time.process_time() - start)
        if peer != "FlexAttention":  # has no backward pass on the CPU
            out.square().sum().backward()
            both.append(time.process_time() - start)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    one = {"sum": float(out.double().abs().sum()), "forward_ms": 1e3 * statistics.median(forward), "memory_kib": after - before,
           "version": torch.__version__}
    print(json.dumps(dict(one, both_ms=1e3 * statistics.median(both)) if both else one))


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--json", help="the figures as JSON")
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--dgl", help="the Python of an environment that has DGL")
    options.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.child:
        return child(given.child[0], int(given.child[1]), given.rounds)
    cases = []
    for pattern, name in enumerate(("sliding window with global tokens", "tree")):
        first = None
        for peer in WAYS:
            if peer == "DGL" and not given.dgl:
                continue
            made = subprocess.run([given.dgl if peer == "DGL" else sys.executable, __file__, "--rounds", str(given.rounds), "--child", peer, str(pattern)], check=True,
                                  capture_output=True, text=True).stdout
            one = json.loads(made.strip().split("\n")[-1])
            first = first or one["sum"]
            if abs(one["sum"] - first) > 1e-5 * first:
                sys.exit(f"{peer}, {name}: the sum of the output is {one['sum']}, of gsa {first}")
            cases.append({"peer": peer, "pattern": name, "nodes": NODES, "heads": HEADS, "lines": lines(WAYS[peer][pattern]), **one})
            print(f"{name:36} {peer:14} {cases[-1]['lines']:3} lines {one['forward_ms']:8.2f} ms forward "
                  f"{one.get('both_ms', float('nan')):8.2f} ms both {one['memory_kib'] / 1024:8.1f} MiB", flush=True)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as out:
            json.dump({"bench": "patterns", "load": os.getloadavg()[0], "clock": "cpu", "cases": cases}, out, indent=1)
            out.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
