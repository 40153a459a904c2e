"""Attention over a pattern's edges by PyTorch and by gsa, in turn: torch_peers.py kernels. Queries, keys, values and edges are those of
`gsa bench kernel --arrays`, phase by phase, and what gsa gave is compared with the same sums in double here; so is what each peer gave.
Peers leave out the vectors and biases of labels, which gsa's times hold."""
import json
import math
import os
import random
import statistics
import tempfile
import time

from models import read_weights

SCALE = 0.125  # of gsa bench kernel
APART = 1e-4   # of the largest number: beyond it a peer does other work, or gsa is wrong
# Pattern, length, examples, heads, numbers of a head. POWER and IRREGULAR are files of edges, made here.
CASES = [("star", 2048, 1, 8, 64), ("window:width=11", 2048, 1, 8, 64), ("bpt:k=4", 2048, 1, 8, 64), ("full", 2048, 1, 8, 64),
         ("star", 777, 1, 8, 64), ("window:width=33", 2048, 1, 4, 64), ("full", 2048, 1, 4, 64), ("POWER", 20000, 1, 4, 64),
         ("bigbird:block=1", 2048, 1, 8, 64), ("strided", 2048, 1, 8, 64), ("dilated", 2048, 1, 8, 64), ("head_area", 2048, 1, 8, 64),
         ("bigbird:width=1:global=0:random=16", 2048, 1, 8, 64), ("IRREGULAR", 200000, 1, 1, 64), ("full", 1024, 1, 8, 10),
         ("full", 1024, 1, 2, 512), ("window:width=33", 2048, 1, 2, 512), ("full:clip=512", 1024, 1, 8, 64), ("bpt:k=256", 2048, 1, 4, 64),
         ("full:causal=1", 4096, 1, 8, 64), ("full", 5, 512, 8, 64)]


def write_graph(name, nodes, folder):
    """POWER: degrees and sources by power laws, about 20 edges a node; IRREGULAR: 10 a node on average, anywhere. No edge stands twice: a
    mask would count it once."""
    path, draw = os.path.join(folder, name + ".txt"), random.Random(1)
    with open(path, "w", encoding="utf-8") as out:
        for row in range(nodes):
            count = draw.randrange(1, 20) if name == "IRREGULAR" else min(nodes // 8, int(8 / (1 - draw.random()) ** 0.6))
            sources = set()
            while len(sources) < count:
                sources.add(draw.randrange(nodes) if name == "IRREGULAR" else int(nodes * draw.random() ** 3))
            out.writelines(f"{source} {row}\n" for source in sorted(sources))
    return f"file:path={path}"


class Phase:
    """Edges and numbers of one phase: rows of q read the rows of k and v."""

    def __init__(self, torch, arrays, dim, examples):
        kinds = [str(i) for i in range(64) if f"k.{i}" in arrays]
        self.q, self.out, self.dout, self.dq = (self.split(arrays[name], dim) for name in ("q", "out", "dout", "dq"))
        self.k, self.v, self.dk, self.dv = (self.split(torch.cat([arrays[f"{name}.{kind}"] for kind in kinds]), dim)
                                            for name in ("k", "v", "dk", "dv"))
        offset = arrays["edge_offset"].flatten()
        self.degree = offset[1:] - offset[:-1]
        self.queries, self.keys, self.heads, self.dim = len(self.q), len(self.k), self.q.shape[1], dim
        self.rows = torch.arange(self.queries).repeat_interleave(self.degree)
        self.sources, self.labels = (arrays[name].flatten().long() for name in ("source", "label"))
        self.vectors, self.bias = arrays.get("label_vectors"), arrays.get("label_bias")
        self.edges, self.examples, self.offset = len(self.rows), examples, offset
        self.dense = self.edges == self.queries * self.keys
        self.causal = self.queries == self.keys and bool((self.degree == torch.arange(1, self.queries + 1)).all()) and \
            bool((self.sources <= self.rows).all())
        self.reach = int((self.sources - self.rows).abs().max()) if self.queries == self.keys and self.edges else self.keys
        each = self.queries // examples  # equal examples that all read all of themselves
        self.apart = examples > 1 and self.queries == self.keys and self.edges == examples * each * each and \
            bool((self.sources // each == self.rows // each).all())

    @staticmethod
    def split(x, dim):
        return x.reshape(len(x), -1, dim)


def exact(torch, p, labels, head):
    """out, dq, dk, dv of one head in double, some rows at a time."""
    q, k, v, dout = (x[:, head].double() for x in (p.q, p.k, p.v, p.dout))
    out, dq, dk, dv = (torch.zeros_like(x) for x in (q, q, k, v))
    first = 0
    while first < p.queries:
        last = first + 1
        while last < p.queries and p.offset[last + 1] - p.offset[first] < 500000:
            last += 1
        edges = slice(int(p.offset[first]), int(p.offset[last]))
        row, source, label = p.rows[edges], p.sources[edges], p.labels[edges]
        key = k[source]
        if labels and p.vectors is not None:
            key = key + p.vectors.double()[label]
        s = SCALE * (q[row] * key).sum(-1)
        if labels and p.bias is not None:
            s = s + p.bias.double()[label, head]
        top = torch.full((p.queries,), -math.inf, dtype=s.dtype).scatter_reduce(0, row, s, "amax")
        weight = torch.exp(s - top[row])
        weight = weight / torch.zeros(p.queries, dtype=s.dtype).index_add(0, row, weight)[row]
        out.index_add_(0, row, weight[:, None] * v[source])
        slope = (dout[row] * v[source]).sum(-1)
        ds = SCALE * weight * (slope - torch.zeros(p.queries, dtype=s.dtype).index_add(0, row, weight * slope)[row])
        dq.index_add_(0, row, ds[:, None] * key)
        dk.index_add_(0, source, ds[:, None] * q[row])
        dv.index_add_(0, source, weight[:, None] * dout[row])
        first = last
    return out, dq, dk, dv


def farthest(got, want, head):
    return max(((a[:, head] - b).abs().max() / b.abs().max().clamp_min(1e-30)).item() for a, b in zip(got, want) if len(b))


# ---- peers: each makes forward(q, k, v) for a phase, or says by an exception why it cannot ------------------------------------------------


def heads_first(x):
    return x.transpose(0, 1)[None]  # [1, heads, nodes, dim]


def needs(numbers, options):
    if 4 * numbers > options.memory * 2 ** 30:
        raise MemoryError(f"about {4 * numbers / 2 ** 30:.0f} GiB are needed, {options.memory:g} are allowed")


def with_sdpa(torch, p, options):
    attend = torch.nn.functional.scaled_dot_product_attention
    if p.apart:
        split = lambda x: x.unflatten(0, (p.examples, -1)).transpose(1, 2)
        return lambda q, k, v: attend(split(q), split(k), split(v), scale=SCALE).transpose(1, 2).flatten(0, 1)
    needs(0 if p.dense or p.causal else 6 * p.heads * p.queries * p.keys, options)
    mask = None
    if not p.dense and not p.causal:  # added to scores: faster than a mask of bool, which is turned into it at each call
        mask = torch.full((p.queries, p.keys), -math.inf)
        mask[p.rows, p.sources] = 0

    def forward(q, k, v):
        x = attend(heads_first(q), heads_first(k), heads_first(v), attn_mask=mask, is_causal=p.causal and not p.dense, scale=SCALE)
        return x[0].transpose(0, 1)
    return forward


def with_blocks(torch, p, options):
    """Blocks of queries, each against the keys that it can reach: one call for all of them."""
    if p.apart or p.dense or 4 * p.reach >= p.queries:
        raise ValueError("no band of keys near the queries")
    size = 64 if p.reach <= 64 else 128
    blocks = -(-p.queries // size)
    key = torch.arange(blocks)[:, None] * size - p.reach + torch.arange(size + 2 * p.reach)
    mask = torch.full((blocks, size, key.shape[1]), -math.inf)
    mask[p.rows // size, p.rows % size, p.sources - p.rows // size * size + p.reach] = 0
    spare = blocks * size - p.queries
    mask.view(blocks * size, -1)[p.queries:, 0] = 0
    key, mask = key.clamp(0, p.keys - 1), mask[:, None]
    attend, pad = torch.nn.functional.scaled_dot_product_attention, torch.nn.functional.pad

    def forward(q, k, v):
        q = pad(q, (0, 0, 0, 0, 0, spare)).unflatten(0, (blocks, size)).transpose(1, 2)
        x = attend(q, k[key].transpose(1, 2), v[key].transpose(1, 2), attn_mask=mask, scale=SCALE)
        return x.transpose(1, 2).flatten(0, 1)[:p.queries]
    return forward


def with_scatter(torch, p, options):
    needs(6 * p.heads * p.dim * p.edges, options)

    def forward(q, k, v):
        s = (q[p.rows] * k[p.sources]).sum(-1) * SCALE  # [edges, heads]
        at = p.rows[:, None].expand_as(s)
        top = torch.full((p.queries, p.heads), -math.inf).scatter_reduce(0, at, s.detach(), "amax")
        weight = torch.exp(s - top[p.rows])
        weight = weight / torch.zeros(p.queries, p.heads).index_add(0, p.rows, weight)[p.rows]
        return torch.zeros_like(q).index_add(0, p.rows, weight[..., None] * v[p.sources])
    return forward


def with_compiled_scatter(torch, p, options):
    return torch.compile(with_scatter(torch, p, options), dynamic=False)


def with_csr(torch, p, options):
    needs(12 * p.heads * p.edges, options)
    if bool((torch.unique(p.rows * p.keys + p.sources).shape[0] != p.edges)):
        raise ValueError("edges that stand twice are one in a sparse matrix")
    order = torch.argsort(p.rows * p.keys + p.sources)  # sources rise in a row
    rows, sources = p.rows[order], p.sources[order]
    turned = torch.argsort(sources, stable=True)
    start = torch.cat([torch.zeros(1, dtype=torch.long), torch.bincount(sources, minlength=p.keys).cumsum(0)])

    def matrix(values):
        return torch.sparse_csr_tensor(p.offset, sources, values, (p.queries, p.keys))

    def transposed(values):
        return torch.sparse_csr_tensor(start, rows[turned], values[turned], (p.keys, p.queries))

    def sampled(a, b):
        return torch.sparse.sampled_addmm(matrix(torch.zeros(p.edges)), a, b.t(), beta=0.0).values()

    def sums(values):
        return torch.zeros(p.queries).index_add(0, rows, values)

    class Head(torch.autograd.Function):
        @staticmethod
        def forward(context, q, k, v):
            s = sampled(q, k) * SCALE
            weight = torch.exp(s - torch.full((p.queries,), -math.inf).scatter_reduce(0, rows, s, "amax")[rows])
            weight = weight / sums(weight)[rows]
            context.save_for_backward(q, k, v, weight)
            return matrix(weight) @ v

        @staticmethod
        def backward(context, grad):
            q, k, v, weight = context.saved_tensors
            grad = grad.contiguous()
            slope = sampled(grad, v)
            ds = weight * (slope - sums(weight * slope)[rows]) * SCALE
            return matrix(ds) @ k, transposed(ds) @ q, transposed(weight) @ grad

    return lambda q, k, v: torch.stack([Head.apply(*(x[:, h].contiguous() for x in (q, k, v))) for h in range(p.heads)], 1)


def with_flex(torch, p, options):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    needs(p.queries * p.keys, options)
    mask = torch.zeros(p.queries, p.keys, dtype=torch.bool)
    mask[p.rows, p.sources] = True
    blocks = None if p.dense else create_block_mask(lambda _, __, q, k: mask[q, k], None, None, p.queries, p.keys, device="cpu")
    compiled = torch.compile(flex_attention, dynamic=False)
    return lambda q, k, v: compiled(heads_first(q), heads_first(k), heads_first(v), block_mask=blocks, scale=SCALE)[0].transpose(0, 1)


PEERS = [("SDPA", with_sdpa), ("SDPA by blocks", with_blocks), ("scatter softmax", with_scatter),
         ("compiled scatter", with_compiled_scatter), ("sparse CSR", with_csr), ("FlexAttention", with_flex)]
FORWARD_ALONE = ["FlexAttention"]  # on the CPU it has no backward pass


def rounds(call, options):
    """Least and median milliseconds of the wall's clock and of the process's; no more rounds than fit --limit, but three."""
    call()
    times, begun = [], time.perf_counter()
    while len(times) < options.rounds and (len(times) < 3 or time.perf_counter() - begun < options.limit):
        start = time.perf_counter(), time.process_time()
        call()
        times.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    return {name + what: 1e3 * of(column) for name, column in zip(("", "processor_"), zip(*times))
            for what, of in (("ms", statistics.median), ("least_ms", min))}


def add(times, name, found):
    for key, value in found.items():
        times[f"{name}_{key}"] = times.get(f"{name}_{key}", 0) + value


def time_peer(torch, options, name, make, phases):
    """All phases one after the other; how far the worst of them is from the exact numbers."""
    times, apart = {}, 0.0
    for p in phases:
        forward = make(torch, p, options)
        still, learned = [p.q, p.k, p.v], [x.clone().requires_grad_() for x in (p.q, p.k, p.v)]
        with torch.no_grad():
            add(times, "forward", rounds(lambda: forward(*still), options))
            got = [forward(*still)]
        if name not in FORWARD_ALONE:
            grads = lambda: torch.autograd.grad(forward(*learned), learned, p.dout)
            add(times, "both", rounds(grads, options))
            got += grads()
        apart = max(apart, farthest(got, p.exact, 0))
    return dict(apart=apart, **times)


def time_gsa(options, bench, clocks, words):
    """Name of a time: milliseconds. Of two series the sum of the least is not the least of the sum, and above it."""
    found = {}
    for clock in clocks:
        case, name = bench(clock, *words, "--runs", str(options.rounds)), "" if clock == "wall" else "processor_"
        for what, key in (("ms", "median_ms"), ("least_ms", "low_ms")):
            found[f"forward_{name}{what}"] = case["forward"][key]
            found[f"both_{name}{what}"] = case["forward"][key] + case["backward"][key]
    return found


def open_phases(torch, options, bench, words, dim, examples, folder):
    path = os.path.join(folder, "arrays.safetensors")
    bench("wall", *words, "--runs", "1", "--arrays", path)
    arrays, of = read_weights(torch, path), {}
    os.remove(path)
    for name, value in arrays.items():
        phase, _, rest = name.partition(".")
        of.setdefault(phase, {})[rest] = value
    phases, apart = [Phase(torch, own, dim, examples) for own in of.values()], 0.0
    for p in phases:
        labelled = exact(torch, p, 1, 0)
        apart = max(apart, farthest((p.out, p.dq, p.dk, p.dv), labelled, 0))
        p.exact = labelled if p.vectors is None and p.bias is None else exact(torch, p, 0, 0)
    return phases, apart


def kernels(torch, options, bench, clocks, say):
    with tempfile.TemporaryDirectory() as folder:
        for pattern, length, examples, heads, dim in CASES:
            if options.topology and pattern not in options.topology:
                continue
            spec = write_graph(pattern, length, folder) if pattern.isupper() else pattern
            words = ["bench", "kernel", "--topology", spec, "--length", str(length), "--batch", str(examples), "--heads", str(heads),
                     "--head-dim", str(dim)]
            phases, apart = open_phases(torch, options, bench, words, dim, examples, folder)
            if apart > APART:
                raise ArithmeticError(f"gsa, {pattern}: {apart:.1e} of the largest from the exact numbers")
            facts = dict(spec=pattern, length=length, batch=examples, heads=heads, head_dim=dim, edges=sum(p.edges for p in phases),
                         threads=options.threads, rounds=options.rounds)
            ours, found = [time_gsa(options, bench, clocks, words)], []
            for name, make in PEERS:
                try:
                    one = time_peer(torch, options, name, make, phases)
                    if one["apart"] > APART:
                        raise ArithmeticError(f"{one['apart']:.1e} of the largest from the exact numbers: other work than gsa's")
                    found.append(dict(peer=name, **one))
                except Exception as error:  # a peer that cannot is a result, not the end
                    found.append(dict(peer=name, failed=f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}"))
                    continue
                ours.append(time_gsa(options, bench, clocks, words))
                torch.compiler.reset()
            own = {name: (min if "least" in name else statistics.median)(one[name] for one in ours) for name in ours[0]}
            say(**facts, peer="gsa", apart=apart, **own)
            for one in found:
                say(**facts, **one, **{name.replace("_ms", "_ratio"): one[name] / own[name] for name in own if name in one})
