"""A training step by PyTorch and by gsa, in turn: torch_peers.py step. The same sizes, optimiser, clipping, dropout and running mean of the
weights; batches are ready before the clock starts (gsa builds its own while it runs). Examples of unlike length are made up to the longest
of their batch with PyTorch, whose batches are sorted by length as gsa's are."""
import copy
import os
import random
import statistics
import tempfile
import time

from models import models, ragged, step

RECIPES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../train/recipes")
# SST-5: lengths of the 157,401 phrases that the training trees hold, from the shortest to the longest in 21 equal steps; words of its
# vocabulary and of GloVe's 9,163 most frequent, and the columns of those vectors.
LENGTHS = [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 5, 5, 6, 7, 8, 10, 11, 14, 17, 22, 40]
WORDS, WIDTH, CLASSES, POOL = 20409, 50, 5, 16


# ---- batches -----------------------------------------------------------------------------------------------------------------------------


def summation_batch(torch, count=32, n=200, k=10, width=10):
    x = torch.rand(count, n, width)
    x[:, :, 0] = 0
    for one in x:
        one[torch.randperm(n)[:k], 0] = 1
    return dict(x=x, target=(x[:, :, :1] * x[:, :, 1:]).sum(1))


def phrases(count, seed):
    """Lists of words' numbers, 1 .. WORDS, of SST's lengths, each word drawn by Zipf's law."""
    draw = random.Random(seed)

    def length():
        at = draw.random() * (len(LENGTHS) - 1)
        low = int(at)
        return round(LENGTHS[low] + (at - low) * (LENGTHS[low + 1] - LENGTHS[low]))
    return [[int(WORDS ** draw.random()) for _ in range(length())] for _ in range(count)]


def sentiment_batches(torch, texts, size=64):
    """As gsa does: POOL batches' worth of examples at a time are sorted by length, then cut."""
    batches = []
    for pool in range(0, len(texts), POOL * size):
        part = sorted(texts[pool:pool + POOL * size], key=len)
        for i in range(0, len(part), size):
            batch = ragged(torch, part[i:i + size])
            batches.append(dict(batch, label=torch.randint(CLASSES, (len(batch["id"]),))))
    random.Random(2).shuffle(batches)
    return batches


def write_texts(folder, texts):
    with open(os.path.join(folder, "train.tsv"), "w", encoding="utf-8") as out:
        for i, text in enumerate(texts):
            out.write(f"{i % CLASSES}\t{' '.join(f'w{word}' for word in text)}\n")
    with open(os.path.join(folder, "vectors.txt"), "w", encoding="utf-8") as out:
        draw = random.Random(3)
        for word in range(1, WORDS + 1):
            out.write(f"w{word} {' '.join(f'{draw.gauss(0, 0.4):.3f}' for _ in range(WIDTH))}\n")


def byte_batches(torch, count, size=8, length=512):
    """Windows of random bytes: id [size, length] from 2 on, label the next byte."""
    return [dict(id=torch.randint(2, 258, (size, length)), label=torch.randint(256, (size, length))) for _ in range(count)]


def write_bytes(folder, count):
    with open(os.path.join(folder, "bytes"), "wb") as out:
        out.write(random.Random(4).randbytes(count))


# ---- steps -------------------------------------------------------------------------------------------------------------------------------


class Trainer:
    """Compiled: the model's forward and backward pass by torch.compile, of the same weights' first values."""

    def __init__(self, torch, model, batches, adam, decay, compiled=False):
        self.model = torch.compile(model) if compiled else model
        self.torch, self.batches, self.losses, self.decay = torch, batches, [], decay
        self.weights = list(model.parameters())
        self.adam = adam(self.weights)
        self.mean = [weight.detach().clone() for weight in self.weights] if decay else None

    def step(self):
        loss = step(self.torch, self.model, self.adam, self.batches[len(self.losses) % len(self.batches)], 5.0)
        if self.mean:
            self.torch._foreach_lerp_(self.mean, [weight.detach() for weight in self.weights], 1 - self.decay)
        self.losses.append(loss)

    def round(self, steps):
        """Mean milliseconds of a step: the wall's, the processor's."""
        start = time.perf_counter(), time.process_time()
        for _ in range(steps):
            self.step()
        return [1e3 * (end - begun) / steps for end, begun in zip((time.perf_counter(), time.process_time()), start)]


def cases(torch, options, folder):
    made, optim = models(torch), torch.optim
    star = made["star"](100, 10, 1, 9, width=10)
    full = made["full"](100, 10, 2, 9, 200, "gelu", pool=made["maximum"], width=10)
    sentiment = made["star"](100, 4, 2, CLASSES, middle=100, dropout_head=0.2, words=WORDS + 2, width=WIDTH, dropout=0.4)
    summation = [summation_batch(torch) for _ in range(8)]
    plain = [f"task.train={32 * (options.steps + 2)}", "task.dev=0", "task.test=0"]
    dense = plain + ["model.encoder=full*2", "model.ffn=200", "model.activation=gelu"]
    texts = phrases(POOL * 64 * 4, 1)
    write_texts(folder, texts)
    files = [f"data.train={folder}/train.tsv", f"data.vectors={folder}/vectors.txt", "data.subtrees=0", "data.unique=0"]

    causal = made["causal"](256, 4, 4, 1024, 258, 256, 512)
    write_bytes(folder, 4096 * (options.steps + 8))
    language = [f"data.train={folder}/bytes", "data.tokens=bytes", "data.split=0.95,0.05", "data.window=512", "data.stride=512",
                "train.batch_tokens=4096", "model.hidden=256", "model.ffn=1024", "model.position_max=512", "train.eval_every=1000000"]

    def adam(weights):
        return optim.Adam(weights, lr=0.001, fused=True)

    def adamw(weights):
        return optim.AdamW(weights, lr=0.001, weight_decay=0.01, fused=True)

    def both(model, *rest):
        return {"eager": Trainer(torch, model, *rest), "compiled": Trainer(torch, copy.deepcopy(model), *rest, compiled=True)}
    yield "masked-summation.ini", "star*1", plain, both(star, summation, adam, None)
    yield "masked-summation.ini", "full*2", dense, both(full, summation, adam, None)
    yield "tinyshakespeare.ini", "full:causal=1*4", language, both(causal, byte_batches(torch, 4), adamw, None)
    yield "sst5-star.ini", "star*2", files, both(sentiment, sentiment_batches(torch, texts), adamw, 0.998)


def steps(torch, options, gsa, clocks, say):
    with tempfile.TemporaryDirectory() as folder:
        for recipe, encoder, settings, trainers in cases(torch, options, folder):
            pool = trainers["eager"].batches
            count = len(pool) if recipe.startswith("sst5") else options.steps  # there all batches: they differ in size
            words = ["bench", "train", os.path.join(RECIPES, recipe), "--steps", str(count), "--runs", "1"]
            words += [word for one in settings for word in ("--set", one)]
            theirs, ours = {name: [] for name in trainers}, {clock: [] for clock in clocks}
            for trainer in trainers.values():
                trainer.round(max(3, len(pool)))  # each shape is compiled before it is timed
            for _ in range(options.rounds):
                for clock in clocks:
                    ours[clock].append(statistics.mean(gsa(clock, *words)["step_ms"]))
                for name, trainer in trainers.items():
                    theirs[name].append(trainer.round(count))
            facts = dict(recipe=recipe, encoder=encoder, threads=options.threads, rounds=options.rounds, steps=count)
            for name, trainer in trainers.items():
                own, taken = dict(facts, peer=name), dict(zip(("wall", "cpu"), zip(*theirs[name])))
                for clock in clocks:
                    each = [peer / mine for peer, mine in zip(taken[clock], ours[clock])]
                    own[clock] = dict(gsa_ms=statistics.median(ours[clock]), torch_ms=statistics.median(taken[clock]),
                                      gsa_least_ms=min(ours[clock]), torch_least_ms=min(taken[clock]), ratio=statistics.median(each),
                                      low=min(each), high=max(each), least_ratio=min(taken[clock]) / min(ours[clock]))
                say(**own, loss_first=trainer.losses[0], loss_last=trainer.losses[-1])
