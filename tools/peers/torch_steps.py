"""A training step by PyTorch and by gsa, in turn: torch_peers.py step. The same sizes, optimiser, clipping, dropout and running mean of the
weights; batches are ready before the clock starts (gsa builds its own while it runs). Examples of unlike length are made up to the longest
of their batch with PyTorch, whose batches are sorted by length as gsa's are."""
import math
import os
import random
import statistics
import tempfile
import time

RECIPES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../train/recipes")
# SST-5: lengths of the 157,401 phrases that the training trees hold, from the shortest to the longest in 21 equal steps; words of its
# vocabulary and of GloVe's 9,163 most frequent, and the columns of those vectors.
LENGTHS = [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 5, 5, 6, 7, 8, 10, 11, 14, 17, 22, 40]
WORDS, WIDTH, CLASSES, POOL = 20409, 50, 5, 16


def layers(torch, hidden, heads):
    nn = torch.nn

    class Phase(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Linear(hidden, hidden, bias=False) for _ in range(4))
            self.norm = nn.LayerNorm(hidden, eps=1e-6)

        def split(self, layer, x):
            return layer(x).unflatten(-1, (heads, hidden // heads))

        def update(self, a):
            return self.norm(torch.relu(self.o(a)))

    def few(q, keys, values):
        """Lists of planes [b, n, heads, d], one a source: scores are joined, planes are not. A third less time than einsum over planes
        stacked to [b, n, sources, heads, d]."""
        q = q / math.sqrt(q.shape[-1])
        p = torch.softmax(torch.stack([(q * k).sum(-1) for k in keys], -1), -1)
        return sum(p[..., i:i + 1] * v for i, v in enumerate(values)).flatten(2)

    def many(q, k, v, bias):
        """q [b, 1, heads, d]; k, v [b, n, heads, d]; bias: what is added to scores"""
        s = torch.einsum("bqhd,bnhd->bhqn", q, k) / math.sqrt(q.shape[-1])
        p = torch.softmax(s if bias is None else s + bias, -1)
        return torch.einsum("bhqn,bnhd->bqhd", p, v).flatten(2)

    class StarLayers(nn.Module):
        """Guo et al. 2019, eq. 4 to 8. In the first layer a token's embedding is its state, so that K and V of both are made once.
        `batch`: {} where all examples are as long as the batch, else what ragged() says of them."""

        def __init__(self, count):
            super().__init__()
            self.down, self.up = (nn.ModuleList(Phase() for _ in range(count)) for _ in range(2))

        def forward(self, e, batch):
            ragged = "last" in batch
            h = e
            s = (e * batch["share"]).sum(1, keepdim=True) if ragged else e.mean(1, keepdim=True)
            for i, (down, up) in enumerate(zip(self.down, self.up)):
                planes = []
                for layer in (down.k, down.v):
                    own, far = down.split(layer, h), down.split(layer, s)
                    origin = own if i == 0 else down.split(layer, e)
                    left, right = own.roll(1, 1), own.roll(-1, 1)
                    if ragged:
                        first = torch.cat([own[batch["row"], batch["last"]][:, None], own[:, :-1]], 1)
                        left, right = first, torch.where(batch["is_last"], own[:, :1], right)
                    planes.append([left, own, right, origin, far])
                h = down.update(few(down.split(down.q, h), *planes))
                read = torch.cat([s, h], 1)
                k, v = (up.split(layer, read) for layer in (up.k, up.v))
                s = up.update(many(up.split(up.q, s), k, v, batch.get("bias")))
            highest = h.masked_fill(batch["beyond"], -math.inf) if ragged else h
            return s[:, 0] + highest.max(1).values

    return StarLayers


def models(torch):
    nn = torch.nn

    class Summation(nn.Module):
        def __init__(self, layers):
            super().__init__()
            self.start, self.layers, self.head = nn.Linear(10, 100), layers, nn.Linear(100, 9)

        def loss(self, batch):
            return ((self.head(self.layers(self.start(batch["x"]), batch)) - batch["target"]) ** 2).mean()

    class Dense(nn.Module):
        def __init__(self):
            super().__init__()
            layer = nn.TransformerEncoderLayer(100, 10, 200, dropout=0.0, activation="gelu", batch_first=True)
            self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

        def forward(self, x, _):
            return self.layers(x).max(1).values

    class Sentiment(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.start = nn.Embedding(WORDS + 2, WIDTH, padding_idx=0), nn.Linear(WIDTH, 100)
            self.layers = layers(torch, 100, 4)(2)
            self.head = nn.Sequential(nn.Linear(100, 100), nn.ReLU(), nn.Dropout(0.2), nn.Linear(100, CLASSES))

        def loss(self, batch):
            e = torch.nn.functional.dropout(self.start(self.embedding(batch["x"])), 0.4)
            return torch.nn.functional.cross_entropy(self.head(self.layers(e, batch)), batch["target"])

    return dict(star=lambda: Summation(layers(torch, 100, 10)(1)), full=lambda: Summation(Dense()), sentiment=Sentiment)


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


def ragged(torch, texts):
    lengths = torch.tensor([len(text) for text in texts])
    place, row = torch.arange(int(lengths.max()))[None], torch.arange(len(texts))
    beyond = place >= lengths[:, None]
    x = torch.zeros(beyond.shape, dtype=torch.long)
    for i, text in enumerate(texts):
        x[i, :len(text)] = torch.tensor(text)
    own = torch.cat([torch.zeros(len(texts), 1), torch.where(beyond, -math.inf, 0.0)], 1)  # the relay reads itself too
    return dict(x=x, target=torch.randint(CLASSES, (len(texts),)), row=row, last=lengths - 1, beyond=beyond[..., None],
                is_last=(place == lengths[:, None] - 1)[..., None, None], share=(~beyond / lengths[:, None])[..., None],
                bias=own[:, None, None])


def sentiment_batches(torch, texts, size=64):
    """As gsa does: POOL batches' worth of examples at a time are sorted by length, then cut."""
    batches = []
    for pool in range(0, len(texts), POOL * size):
        part = sorted(texts[pool:pool + POOL * size], key=len)
        batches += [ragged(torch, part[i:i + size]) for i in range(0, len(part), size)]
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


# ---- steps -------------------------------------------------------------------------------------------------------------------------------


class Trainer:
    def __init__(self, torch, model, batches, adam, decay):
        self.torch, self.model, self.batches, self.losses, self.decay = torch, model, batches, [], decay
        self.weights = list(model.parameters())
        self.adam = adam(self.weights)
        self.mean = [weight.detach().clone() for weight in self.weights] if decay else None

    def step(self):
        loss = self.model.loss(self.batches[len(self.losses) % len(self.batches)])
        self.adam.zero_grad(set_to_none=True)
        loss.backward()
        self.torch.nn.utils.clip_grad_norm_(self.weights, 5.0)
        self.adam.step()
        if self.mean:
            self.torch._foreach_lerp_(self.mean, [weight.detach() for weight in self.weights], 1 - self.decay)
        self.losses.append(loss.item())

    def round(self, steps):
        """Mean milliseconds of a step: the wall's, the processor's."""
        start = time.perf_counter(), time.process_time()
        for _ in range(steps):
            self.step()
        return [1e3 * (end - begun) / steps for end, begun in zip((time.perf_counter(), time.process_time()), start)]


def cases(torch, options, folder):
    make, optim = models(torch), torch.optim
    summation = [summation_batch(torch) for _ in range(8)]
    plain = [f"task.train={32 * (options.steps + 2)}", "task.dev=0", "task.test=0"]
    dense = plain + ["model.encoder=full*2", "model.ffn=200", "model.activation=gelu"]
    texts = phrases(POOL * 64 * 4, 1)
    write_texts(folder, texts)
    files = [f"data.train={folder}/train.tsv", f"data.vectors={folder}/vectors.txt", "data.subtrees=0", "data.unique=0"]

    def adam(weights):
        return optim.Adam(weights, lr=0.001)

    def adamw(weights):
        return optim.AdamW(weights, lr=0.001, weight_decay=0.01)
    yield "masked-summation.ini", "star*1", plain, Trainer(torch, make["star"](), summation, adam, None)
    yield "masked-summation.ini", "full*2", dense, Trainer(torch, make["full"](), summation, adam, None)
    yield "sst5-star.ini", "star*2", files, Trainer(torch, make["sentiment"](), sentiment_batches(torch, texts), adamw, 0.998)


def steps(torch, options, gsa, clocks, say):
    with tempfile.TemporaryDirectory() as folder:
        for recipe, encoder, settings, trainer in cases(torch, options, folder):
            count = len(trainer.batches) if recipe.startswith("sst5") else options.steps  # there all batches: they differ in size
            words = ["bench", "train", os.path.join(RECIPES, recipe), "--steps", str(count), "--runs", "1"]
            words += [word for one in settings for word in ("--set", one)]
            trainer.round(3)
            theirs, ours = [], {clock: [] for clock in clocks}
            for _ in range(options.rounds):
                for clock in clocks:
                    ours[clock].append(statistics.mean(gsa(clock, *words)["step_ms"]))
                theirs.append(trainer.round(count))
            theirs = dict(zip(("wall", "cpu"), zip(*theirs)))
            facts = dict(recipe=recipe, encoder=encoder, threads=options.threads, rounds=options.rounds, steps=count)
            for clock in clocks:
                each = [peer / own for peer, own in zip(theirs[clock], ours[clock])]
                facts[clock] = dict(gsa_ms=statistics.median(ours[clock]), torch_ms=statistics.median(theirs[clock]),
                                    ratio=statistics.median(each), low=min(each), high=max(each))
            say(**facts, loss_first=trainer.losses[0], loss_last=trainer.losses[-1])
