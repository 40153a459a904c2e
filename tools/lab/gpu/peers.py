#!/usr/bin/env python3
"""Times what others offer for the patterns of gpu_bench, edge for edge, on the same card: SDPA with a mask, compiled FlexAttention with a mask
looked up by pair, both in float and in bf16, PyG's TransformerConv eager and compiled. One JSON object a line, as gpu_bench prints; a peer that is not installed or
cannot do it is a line that says so. Outputs of the first two are compared. Edges that stand twice are one to a mask. Exits 77 without
PyTorch or a device.

    python3 peers.py GPU_BENCH FOLDER [--quick] [--device cuda|cpu] [CASE...]     cases as gpu_bench --list names them; edges are left in FOLDER
"""
import argparse
import array
import json
import os
import re
import struct
import subprocess
import sys
import time

# How far, of the largest output, a peer may be from SDPA in float.
TOGETHER = {"torch.float32": 1e-4, "torch.bfloat16": 3e-2}


def say(**facts):
    print(json.dumps(facts), flush=True)


class Phase:
    """The edges of one phase of one example, and so many examples of it."""

    def __init__(self, torch, options, case, number, rows, sources, row, source):
        spec, self.length, self.examples, self.heads, self.dim = case
        self.rows, self.sources, self.edges, self.device = rows, sources, len(row), options.device
        self.row, self.source = (torch.tensor(x, dtype=torch.long, device=options.device) for x in (row, source))
        self.facts = dict(spec=spec, length=self.length, examples=self.examples, heads=self.heads, head_dim=self.dim, phase=number,
                          rows=rows * self.examples, edges=self.edges * self.examples)

    def mask(self, torch):
        mask = torch.zeros(self.rows, self.sources, dtype=torch.bool, device=self.device)
        mask[self.row, self.source] = True
        return mask

    def planes(self, torch, dtype):
        """q of rows, k and v of sources"""
        torch.manual_seed(1)
        shape = [(self.examples, self.heads, n, self.dim) for n in (self.rows, self.sources)]
        drawn = [torch.randn(shape[i > 0], device=self.device) for i in range(3)]
        return [x.to(dtype).requires_grad_() for x in drawn]


def read_phases(torch, options, name):
    """gpu_bench --edges"""
    path = os.path.join(options.folder, name + ".edges")
    subprocess.run([options.gpu_bench, "--edges", name, path], check=True)
    spec, *sizes = re.fullmatch(r"(.*)-(\d+)x(\d+)-(\d+)x(\d+)", name).groups()
    case, phases = (spec, *map(int, sizes)), []
    with open(path, "rb") as file:
        while head := file.read(32):
            number, rows, sources, edges = struct.unpack("<4q", head)
            row, source = array.array("i"), array.array("i")
            row.fromfile(file, edges), source.fromfile(file, edges)
            phases.append(Phase(torch, options, case, number, rows, sources, row, source))
    return phases


def median_ms(torch, options, call, rounds=7, calls=10):
    rounds, calls = (3, 1) if options.device == "cpu" else (rounds, calls)
    for _ in range(3):
        call()
    times = []
    for _ in range(rounds):
        if options.device == "cpu":
            start = time.perf_counter()
            call()
            times.append(1e3 * (time.perf_counter() - start))
            continue
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(calls):
            call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / calls)
    return sorted(times)[rounds // 2]


def both_passes(torch, options, forward, inputs):
    """Milliseconds of the forward pass, and of the backward pass alone."""
    ahead = median_ms(torch, options, forward)
    grad = torch.randn_like(forward())

    def step():
        torch.autograd.grad(forward(), inputs, grad)
    return dict(forward_ms=round(ahead, 5), backward_ms=round(median_ms(torch, options, step) - ahead, 5))


def with_mask(torch, phase, mask):
    def forward(q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return forward


def with_flex(torch, phase, mask):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def inside(b, h, q_at, k_at):
        return mask[q_at, k_at]
    block = create_block_mask(inside, None, None, phase.rows, phase.sources, device=phase.device)
    call = torch.compile(flex_attention)

    def forward(q, k, v):
        return call(q, k, v, block_mask=block)
    return forward


def masked_peers(torch, options, phase):
    """SDPA, then FlexAttention, in float and in bf16: outputs are compared with the first's."""
    kept = None
    peers = (("sdpa", with_mask), ("flex_attention compiled", with_flex))
    for dtype in (torch.float32, torch.bfloat16):
        for name, make in peers:
            def run(make=make, dtype=dtype):
                nonlocal kept
                forward, planes = make(torch, phase, phase.mask(torch)), phase.planes(torch, dtype)
                with torch.no_grad():
                    out = forward(*planes).float()
                gap = 0.0 if kept is None else float((out - kept).abs().max() / kept.abs().max())
                kept = out if kept is None else kept
                if not gap <= TOGETHER[str(dtype)]:
                    raise RuntimeError(f"outputs are {gap:.3g} of the largest from SDPA's in float")
                times = both_passes(torch, options, lambda: forward(*planes), planes)
                return dict(times, gap=gap, dtype=str(dtype).removeprefix("torch."))
            yield name if dtype is torch.float32 else name + " bf16", run


def conv_peers(torch, options, phase):
    """TransformerConv with its projections, of sources to rows."""
    def run(compiled):
        from torch_geometric.nn import TransformerConv
        example = torch.arange(phase.examples, device=phase.device)[:, None]
        edges = torch.stack([(phase.source[None] + example * phase.sources).flatten(), (phase.row[None] + example * phase.rows).flatten()])
        width = phase.heads * phase.dim
        layer = TransformerConv((width, width), phase.dim, heads=phase.heads, root_weight=False).to(phase.device)
        call = torch.compile(layer) if compiled else layer
        sources, rows = (torch.randn(phase.examples * n, width, device=phase.device, requires_grad=True) for n in (phase.sources, phase.rows))
        times = both_passes(torch, options, lambda: call((sources, rows), edges), (sources, rows))
        return dict(times, dtype="float32")
    yield "TransformerConv eager (with its projections)", lambda: run(False)
    yield "TransformerConv compiled (with its projections)", lambda: run(True)


def run_phase(torch, options, phase):
    for peers in (masked_peers, conv_peers):
        for name, run in peers(torch, options, phase):
            try:
                say(peer=name, **phase.facts, **run())
            except Exception as error:  # a peer that cannot is a result, not the end
                say(peer=name, **phase.facts, failed=f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}")
            if options.device == "cuda":
                torch.cuda.empty_cache()


def skip(why):
    print(f"peers.py: nothing is timed: {why}", file=sys.stderr)
    sys.exit(77)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("gpu_bench")
    parser.add_argument("folder")
    parser.add_argument("case", nargs="*")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    options = parser.parse_intermixed_args()
    try:
        import torch
    except ImportError as missing:
        skip(missing)
    if options.device == "cuda" and not torch.cuda.is_available():
        skip("PyTorch sees no CUDA device (--device cpu runs it without)")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch._dynamo.config.recompile_limit = 64
    os.makedirs(options.folder, exist_ok=True)
    options.gpu_bench = os.path.abspath(options.gpu_bench)
    listed = [options.gpu_bench, "--list"] + (["--quick"] if options.quick else [])
    names = options.case or subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split()
    say(peer="PyTorch", version=torch.__version__, card=torch.cuda.get_device_name() if options.device == "cuda" else "cpu")
    for name in names:
        for phase in read_phases(torch, options, name):
            run_phase(torch, options, phase)


if __name__ == "__main__":
    main()
