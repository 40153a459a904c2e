#!/usr/bin/env python3
"""What PyTorch takes on the CPU for the work that gsa does, both in one run, in turn, with the same number of threads.

    python3 tools/lab/peers/torch_peers.py kernels --build build [--threads 1]     attention over a pattern's edges, forward and backward
        (torch_kernels.py): SDPA (is_causal or no mask where that is the pattern), SDPA by blocks of queries for windows, a scatter softmax,
        the same compiled, sparse CSR, compiled FlexAttention (no backward pass on the CPU); against `gsa bench kernel`
    python3 tools/lab/peers/torch_peers.py step --build build [--threads 1]        a training step, eager and compiled: Masked Summation by a
        Star-Transformer and by a dense Transformer, bytes by a causal one, SST-5 by a Star-Transformer (torch_steps.py); against `gsa bench train --steps`

PyTorch 2.9 or newer, and a C++ compiler for what is compiled. One JSON object a line; --json FILE: the first, with the others as its
"cases". Ratios are of medians and of the least of the rounds, of the wall's clock and of the processor's time, all threads together;
gsa's processor time is taken with one thread only. A peer that cannot do it is a line that says why. Without PyTorch: a sentence, and
status 77.
"""
import argparse
import json
import os
import subprocess
import sys
import warnings

FACTS = []


def say(**facts):
    FACTS.append(facts)
    print(json.dumps(facts), flush=True)


def bench(options, clock, *words):
    """A benchmark's JSON."""
    command = [os.path.join(options.build, "gsa"), *words, "--device", "cpu", "--threads", str(options.threads), "--clock", clock,
               "--json", "-"]
    own = {name: value for name, value in os.environ.items() if name not in ("GLIBC_TUNABLES", "LD_PRELOAD")}
    text = subprocess.run(command, check=True, capture_output=True, text=True, env=own).stdout
    return json.loads(text)


def gsa(options, clock, *words):
    """Of a benchmark's JSON the first case."""
    return bench(options, clock, *words)["cases"][0]


def clocks(options):
    return ["wall", "cpu"] if options.threads == 1 else ["wall"]


# ---- the allocator ------------------------------------------------------------------------------------------------------------------------

TUNABLES = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=68719476736:glibc.malloc.top_pad=268435456"


def tune_allocator():
    """PyTorch's large tensors would be mapped and cleared anew at each call: glibc is told to keep them, unless another allocator is
    preloaded or the environment says otherwise. gsa runs as it is."""
    if "LD_PRELOAD" in os.environ or "GLIBC_TUNABLES" in os.environ:
        return
    os.environ["GLIBC_TUNABLES"] = TUNABLES
    os.execv(sys.executable, [sys.executable, *sys.argv])


def allocator():
    with open("/proc/self/maps", encoding="utf-8") as maps:
        text = maps.read()
    other = [name for name in ("tcmalloc", "jemalloc", "mimalloc") if name in text]
    return f"{other[0]}, preloaded" if other else "glibc, " + os.environ.get("GLIBC_TUNABLES", "untuned")


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
    tune_allocator()
    try:
        import torch
    except ImportError as missing:
        print(f"torch_peers.py: nothing to set gsa against: {missing}", file=sys.stderr)
        sys.exit(77)
    if tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 9):
        sys.exit(f"torch_peers.py: PyTorch {torch.__version__} is too old to be the yardstick: 2.9 or newer is expected")
    warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    build = bench(options, "wall", "bench", "graph", "--topology", "ring", "--length", "1", "--runs", "1")["build"]
    say(peer="PyTorch", version=torch.__version__, build=build, threads=torch.get_num_threads(), allocator=allocator(), load=os.getloadavg()[0])
    if options.what == "kernels":
        from torch_kernels import kernels as run
    else:
        from torch_steps import steps as run
    run(torch, options, lambda clock, *words: gsa(options, clock, *words), clocks(options), say)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            head, *cases = FACTS
            lines = ",\n".join(json.dumps(facts) for facts in cases)
            out.write(json.dumps(head)[:-1] + ', "cases": [\n' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
