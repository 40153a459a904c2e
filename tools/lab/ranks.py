#!/usr/bin/env python3
"""What several ranks do to a training step: a model of its time, the measurements that it is fed with, and what it says of 1,024 GPUs.

    tools/lab/tables ranks              the model against docs/results/ranks.json; tools/lab/tables gpus: 1,024 GPUs
    tools/lab/ranks.py --measure GSA    measures into that file, with mpirun (Open MPI)
    tools/lab/ranks.py --sent N RANKS   bytes that rank 0 sends in a step of N parameters; N: a model.safetensors of a device
    tools/lab/ranks.py --two GSA        two ranks of one thread over one such process: tokens a second, in turn
    tools/lab/ranks.py --memory GSA     memory of a rank in a step of one text of 262,144 tokens, 4, 2 and 1 ranks
"""
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/results")
TOLD = 64  # bytes that a rank tells of itself in a step, twice 32: gsa_group_tell
CORES = 2  # of the machine that was measured
PIECES = 8
LINE = 64  # numbers: where a device's parameters begin, and its buckets (gsa/parameters.h)
LINKS = ("link: few bytes", "link: many bytes")
RECIPES = {  # batch, [task] to [data] of a recipe: two that are foretold, and two that measure what ranks do to each other
    "star of 64": (64, "[task]\nname = masked_summation\nn = 60\nk = 3\nd = 4\ntrain = 20000\ndev = 8\ntest = 8\n"
                       "[model]\nencoder = star*2\nhidden = 64\nheads = 4\n"),
    "bpt of 128": (16, "[task]\nname = language_modelling\n[model]\nencoder = bpt:k=4:causal=1*2\nhidden = 128\nheads = 4\nffn = 512\n"
                       "[data]\ntrain = text\nsplit = 90000,1000\ntokens = bytes\nwindow = 64\n"),
    LINKS[0]: (8, "[task]\nname = masked_summation\nn = 8\nk = 3\nd = 4\ntrain = 20000\ndev = 8\ntest = 8\n"
                  "[model]\nencoder = star*1\nhidden = 16\nheads = 2\n"),
    LINKS[1]: (8, "[task]\nname = language_modelling\n[model]\nencoder = window:width=17:causal=1*2\nhidden = 256\nheads = 8\nffn = 1024\n"
                  "[data]\ntrain = text\nsplit = 90000,1000\ntokens = bytes\nwindow = 8\n")}
KNOWN = {"masked-summation": 82409, "sst5-star": 1222655, "enwik8-bpt": 845440}  # parameters of recipes in docs/results/profile-*.json
# Of a GPU and its links: assumed, not measured. Products a second, seconds of an operation's launch, GPUs of a machine,
# (seconds a message, bytes a second) inside and between machines.
GPU = {"flops": 30e12, "launch": 5e-6, "near": 8, "links": ((5e-6, 300e9), (10e-6, 40e9))}
BACKWARD, BUCKETS = 2 / 3, 8  # the share of a step's work in which buckets of gradients can be on their way; gradient_tree.h


# ---- the model -------------------------------------------------------------------------------------------------------------------------------


def bucket_rounds(numbers, ranks, rank):
    """Numbers that gsa_group_add sends to rank ^ d, round by round: (d, numbers). Halving, then doubling."""
    low, high, kept, sent = 0, numbers, [], []
    d = 1
    while d < ranks:
        middle, upper = low + (high - low) // 2, rank & d
        sent.append((d, middle - low if upper else high - middle))
        low, high = (middle, high) if upper else (low, middle)
        kept.append((d, high - low))
        d *= 2
    return sent + kept[::-1]


def rounds(numbers, ranks, rank=0, line=1):
    """Of all buckets, one after the other."""
    size, all_rounds = (numbers // BUCKETS + line) // line * line, []
    while numbers > 0:
        all_rounds += bucket_rounds(min(size, numbers), ranks, rank)
        numbers -= size
    return all_rounds


def sent_bytes(numbers, ranks, rank=0, line=1):
    """Of a step: about 8 N (ranks - 1) / ranks."""
    return TOLD * (ranks - 1) + 4 * sum(n for _, n in rounds(numbers, ranks, rank, line))


def sent_of(model, ranks):
    """Of a number of parameters; of a model.safetensors as a device sends it, each parameter filled up to a line."""
    if model.isdigit():
        return sent_bytes(int(model), ranks)
    with open(model, "rb") as weights:
        header = json.loads(weights.read(int.from_bytes(weights.read(8), "little")))
    numbers = sum(-(-math.prod(one["shape"]) // LINE) * LINE for name, one in header.items() if name != "__metadata__")
    return sent_bytes(numbers, ranks, line=LINE)


def exchange(numbers, ranks, link):
    """Seconds of telling and summing; link(d): seconds a message, bytes a second to rank ^ d."""
    told = 2 * [(1 << i, TOLD // 8 << i) for i in range(ranks.bit_length() - 1)]
    return sum(link(d)[0] + 4 * n / link(d)[1] for d, n in told + rounds(numbers, ranks))


def work(one, ranks):
    """Seconds of the processor of a rank: fixed + share / ranks, a straight line through one process with 1/8 and 1/2 of the batch."""
    eighth, half = one["share_ms"]["8"] / 1e3, one["share_ms"]["2"] / 1e3
    slope = (half - eighth) / (1 / 2 - 1 / 8)
    return eighth - slope / 8 + slope / ranks


def link_here(recipes, ranks):
    """What a rank takes to pack, send, add and wait, of two recipes: seconds of the processor a step and a byte."""
    few, many = (recipes[name] for name in LINKS)
    rest = [one["ranks_ms"][str(ranks)] / 1e3 * min(ranks, CORES) / ranks - work(one, ranks) for one in (few, many)]
    sent = [sent_bytes(one["parameters"], ranks) for one in (few, many)]
    byte = (rest[1] - rest[0]) / (sent[1] - sent[0])
    return rest[0] - byte * sent[0], byte


def step_here(recipes, one, ranks):
    """Seconds of the processor of all ranks, over the cores that they have: what free cores would take. More ranks than cores take turns."""
    step, byte = link_here(recipes, ranks) if ranks > 1 else (0, 0)
    return (work(one, ranks) + step + byte * sent_bytes(one["parameters"], ranks)) * ranks / min(ranks, CORES)


def gpu_link(d):
    return GPU["links"][d >= GPU["near"]]


def exposed(exchanged, compute):
    """Seconds of an exchange that no work hides; the last bucket has nothing beside it."""
    return max(exchanged - BACKWARD * (1 - 1 / BUCKETS) * compute, exchanged / BUCKETS)


def knee(share):
    """The most GPUs of 2, 4, ... 1,024 with a share of at least .8; 1: none."""
    ranks = 1
    while ranks < 1024 and share(2 * ranks) >= 0.8:
        ranks *= 2
    return ranks


# ---- tables ----------------------------------------------------------------------------------------------------------------------------------


def load(name):
    with open(os.path.join(RESULTS, name), encoding="utf-8") as text:
        return json.load(text)


def here(data):
    """Measured, predicted, and the error, on 1, 2 and 4 ranks."""
    rows, recipes = [], {one["name"]: one for one in data["cases"]}
    for name, one in recipes.items():
        cells, sent = [], one["sent_bytes"]
        for ranks in (1, 2, 4):
            measured, predicted = one["ranks_ms"][str(ranks)], 1e3 * step_here(recipes, one, ranks)
            cells.append(f"{measured:.1f}/{predicted:.1f} ({100 * (predicted / measured - 1):+.0f}%)")
        for ranks in (2, 4):
            if sent[str(ranks)] != sent_bytes(one["parameters"], ranks):
                raise SystemExit(f"ranks: {name} sent {sent[str(ranks)]} bytes a step on {ranks} ranks: not what the formula says")
        if name in LINKS:
            continue
        rows.append([f"`{name}`", f"{one['parameters']:,}", *cells])
    return ["recipe", "N", "P=1", "P=2", "P=4"], rows


def gpus():
    """Each GPU has the recipe's own batch; the long text is shared by rows."""
    rows, launches = [], {}
    with open(os.path.join(RESULTS, "../../tests/simt/launches.table"), encoding="utf-8") as text:
        for line in text:
            if line.strip() and line[0] != "#":
                launches[line.split()[0]] = float(line.split()[-1])
    for name, parameters in KNOWN.items():
        case = load(f"profile-{name}.json")["cases"][0]
        flop = 1e9 * sum(part.get("gflop", 0) for part in case["step"]["parts"].values()) / case["timed_steps"]
        compute = flop / GPU["flops"] + launches[name] * GPU["launch"]

        def share(ranks):
            return compute / (compute + exposed(exchange(parameters, ranks, gpu_link), compute))

        rows.append([f"`{name}`", f"{sent_bytes(parameters, 1024) / 1e6:.1f}", f"{1e3 * compute:.2f}",
                     f"{1e3 * exchange(parameters, 1024, gpu_link):.2f}", f"{100 * share(1024):.0f}", f"{knee(share)}"])
    return ["run", "MB sent", "work, ms", "exchange, ms", "share, %", "knee"], rows + [long_text()]


def long_text(tokens=2 ** 30, layers=4, hidden=128, k=16):
    """enwik8-bpt with one text, train.split = rows. In both directions of 2 phases a layer a GPU sends at most k log2(tokens) rows, in
    3 log2(ranks) messages (a round of telling, parents, borders); gradients are summed after it."""
    case = load("profile-enwik8-bpt.json")["cases"][0]
    flop = 1e9 * sum(part.get("gflop", 0) for part in case["step"]["parts"].values()) / case["timed_steps"] / 4096  # of a token
    parameters = KNOWN["enwik8-bpt"]
    halo = 4 * layers * k * int(math.log2(tokens)) * hidden * 4

    def times(ranks):
        messages = 4 * layers * 3 * int(math.log2(ranks))
        return (flop * tokens / ranks / GPU["flops"],
                messages * gpu_link(ranks // 2)[0] + halo / gpu_link(ranks // 2)[1] + exchange(parameters, ranks, gpu_link))

    compute, exchanged = times(1024)
    least = tokens  # of the text that 1,024 GPUs still share with .8
    while (c := flop * least / 2 / 1024 / GPU["flops"]) / (c + exchanged) >= 0.8:
        least //= 2
    return [f"2^30 tokens, `bpt:k={k}*{layers}`", f"{(sent_bytes(parameters, 1024) + halo) / 1e6:.1f}", f"{1e3 * compute:.0f}", f"{1e3 * exchanged:.2f}",
            f"{100 * compute / (compute + exchanged):.1f}", f"2^{int(math.log2(least))} tokens"]


# ---- measurements ----------------------------------------------------------------------------------------------------------------------------


def mpirun(ranks):
    return ["mpirun", "-np", str(ranks), "--oversubscribe", "--bind-to", "none"] if ranks > 1 else []


def run(gsa, ranks, share, batch, steps):
    """Seconds of the processor that all ranks took, and the result."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*mpirun(ranks), gsa, "train", "recipe.ini", "--threads", "1", "--quiet", "--set", f"train.batch={batch // share}", "--set",
                           f"train.pieces={PIECES // share}", "--set", f"train.max_steps={steps}"], stdout=subprocess.PIPE, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, json.loads(done.stdout)


def measure_recipe(gsa, batch, text, turns=3, few=5, many=35):
    """Milliseconds of the processor a step: what 30 steps more take, the median of three turns."""
    with open("recipe.ini", "w", encoding="utf-8") as recipe:
        recipe.write(f"{text}[train]\nseed = 3\nepochs = 100\nlr = 0.001\neval_every = 1000000\n")
    times, sent = {}, {}
    for _ in range(turns):
        for key in ((1, 8), (1, 2), (1, 1), (2, 1), (4, 1)):
            short, long = run(gsa, *key, batch, few), run(gsa, *key, batch, many)
            times.setdefault(key, []).append(1e3 * (long[0] - short[0]) / (many - few))
            sent[str(key[0])] = (long[1].get("sent_bytes", 0) - short[1].get("sent_bytes", 0)) // (many - few)
    ms = {key: statistics.median(some) for key, some in times.items()}
    one = {"parameters": long[1]["parameters"], "share_ms": {"8": ms[1, 8], "2": ms[1, 2]},
           "ranks_ms": {str(r): ms[r, 1] / min(r, CORES) for r in (1, 2, 4)}, "sent_bytes": sent}
    return one, long[1]["signature"].split("+")[1].split("|")[0]


def corpus(numbers):
    with open("text", "wb") as out:
        out.write(bytes(32 + (i * i + i // 7) % 90 for i in range(numbers)))


def measure(gsa):
    gsa, data = os.path.abspath(gsa), {"bench": "ranks", "load": os.getloadavg()[0], "clock": "cpu", "cases": []}
    for name, (batch, text) in RECIPES.items():
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            corpus(91000)
            one, data["build"] = measure_recipe(gsa, batch, text)
        data["cases"].append({"name": name, "batch": batch, **one})
    with open(os.path.join(RESULTS, "ranks.json"), "w", encoding="utf-8") as out:
        json.dump(data, out, indent=1)
        out.write("\n")


def two(gsa, turns=5, steps=150):
    """Wall clock. `bpt of 128`."""
    gsa, (batch, text), ratios = os.path.abspath(gsa), RECIPES["bpt of 128"], []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        corpus(91000)
        with open("recipe.ini", "w", encoding="utf-8") as recipe:
            recipe.write(f"{text}[train]\nseed = 3\nepochs = 100\nlr = 0.001\neval_every = 1000000\n")
        for _ in range(turns):
            one, both = (run(gsa, ranks, 1, batch, steps)[1]["tokens_per_second"] for ranks in (1, 2))
            ratios.append(both / one)
            print(f"one {one:.0f}, two {both:.0f} tokens a second: {both / one:.2f}; load {os.getloadavg()[0]:.1f}", flush=True)
    print(f"median {statistics.median(ratios):.2f}")


def memory(gsa, tokens=262144):
    """The most that one process ever had grows with fewer ranks, so it is the last run's."""
    gsa, text = os.path.abspath(gsa), (
        f"[task]\nname = language_modelling\n[model]\nencoder = bpt:k=4:causal=1*2\nhidden = 32\nheads = 4\nffn = 64\n[data]\ntrain = text\n"
        f"split = {tokens + 1},100\ntokens = bytes\nwindow = {tokens}\n[train]\nseed = 3\nepochs = 1\nbatch = 1\nlr = 0.002\nsplit = rows\n")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        corpus(tokens + 101)
        with open("recipe.ini", "w", encoding="utf-8") as recipe:
            recipe.write(text)
        rows = []
        for ranks in (4, 2, 1):
            result = run(gsa, ranks, PIECES, PIECES, 1)[1]
            rows.append((ranks, result["tape_bytes"], 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, result["dev_loss"]))
    for ranks, tensors, resident, loss in rows:
        print(f"{ranks} ranks: tensors {tensors / 1e6:.0f} MB, {ranks * tensors / rows[-1][1]:.2f} of 1/ranks; resident {resident / 1e6:.0f} MB, "
              f"{ranks * resident / rows[-1][2]:.2f}; dev loss {loss:.6f}")


def main():
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_btl_vader_single_copy_mechanism="none")
    if sys.argv[1:2] == ["--sent"]:
        print(sent_of(sys.argv[2], int(sys.argv[3])))
    elif sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2])
    elif sys.argv[1:2] == ["--two"]:
        two(sys.argv[2])
    elif sys.argv[1:2] == ["--memory"]:
        memory(sys.argv[2])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
