"""gsa's reports against those of scikit-learn, seqeval and sacreBLEU, number by number, to 1e-9.

check_report.py golden           prints golden_report.h: what these packages say of made-up targets, for test_report.c
check_report.py check GSA FILE   trains small models of several tasks with the program GSA, on made-up data, and compares
                                 `gsa eval --json` with what the packages make of the lines of `gsa predict`.
                                 FILE is the plugin of topology `file`. Works in a temporary folder.
check_report.py model GSA MODEL DATA   compares one trained model of texts, pairs or tags; DATA is its dev data
Exits with 77 where a package is missing."""
import json
import os
import random
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy
    import sacrebleu
    import seqeval.metrics
    import seqeval.scheme
    import sklearn.metrics
except ImportError as missing:
    print(f"check_report.py: skipped, {missing}")
    sys.exit(77)

warnings.filterwarnings("ignore")
checks = 0


def same(title, got, want):
    """Recursively, numbers to 1e-9."""
    global checks
    if isinstance(want, dict):
        if not isinstance(got, dict) or set(got) != set(want):
            sys.exit(f"check_report.py: {title}: members {list(got)}, expected {list(want)}")
        for key in want:
            same(f"{title}.{key}", got[key], want[key])
    elif isinstance(want, (list, tuple)):
        if len(got) != len(want):
            sys.exit(f"check_report.py: {title}: {len(got)} items, expected {len(want)}")
        for i, one in enumerate(want):
            same(f"{title}[{i}]", got[i], one)
    elif want is None or isinstance(want, str):
        checks += 1
        if got != want:
            sys.exit(f"check_report.py: {title}: {got!r}, expected {want!r}")
    else:
        checks += 1
        if not abs(got - want) <= 1e-9:
            sys.exit(f"check_report.py: {title}: {got!r}, expected {want!r}")


def plain(x):
    """NumPy's numbers as Python's."""
    if isinstance(x, dict):
        return {str(k): plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple, numpy.ndarray)):
        return [plain(v) for v in x]
    if isinstance(x, (numpy.integer, int)):
        return int(x)
    return float(x) if isinstance(x, (numpy.floating, float)) else x


# ---- what the packages say -----------------------------------------------------------------------


def of_labels(gold, found):
    return plain({
        "classification_report": sklearn.metrics.classification_report(gold, found, output_dict=True, zero_division=0),
        "confusion": sklearn.metrics.confusion_matrix(gold, found),
        "labels": sorted(set(gold) | set(found)),
        "targets": len(gold),
    })


def of_probabilities(names, gold, found, p):
    right = numpy.array([names.index(g) for g in gold])
    top = numpy.array([names.index(f) for f in found])
    classes = list(range(len(names)))
    confidence = p[numpy.arange(len(p)), top]
    bin_of = numpy.clip(numpy.ceil(confidence * 10).astype(int) - 1, 0, 9)
    bins, ece = [], 0
    for b in range(10):
        here = bin_of == b
        n = int(here.sum())
        bins.append({"from": b / 10, "to": (b + 1) / 10, "count": n,
                     "confidence": confidence[here].mean() if n else None,
                     "accuracy": (right == top)[here].mean() if n else None})
        if n:
            ece += n / len(p) * abs((right == top)[here].mean() - confidence[here].mean())
    one_hot = numpy.eye(len(names))[right]
    tops = {}
    for k in (1, 2, 3, 5, 10):
        if k < len(names):
            tops[str(k)] = ((right == top).mean() if len(names) == 2 else
                            sklearn.metrics.top_k_accuracy_score(right, p, k=k, labels=classes))
    return plain({"top_k": tops,
                  "calibration": {"ece": ece, "brier": ((p - one_hot) ** 2).sum(axis=1).mean(),
                                  "nll": sklearn.metrics.log_loss(right, p, labels=classes), "bins": bins}})


def of_entities(gold, found):
    return plain(seqeval.metrics.classification_report(gold, found, output_dict=True, zero_division=0))


# ---- golden numbers ------------------------------------------------------------------------------


class Dice:
    """The same numbers as test_report.c draws."""

    def __init__(self, state):
        self.state = state

    def next(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 11) / 2**53


def rows(classes=6, count=400):
    """Class 4 is found and never right; class 5 is neither."""
    dice, logits, gold = Dice(7), [], []
    for i in range(count):
        row = [6 * dice.next() - 3 for _ in range(classes)]
        row[5] = -40.0
        best = row.index(max(row))
        other = int(5 * dice.next())
        right = best if dice.next() < 0.6 else other
        logits.append(row)
        gold.append(-1 if i % 17 == 0 else 0 if right == 4 else right)
    return numpy.array(logits), gold


def tags(sentences=60):
    dice, letters, types = Dice(11), ["B", "I", "O", "I", "O"], ["LOC", "ORG", "PER"]
    gold, found = [], []

    def draw():
        letter = letters[int(5 * dice.next())]
        kind = types[int(3 * dice.next())]
        return letter if letter == "O" else f"{letter}-{kind}"

    for _ in range(sentences):
        gold.append([draw() for _ in range(1 + int(12 * dice.next()))])
        found.append([tag if dice.next() < 0.7 else draw() for tag in gold[-1]])
    return gold, found


def quoted(value):
    text = json.dumps(value)
    parts = [text[i:i + 80] for i in range(0, len(text), 80)]
    return "\n".join('    "' + part.replace("\\", "\\\\").replace('"', '\\"') + '"' for part in parts)


def golden():
    names = ["O", "b", "y", "z", "\u00e4", "\u00f6"]
    logits, right = rows()
    kept = [i for i, g in enumerate(right) if g >= 0]
    p = numpy.exp(logits - logits.max(axis=1, keepdims=True))
    p = (p / p.sum(axis=1, keepdims=True))[kept]
    gold = [names[right[i]] for i in kept]
    found = [names[int(logits[i].argmax())] for i in kept]
    said = of_labels(gold, found) | of_probabilities(names, gold, found, p)
    entities = of_entities(*tags())
    pairs = [("a b c d e", "a b c d e"), ("a b c", "a b x"), ("a", "a b c d"), ("x y z", "a b c"),
             ("the cat sat on the mat today", "the cat sat on a mat")]
    bleu = [sacrebleu.sentence_bleu(h, [r]).score for h, r in pairs]
    sizes = [abs(x) for x in logits.ravel()[:101]]
    quantiles = {str(q): float(numpy.quantile(sizes, q)) for q in (0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1)}
    print("/* golden_report.h - what scikit-learn, seqeval, sacreBLEU and NumPy say of the targets that test_report.c makes.")
    print(" * Printed by check_report.py golden. */")
    print("#ifndef GSA_TEST_GOLDEN_REPORT_H\n#define GSA_TEST_GOLDEN_REPORT_H\n\n/* clang-format off */")
    print(f"static const char golden_classes[] =\n{quoted(said)};")
    print(f"static const char golden_entities[] =\n{quoted(entities)};")
    print(f"static const char golden_quantiles[] =\n{quoted(quantiles)};")
    print("static const struct {\n    const char *translation, *reference;\n    double bleu;\n} golden_bleu[] = {")
    for (h, r), score in zip(pairs, bleu):
        print(f'    {{ "{h}", "{r}", {score!r} }},')
    print("};\n/* clang-format on */\n\n#endif")


# ---- models --------------------------------------------------------------------------------------


def run(gsa, *args, stdin=None):
    done = subprocess.run([gsa, *map(str, args)], capture_output=True, encoding="utf-8", input=stdin)
    if done.returncode != 0:
        sys.exit(f"check_report.py: {args} failed: {done.stderr}")
    return done.stdout


def report_of(gsa, model, folder, *args):
    path = os.path.join(folder, "report.json")
    run(gsa, "eval", "--model", model, "--quiet", "--json", path, "--report", os.path.join(folder, "report.txt"),
        "--set", "train.batch=1", "--set", "train.batch_tokens=0", *args)
    with open(path, encoding="utf-8") as file:
        return json.load(file)["splits"]["dev"]


def compare_classes(gsa, model, folder, gold, lines, only=None):
    """only: of the lines that are predicted those that are of dev."""
    split = report_of(gsa, model, folder)
    out = run(gsa, "predict", "--model", model, "--quiet", "--proba", "all", "--set", "train.batch=1", "--set",
              "train.batch_tokens=0", stdin=lines)
    rows = [line.split("\t") for line in out.rstrip("\n").split("\n")]
    names = rows[0][0::2]
    p = numpy.array([[float(x) for x in row[1::2]] for row in rows])
    if only is not None:
        p = p[only]
    found = [names[int(row.argmax())] for row in p]
    want = of_labels(gold, found) | of_probabilities(names, gold, found, p)
    same("dev", {key: split[key] for key in want}, want)
    print(f"  {len(gold)} targets, {len(names)} labels: equal")


def read_tags(text, tab):
    """The columns of each token, sentence by sentence. Of CoNLL-U comments, ranges and empty nodes are no tokens."""
    sentences, now = [], []
    for line in text.split("\n") + [""]:
        unit = tab and line[:1].isdigit() and not line.split("\t")[0].isdigit()
        if unit or line.startswith("#") and tab:
            continue
        if line.strip() and not line.startswith("-DOCSTART-"):
            now.append(line.split("\t") if tab else line.split())
        elif now:
            sentences.append(now)
            now = []
    return sentences


def compare_tags(gsa, model, folder, data, scheme=None):
    split = report_of(gsa, model, folder)
    with open(data, encoding="utf-8") as file:
        text = file.read()
    out = run(gsa, "predict", "--model", model, "--quiet", "--set", "train.batch=1", "--set", "train.batch_tokens=0",
              stdin=text)
    sentences = read_tags(out, "\t" in out)
    column = 3 if len(sentences[0][0]) == 11 else -2
    gold = [[token[column] for token in s] for s in sentences]
    found = [[token[-1] for token in s] for s in sentences]
    want = of_labels(sum(gold, []), sum(found, []))
    same("dev", {key: split[key] for key in want}, want)
    if "entities" in split:
        same("dev.entities", split["entities"], of_entities(gold, found))
    if scheme:
        same("dev.entities_strict", split["entities_strict"],
             plain(seqeval.metrics.classification_report(gold, found, output_dict=True, zero_division=0, mode="strict",
                                                         scheme=getattr(seqeval.scheme, scheme))))
    print(f"  {sum(map(len, gold))} tokens, {len(split['labels'])} tags: equal")


def put(folder, name, lines):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in lines))
    return path


MODEL = "[model]\nencoder = {}\nhidden = 8\nheads = 2\nffn = 8\ndropout_input = 0\nposition = none\n"
TRAIN = "[train]\nseed = 1\nepochs = {}\nbatch = 8\nlr = 0.01\n"


def train(gsa, folder, name, head, encoder, epochs, *args):
    recipe = put(folder, name + ".ini", [head + MODEL.format(encoder) + TRAIN.format(epochs)])
    model = os.path.join(folder, name)
    run(gsa, "train", recipe, "--out", model, "--quiet", "--threads", 1, *args)
    return model


def data_args(folder, name, make, count=(160, 120)):
    files = [put(folder, f"{name}.{split}", [make() for _ in range(n)]) for split, n in zip(("train", "dev"), count)]
    return files[1], ["--set", f"data.train={files[0]}", "--set", f"data.dev={files[1]}"]


def texts(gsa, folder, dice):
    words = [f"w{i}" for i in range(30)]

    def line():
        label = dice.choice(["bad", "fair", "fine", "good"])
        kept = dice.sample(words, 6) + [label] * (dice.random() < 0.5)
        dice.shuffle(kept)
        return f"{label}\t{' '.join(kept)}"

    dev, args = data_args(folder, "texts", line)
    model = train(gsa, folder, "text", "[task]\nname = text_classification\n[data]\nformat = tsv\n", "star", 3, *args)
    both = [line.rstrip("\n").split("\t") for line in open(dev, encoding="utf-8")]
    compare_classes(gsa, model, folder, [g for g, _ in both], "".join(t + "\n" for _, t in both))


def pairs(gsa, folder, dice):
    words = [f"w{i}" for i in range(12)]

    def line():
        a, b = dice.sample(words, 4), dice.sample(words, 3)
        return f"{'yes' if set(a) & set(b) else 'no'}\t{' '.join(a)}\t{' '.join(b)}"

    dev, args = data_args(folder, "pairs", line)
    model = train(gsa, folder, "pair", "[task]\nname = sentence_pairs\n[data]\nformat = tsv\n", "star", 3, *args)
    three = [line.rstrip("\n").split("\t") for line in open(dev, encoding="utf-8")]
    compare_classes(gsa, model, folder, [g for g, _, _ in three], "".join(f"{a}\t{b}\n" for _, a, b in three))


def tagged(gsa, folder, dice, spans):
    def token():
        i = dice.randrange(20)
        return f"n{i}", ["NOUN", "VERB", "ADJ"][i % 3] if dice.random() < 0.8 else "X"

    def span_lines():
        lines = []
        while len(lines) < 8:
            kind = dice.choice(["LOC", "PER", ""])
            size = dice.randint(1, 3)
            lines += [f"{kind.lower() or 'x'}{dice.randrange(9)} "
                      + (f"{'B' if i == 0 else 'I'}-{kind}" if kind else "O") for i in range(size)]
        return "\n".join(lines) + "\n"

    def plain_lines():
        return "\n".join("\t".join(token()) for _ in range(7)) + "\n"

    name = "spans" if spans else "tags"
    dev, args = data_args(folder, name, span_lines if spans else plain_lines, (40, 30))
    model = train(gsa, folder, name + "-model", "[task]\nname = tagging\n", "star", 2, *args)
    compare_tags(gsa, model, folder, dev, scheme="IOB2" if spans else None)


def nodes(gsa, folder, dice, plugin):
    labels, lines = [], []
    for i in range(90):
        label = dice.choice(["one", "two", "three"])
        split = ["train", "dev"][i % 2]
        wrong = dice.random() < 0.3
        labels.append((label, split))
        feature = (["one", "two", "three"].index(label) + wrong) % 3
        lines.append(f"{i}\t{split}\t{label}\t{feature} {3 + dice.randrange(5)}")
    edges = put(folder, "edges.txt", [f"{i} {(i * 7 + 1) % 90}" for i in range(90)])
    data = put(folder, "nodes.tsv", lines)
    recipe = (f"[task]\nname = node_classification\n[encoder.1]\npath = {edges}\n"
              f"[data]\ntrain = {data}\n")
    model = train(gsa, folder, "nodes", recipe, "file", 20, "--set", "train.batch=1", "--plugin", plugin)
    compare_classes(gsa, model, folder, [g for g, s in labels if s == "dev"], "".join(x + "\n" for x in lines),
                    only=[i for i, (_, s) in enumerate(labels) if s == "dev"])


def check(gsa, plugin):
    with tempfile.TemporaryDirectory() as folder:
        for task in (texts, pairs):
            task(gsa, folder, random.Random(1))
        for spans in (0, 1):
            tagged(gsa, folder, random.Random(2), spans)
        nodes(gsa, folder, random.Random(3), plugin)
    print(f"check_report.py: {checks} numbers equal to 1e-9")


def model(gsa, folder_of_model, data):
    with tempfile.TemporaryDirectory() as folder:
        with open(data, encoding="utf-8") as file:
            text = file.read()
        task = json.loads(run(gsa, "eval", "--model", folder_of_model, "--quiet"))["task"]
        if task == "tagging":
            compare_tags(gsa, folder_of_model, folder, data)
        elif task == "sentence_pairs":
            rows = [line.split("\t") for line in text.rstrip("\n").split("\n")]
            compare_classes(gsa, folder_of_model, folder, [r[-1] for r in rows],
                            "".join(f"{r[0]}\t{r[1]}\n" for r in rows))
        else:
            rows = [line.split(" ", 1) for line in text.rstrip("\n").split("\n")]
            compare_classes(gsa, folder_of_model, folder, [r[0] for r in rows], "".join(r[1] + "\n" for r in rows))
    print(f"check_report.py: {checks} numbers equal to 1e-9")


if sys.argv[1] == "golden":
    golden()
else:
    {"check": check, "model": model}[sys.argv[1]](*sys.argv[2:])
