#!/usr/bin/env python3
"""Times what others offer for the same patterns on the same card: SDPA with a mask, compiled FlexAttention, PyG's TransformerConv eager and
compiled. One JSON object a line, as gpu_bench prints; a peer that is not installed or cannot do it is a line that says so.

    python3 peers.py [--quick]
"""
import json
import sys

CASES = [("window:width=5", 4096, 8), ("window:width=33", 4096, 8), ("full", 512, 8)]  # pattern, nodes of a graph, graphs
HEADS, DIM = 8, 64


def say(**facts):
    print(json.dumps(facts), flush=True)


def median_ms(torch, call, rounds=7, calls=10):
    for _ in range(3):
        call()
    times = []
    for _ in range(rounds):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(calls):
            call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / calls)
    return sorted(times)[rounds // 2]


def both_passes(torch, forward, inputs):
    """Milliseconds of the forward pass, and of the backward pass alone."""
    ahead = median_ms(torch, forward)
    grad = torch.randn_like(forward())
    def step():
        torch.autograd.grad(forward(), inputs, grad)
    return ahead, median_ms(torch, step) - ahead


def dense_mask(torch, pattern, nodes):
    rows = torch.arange(nodes, device="cuda")[:, None]
    sources = torch.arange(nodes, device="cuda")[None, :]
    if pattern.startswith("window"):
        return (rows - sources).abs() <= int(pattern.split("=")[1]) // 2
    return torch.ones(nodes, nodes, dtype=torch.bool, device="cuda")


def sdpa(torch, pattern, nodes, graphs):
    q, k, v = (torch.randn(graphs, HEADS, nodes, DIM, device="cuda", requires_grad=True) for _ in range(3))
    mask = dense_mask(torch, pattern, nodes)
    def forward():
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return both_passes(torch, forward, (q, k, v))


def flex(torch, pattern, nodes, graphs):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    reach = int(pattern.split("=")[1]) // 2 if pattern.startswith("window") else nodes
    def inside(b, h, q_at, k_at):
        return (q_at - k_at <= reach) & (k_at - q_at <= reach)
    block = create_block_mask(inside, None, None, nodes, nodes, device="cuda")
    call = torch.compile(flex_attention)
    q, k, v = (torch.randn(graphs, HEADS, nodes, DIM, device="cuda", requires_grad=True) for _ in range(3))
    def forward():
        return call(q, k, v, block_mask=block)
    return both_passes(torch, forward, (q, k, v))


def transformer_conv(torch, pattern, nodes, graphs, compiled):
    from torch_geometric.nn import TransformerConv
    rows, sources = dense_mask(torch, pattern, nodes).nonzero(as_tuple=True)
    shift = (torch.arange(graphs, device="cuda") * nodes)[:, None]
    edges = torch.stack([(sources[None] + shift).flatten(), (rows[None] + shift).flatten()])
    layer = TransformerConv(HEADS * DIM, DIM, heads=HEADS, root_weight=False).cuda()
    call = torch.compile(layer) if compiled else layer
    x = torch.randn(graphs * nodes, HEADS * DIM, device="cuda", requires_grad=True)
    def forward():
        return call(x, edges)
    return both_passes(torch, forward, (x,))


def main():
    try:
        import torch
    except ImportError as missing:
        say(peer="PyTorch", skipped=str(missing))
        return
    if not torch.cuda.is_available():
        say(peer="PyTorch", skipped="torch sees no CUDA device")
        return
    torch.backends.cuda.matmul.allow_tf32 = False
    say(peer="PyTorch", version=torch.__version__, card=torch.cuda.get_device_name())
    peers = [("sdpa", sdpa), ("flex_attention compiled", flex),
             ("TransformerConv eager (with its projections)", lambda *a: transformer_conv(*a, False)),
             ("TransformerConv compiled (with its projections)", lambda *a: transformer_conv(*a, True))]
    for pattern, nodes, graphs in CASES[:1] if "--quick" in sys.argv else CASES:
        for name, run in peers:
            facts = dict(peer=name, spec=pattern, length=nodes, examples=graphs, heads=HEADS, head_dim=DIM, dtype="float32")
            try:
                ahead, back = run(torch, pattern, nodes, graphs)
                say(**facts, forward_ms=round(ahead, 5), backward_ms=round(back, 5))
            except Exception as error:  # a peer that cannot is a result, not the end
                say(**facts, failed=f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}")
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
