#!/usr/bin/env python3
"""A training step of the same model on the same batch from the same weights: gsa, call by call and as graphs, PyTorch eager and compiled.

    python3 step_peers.py GSA FOLDER [--device cuda|cpu] [--threads N] [--steps N] [--quick] [--case NAME]
    python3 step_peers.py --list

Cases: Star-Transformer on Masked Summation (masked-summation.ini), Star-Transformer and Transformer in SST's setting (sst5.ini), BP-Transformer as
a language model (enwik8-bpt.ini; in PyTorch by gathered edges and by a dense mask). Data are made here, one batch of them, so that every
step has it; no dropout, Adam, a constant rate. Losses of the first steps of both must agree, or the case fails. gsa's steps include reading
and laying out the batch, PyTorch's batch stays on the device. One JSON object a line; FOLDER is written anew. Exits 1 when a case fails, 77
without PyTorch or the device.
"""
import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
sys.path.insert(0, os.path.join(ROOT, "tools/lab/peers"))
from models import models, ragged, read_weights, step  # noqa: E402

COMPARED = 5  # steps whose losses must agree
LR = 0.001
PLAIN = ["train.optimizer=adam", f"train.lr={LR}", "train.beta2=0.999", "train.schedule=constant", "train.warmup=0", "train.weight_decay=0",
         "train.average=0", "train.select=last", "train.report_every=1", "train.eval_every=0", "train.clip=5", "model.dropout_input=0",
         "model.dropout_head=0"]


def say(**facts):
    print(json.dumps(facts), flush=True)


class Refused(Exception):
    pass


def gsa(options, words, settings):
    command = [options.gsa, *words] + [word for one in settings for word in ("--set", one)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Refused(f"{' '.join(words[:2])}: {(done.stderr.strip().splitlines() or ['no word'])[-1]}")
    return done.stdout


# ---- gsa's side ---------------------------------------------------------------------------------------------------------------------------


def weights_and_losses(torch, options, case, device):
    """The weights as they are made, words as they are numbered, and the losses of the first steps."""
    recipe, folder = os.path.join(ROOT, "train/recipes", case["recipe"]), os.path.join(options.folder, case["name"])
    common = ["train", recipe, "--quiet", "--threads", str(options.threads), "--device"]
    gsa(options, common + [device, "--out", folder + "-start"], case["set"] + PLAIN + ["train.epochs=0"])
    gsa(options, common + [device, "--out", f"{folder}-{device}"],
        case["set"] + PLAIN + ["train.epochs=1000", f"train.max_steps={COMPARED}"])
    with open(f"{folder}-{device}/log.jsonl") as log:
        lines = [json.loads(line) for line in log]
    start = folder + "-start/step-0/"
    words = {}
    if os.path.exists(start + "vocab.txt"):
        with open(start + "vocab.txt") as file:
            words = {line.rstrip("\n").split("\t")[0]: 2 + i for i, line in enumerate(file)}
    labels = []
    if os.path.exists(start + "labels.txt"):
        with open(start + "labels.txt") as file:
            labels = file.read().split()
    losses = [line["loss"] for line in lines if line.get("kind") == "step"]
    return read_weights(torch, start + "model.safetensors"), words, labels, losses


def time_gsa(options, case, device):
    """Median milliseconds of a step, and what the run said of graphs."""
    recipe, out = os.path.join(ROOT, "train/recipes", case["recipe"]), os.path.join(options.folder, "bench.json")
    words = ["bench", "train", recipe, "--device", device, "--threads", str(options.threads), "--steps", str(options.steps), "--runs", "1",
             "--json", out]
    gsa(options, words, case["set"] + PLAIN)
    with open(out) as file:
        one = json.load(file)["cases"][0]
    told = {key: one[key] for key in ("graph_steps",) if key in one}
    return dict(ms=statistics.median(one["step_ms"]), **told)


# ---- data, and the same batch for PyTorch ----------------------------------------------------------------------------------------------


def philox(torch, counter, key):
    """Philox4x32-10 of columns of counters, in 64-bit integers."""
    low = 0xFFFFFFFF
    c = list(counter)
    for _ in range(10):
        halves = []
        for factor, x in ((0xD2511F53, c[0]), (0xCD9E8D57, c[2])):  # products of 64 bits from halves of 16: int64 has a sign
            small, large = x * (factor & 0xFFFF), x * (factor >> 16)
            total = small + ((large & 0xFFFF) << 16)
            halves.append((((large >> 16) + (total >> 32)) & low, total & low))
        (ah, al), (bh, bl) = halves
        c = [bh ^ c[1] ^ key[0], bl, ah ^ c[3] ^ key[1], al]
        key = ((key[0] + 0x9E3779B9) & low, (key[1] + 0xBB67AE85) & low)
    return c


def summation(torch, count, n, k, d, seed):
    """Examples 0..count-1 of the task's training data (train/data/summation.c)."""
    index, row = (x.flatten() for x in torch.meshgrid(torch.arange(count), torch.arange(n), indexing="ij"))
    nought, values = torch.zeros_like(index), []
    for block in range((d + 3) // 4):
        values += philox(torch, (index, nought, row, nought + block), (seed, 0x6D61736B))
    words = torch.stack(values[:d], 1).reshape(count, n, d)
    x = (words >> 8).float() * 2.0 ** -24
    for example in range(count):
        wanted = k
        for r in range(n):
            one = int(words[example, r, 0]) * (n - r) < wanted << 32
            x[example, r, 0] = float(one)
            wanted -= one
    return dict(x=x, target=(x[:, :, :1] * x[:, :, 1:]).sum(1))


def make_text(path, count, seed):
    """As tools/lab/gpu/train-check: a label by which of two kinds of words there are more of."""
    dice, lines = random.Random(seed), []
    while len(lines) < count:
        words = [dice.randrange(200) for _ in range(8 + dice.randrange(33))]
        mood = sum(1 if w < 20 else -1 if w < 40 else 0 for w in words)
        if mood:
            lines.append((("good" if mood > 0 else "bad"), [f"w{w}" for w in words]))
    with open(path, "w") as file:
        file.writelines(f"{label}\t{' '.join(words)}\n" for label, words in lines)
    return lines


def sentences(torch, lines, words, labels):
    return dict(ragged(torch, [[words[w] for w in line[1]] for line in lines]), label=torch.tensor([labels.index(line[0]) for line in lines]))


def windows(torch, text, words, window, first_class=2):
    id = torch.tensor([words[c] for c in text])
    before = torch.cat([torch.tensor([words["\\n"]]), id[:-1]])
    return dict(id=before.reshape(-1, window), label=id.reshape(-1, window) - first_class)


def edges_of(torch, options, pattern, length):
    """Destinations, sources and labels of one graph, and its nodes: the tokens, then the others."""
    text = subprocess.run([options.gsa, "graph", "--topology", pattern, "--length", str(length), "--format", "graphml", "--out", "-"],
                          check=True, capture_output=True, text=True).stdout
    rows, sources, labels, nodes = [], [], [], 0
    for line in text.splitlines():
        nodes += "<node " in line
        if "<edge " not in line:
            continue
        parts = line.split('"')
        sources.append(int(parts[3][1:])), rows.append(int(parts[5][1:]))
        labels.append(int(line.split('"e_label">')[1].split("<")[0]))
    return [torch.tensor(x) for x in (rows, sources, labels)], nodes


# ---- the cases ------------------------------------------------------------------------------------------------------------------------------


def cases_of(torch, options):
    """name, recipe, settings, batch(words, labels), peers: {name: model()}"""
    made, folder, quick = models(torch), options.folder, options.quick
    few = 8 if quick else 32
    yield dict(name="masked-summation-star", recipe="masked-summation.ini",
               set=[f"task.train={few}", "task.dev=0", "task.test=0", f"train.batch={few}"],
               batch=lambda words, labels: summation(torch, few, 200, 10, 10, 1),
               peers={"": lambda: made["star"](100, 10, 1, 9, width=10)})
    many, path = (16 if quick else 64), os.path.join(folder, "text.tsv")
    lines = make_text(path, many, 5)
    text = [f"data.train={path}", "data.vocabulary=train", "data.subtrees=0", f"train.batch={many}"]
    width = dict(middle=100, words=2 + len({w for _, words in lines for w in words}), positions=256)
    for encoder, peer in (("star*2", lambda: made["star"](100, 4, 2, 2, **width)),
                          ("full*2", lambda: made["full"](100, 4, 2, 2, 200, "relu", **width))):
        yield dict(name=f"text-{encoder[:4]}", recipe="sst5.ini", set=text + [f"model.encoder={encoder}"],
                   batch=lambda words, labels: sentences(torch, lines, words, labels), peers={"": peer})
    window, count, layers = (128, 4, 2) if quick else (512, 8, 4)
    path, pattern = os.path.join(folder, "letters.txt"), "bpt:k=16:causal=1"
    letters = "".join(random.Random(6).choices("etaoinshrdlu", k=window * count))
    with open(path, "w") as file:
        file.write(letters)
    edges, nodes = edges_of(torch, options, pattern, window)

    def tree(kind):
        graph = made[kind](*(x.to(options.device) for x in edges), nodes)
        return made["tree"](128, 4, layers, 512, 258, 256, 165, nodes - window, graph, 1e-5)
    yield dict(name="language-bpt", recipe="enwik8-bpt.ini",
               set=[f"data.train={path}", f"data.split={window * count},0", f"data.window={window}", f"data.stride={window}",
                    f"train.batch_tokens={window * count}", f"model.encoder={pattern}*{layers}", "task.aux=0"],
               batch=lambda words, labels: windows(torch, letters, words, window),
               peers={", gathered edges": lambda: tree("edges"), ", dense mask": lambda: tree("dense")})


def time_torch(torch, options, model, batch, losses, compiled):
    """Median milliseconds of a step whose loss is read, after those whose losses are compared. Compiled: as CUDA graphs on a GPU."""
    adam, times = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=LR, fused=True), []
    model = torch.compile(model, mode="reduce-overhead", dynamic=False) if compiled else model
    gap = 0.0
    for i in range(COMPARED + options.steps):
        start = time.perf_counter()
        loss = step(torch, model, adam, batch, 5.0)
        if options.device == "cuda":
            torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
        if i < COMPARED:
            gap = max(gap, abs(loss - losses[i]) / max(1.0, abs(losses[i])))
    return statistics.median(times[COMPARED:]), gap


def run_case(torch, options, case):
    """1 when the peers' losses are gsa's."""
    weights, words, labels, losses = weights_and_losses(torch, options, case, options.device)
    batch = {name: x.to(options.device) for name, x in case["batch"](words, labels).items()}
    sides = [options.device] + (["cuda-graphs"] if options.device == "cuda" else [])
    times, good = {side: time_gsa(options, case, side) for side in sides}, 1
    facts = dict(case=case["name"], device=options.device, threads=options.threads, steps=options.steps, loss_first=losses[0])
    for side, one in times.items():
        say(**facts, peer=f"gsa --device {side}", **one)
    for name, make in case["peers"].items():
        for way in ("eager", "compiled"):
            model = make().to(options.device)
            model.load({key: x.to(options.device) for key, x in weights.items()})
            ms, gap = time_torch(torch, options, model, batch, losses, way == "compiled")
            same = gap < 1e-3
            good &= same
            say(**facts, peer=f"PyTorch {way}{name}", ms=ms, gap=gap, same=same,
                **{f"over_{side}": ms / one["ms"] for side, one in times.items()})
    return good


def skip(why):
    print(f"step_peers.py: nothing is timed: {why}", file=sys.stderr)
    sys.exit(77)


CASES = ["masked-summation-star", "text-star", "text-full", "language-bpt"]


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(CASES))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("gsa")
    parser.add_argument("folder")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--case", choices=CASES)
    options = parser.parse_args()
    try:
        import torch
    except ImportError as missing:
        skip(missing)
    if options.device == "cuda" and not torch.cuda.is_available():
        skip("PyTorch sees no CUDA device (--device cpu runs it without)")
    if options.quick:
        options.steps = min(options.steps, 5)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    shutil.rmtree(options.folder, ignore_errors=True)
    os.makedirs(options.folder)
    options.gsa = os.path.abspath(options.gsa)
    say(peer="PyTorch", version=torch.__version__, device=torch.cuda.get_device_name() if options.device == "cuda" else "cpu")
    good = 1
    for case in cases_of(torch, options):
        if options.case not in (None, case["name"]):
            continue
        try:
            good &= run_case(torch, options, case)
        except (Refused, RuntimeError) as error:  # a case that cannot run is a result, not the end
            good = 0
            say(case=case["name"], failed=str(error).splitlines()[0][:300])
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
