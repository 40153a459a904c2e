#!/usr/bin/env python3
"""Files of twelve kinds, made of data sets: what `gsa train FILE` and `gsa predict` make of each, and
fastText on the same training file and the same test texts. One line of JSON a file.

    python3 tools/lab/own_files.py DATA [NAME...] [--gsa build/gsa] [--json FILE]

DATA holds a folder a data set, as its source has it: mtl16, imdb, chnsenticorp, sick, snli, sst,
conll2003, resume_ner, ud_english_ewt, tinyshakespeare, multi30k, afqmc; NAME: some of them. Scores
are of the test part: accuracy of what `gsa predict` wrote; of tags and translations, which it writes
in a form of its own, `gsa eval`'s figure on the test file. Needs Python's fasttext (0.9.2).

fastText reads the words of gsa: small letters, marks apart, Chinese by character; of pairs both
texts, the second one's words with a mark. One thread. `default`: its default; `tuned`: the best of
four settings on each tenth line of the file (of SST on its dev file), then that one on the whole.
"""
import argparse
import itertools
import json
import lzma
import os
import random
import re
import resource
import subprocess
import tempfile

WORD = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+|[^\w\s]")
TUNED = [dict(epoch=epoch, lr=0.5, wordNgrams=words) for epoch, words in itertools.product((10, 25), (1, 2))]


def lines(*path):
    path = os.path.join(*path)
    with (lzma.open if path.endswith(".xz") else open)(path, "rb") as file:
        return [line.decode("utf-8", "replace") for line in file.read().splitlines()]


def columns(*path):
    return [line.split("\t") for line in lines(*path) if line]


# ---- classification: examples of train and test as (label, text) or (label, text, second text), and how a line is written


def mtl16(data, domain):
    return [[(row[0], row[1]) for row in columns(data, "mtl16", f"{domain}.task.{part}")] for part in ("train", "test")]


def imdb(data):
    parts = []
    for part, count in (("train", 5000), ("test", 4000)):
        rows = [(row[0], row[2]) for row in columns(data, "imdb", part + ".tsv.xz")]
        random.Random(1).shuffle(rows)
        parts.append(rows[:count])
    return parts


def pairs(data, name, parts=("train.txt", "test.txt")):
    return [[(row[2], row[0], row[1]) for row in columns(data, name, part)] for part in parts]


def snli(data):
    """The training part as the test part is: without marks, in small letters, with its labels."""
    label = {"1": "1", "2": "2", "3": "0"}
    rows = [(label[row[0]], *(" ".join(re.findall(r"\w+", text.lower())) for text in row[2:4]))
            for part in ("train_18k.csv", "train_2k.csv") for row in columns(data, "snli", part)]
    random.Random(1).shuffle(rows)
    return [rows, *pairs(data, "snli", ("test.txt",))]


def phrases(tree):
    """Label and words of each bracket of a tree, the whole one first."""
    found, open_at, words = [], [], []
    for token in re.findall(r"\(|\)|[^\s()]+", tree):
        if token == "(":
            open_at.append([None, len(words)])
        elif token == ")":
            label, first = open_at.pop()
            found.append((label, " ".join(words[first:])))
        elif open_at[-1][0] is None:
            open_at[-1][0] = token
        else:
            words.append(token)
    return found[::-1]


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


CLASSES = {  # name: file, examples, line, first line
    "books": ("books.txt", lambda d: mtl16(d, "books"), lambda r: f"__label__{r[0]} {r[1]}", None),
    "electronics": ("electronics.jsonl", lambda d: mtl16(d, "electronics"), lambda r: json.dumps({"sentiment": r[0], "review": r[1]}), None),
    "imdb": ("imdb.csv", imdb, lambda r: f"{quoted(r[1])},{r[0]}", "text,label"),
    "chnsenticorp": ("chnsenticorp.tsv", lambda d: [[(r[0], r[1]) for r in columns(d, "chnsenticorp", p)[1:]] for p in ("train.tsv", "test.tsv")],
                     lambda r: f"{r[0]}\t{r[1]}", "label\ttext_a"),
    "sick": ("sick.tsv", lambda d: pairs(d, "sick"), lambda r: f"{r[1]}\t{r[2]}\t{r[0]}", None),
    "snli": ("snli.jsonl", snli, lambda r: json.dumps({"gold_label": r[0], "sentence1": r[1], "sentence2": r[2]}), None),
    "afqmc": ("afqmc.tsv", lambda d: pairs(d, "afqmc", ("train.txt", "dev.txt")), lambda r: f"{r[1]}\t{r[2]}\t{r[0]}", None),
}
# ---- others: files as they are; the test file, or none: gsa's own part; the key of the figure
OTHERS = {
    "sst": (["sst/trees.train.txt", "sst/trees.dev.txt"], None, "dev_accuracy"),
    "conll2003": (["conll2003/eng.train"], "conll2003/eng.testa", "test_f1"),
    "resume": (["resume_ner/train.char.bmes"], "resume_ner/dev.char.bmes", "test_f1"),
    "ewt": (["ud_english_ewt/en_ewt-ud-train.conllu.xz"], "ud_english_ewt/en_ewt-ud-test.conllu", "test_accuracy"),
    "tinyshakespeare": (["tinyshakespeare/input.txt"], None, "dev_bpc"),
    "multi30k": (["multi30k/train.lc.norm.tok.en", "multi30k/train.lc.norm.tok.de"], "multi30k/val.lc.norm.tok", "test_bleu"),
}


def gsa(words, folder, text=None):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([options.gsa, *words], cwd=folder, input=text, capture_output=True, check=False, encoding="utf-8")
    if done.returncode:
        raise SystemExit(f"gsa {' '.join(words)}: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def share(answers, test):
    assert len(answers) == len(test)
    return sum(answer == row[0] for answer, row in zip(answers, test)) / len(test)


def fasttext_line(row):
    words = [WORD.findall(text.lower()) for text in row[1:]]
    return " ".join(words[0] + ["2_" + word for side in words[1:] for word in side])


def fasttext_share(folder, train, test, **setting):
    import fasttext  # only where it is compared

    path = os.path.join(folder, "fasttext.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"__label__{row[0]} {fasttext_line(row)}\n" for row in train)
    model = fasttext.train_supervised(path, thread=1, verbose=0, **setting)
    found = (model.f.predict(fasttext_line(row) + "\n", 1, 0.0, "strict") for row in test)
    return share([one[0][1][len("__label__"):] if one else "" for one in found], test)


def compare(folder, train, test, held):
    """held: where the setting is chosen, None: each tenth line of train."""
    inner = train if held else [row for i, row in enumerate(train) if i % 10]
    best = max(TUNED, key=lambda setting: fasttext_share(folder, inner, held or train[::10], **setting))
    return {"fasttext_default": fasttext_share(folder, train, test), "fasttext_tuned": fasttext_share(folder, train, test, **best), "tuned": best}


def classes(name, folder):
    file, read, line, head = CLASSES[name]
    train, test = read(options.data)
    with open(os.path.join(folder, file), "w", encoding="utf-8") as out:
        out.writelines(row + "\n" for row in ([head] if head else []) + [line(row) for row in train])
    seconds = gsa(["train", file], folder)[1]
    answers = gsa(["predict"], folder, "".join("\t".join(row[1:]) + "\n" for row in test))[0]
    figure = share([answer.split("\t")[0] for answer in answers.splitlines()], test)
    return {"name": name, "examples": len(train), "figure": figure, "seconds": seconds, **compare(folder, train, test, None)}


def others(name, folder):
    files, test, key = OTHERS[name]
    local = []
    for file in files:
        local.append(os.path.basename(file).removesuffix(".xz"))
        with open(os.path.join(folder, local[-1]), "w", encoding="utf-8") as out:
            out.writelines(line + "\n" for line in lines(options.data, file))
    seconds = gsa(["train", *local], folder)[1]
    more = ["--set", "data.test=" + os.path.abspath(os.path.join(options.data, test))] if test else []
    found = {"name": name, "figure": json.loads(gsa(["eval", "--quiet", *more], folder)[0])[key], "seconds": seconds}
    if name == "sst":
        trees = [[phrases(line) for line in lines(options.data, file)] for file in files]
        dev = [tree[0] for tree in trees[1]]
        found.update(compare(folder, [one for tree in trees[0] for one in tree], dev, dev))
    return found


def main():
    global options
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--gsa", default="build/gsa")
    parser.add_argument("--json", help="receives the lines too")
    options = parser.parse_args()
    options.gsa = os.path.abspath(options.gsa)
    unknown = set(options.names) - set(CLASSES) - set(OTHERS)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: expected names of {', '.join([*CLASSES, *OTHERS])}")
    for name in options.names or [*CLASSES, *OTHERS]:
        with tempfile.TemporaryDirectory() as folder:
            found = json.dumps((classes if name in CLASSES else others)(name, folder))
        print(found, flush=True)
        if options.json:
            with open(options.json, "a", encoding="utf-8") as file:
                file.write(found + "\n")


if __name__ == "__main__":
    main()
