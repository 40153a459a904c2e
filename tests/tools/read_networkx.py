"""Pictures as NetworkX reads them: every node, edge and attribute against what the instances say (program `instances`), for every
built-in topology; and the weights of gsa attend against the softmax of the model's file, worked out here.

read_networkx.py GSA INSTANCES: paths of the two programs. Works in a temporary folder. NetworkX leaves out texts that are empty."""
import collections
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import networkx

GSA, INSTANCES = (os.path.abspath(p) for p in sys.argv[1:3])
TEXT = '你好 世界 " \' < & > ]]> 😀 &amp; <!-- é \\ שלום'
LEXICON = "你好\n世界\n好世\n"
CHARS = "你 好 世 界 < 😀"
checks = 0


def check(good, *what):
    global checks
    checks += 1
    if not good:
        sys.exit("read_networkx.py: " + " ".join(str(w) for w in what))


def run(*args):
    done = subprocess.run([str(a) for a in args], capture_output=True, encoding="utf-8")
    check(done.returncode == 0, args, "failed:", done.stderr)
    return done.stdout


def read(path):
    return networkx.read_graphml(path, force_multigraph=True)


# ---- pictures -----------------------------------------------------------------------------------------------------------------

NODE = {"label": str, "kind": str, "index": int, "level": int, "first": int, "last": int, "stack": str}
DRAWN = {"x", "y", "size", "r", "g", "b", "shape_type"}  # of nodes; shape_type is yEd's
EDGE = {"phase": int, "rel": int, "label": str, "k": int, "interaction": str, "layer": int, "head_from": int, "head_to": int}


def value(data, key, kind):
    if kind is str:
        return data.get(key, "")
    if type(data[key]) is not kind:
        raise TypeError(f"{key} is {data[key]!r}")
    return data[key]


def compare(title, graph, expected):
    rows = [line.split("\t") for line in expected.splitlines()]
    nodes = [r[1:] for r in rows if r[0] == "N"]
    edges = [r[1:] for r in rows if r[0] == "E"]
    check(graph.is_directed() and graph.is_multigraph(), title, "is no directed multigraph")
    check(graph.number_of_nodes() == len(nodes), title, graph.number_of_nodes(), "nodes, expected", len(nodes))
    check(graph.number_of_edges() == len(edges), title, graph.number_of_edges(), "edges, expected", len(edges))
    check(graph.graph["nodes"] == len(nodes) and graph.graph["edges"] == len(edges), title, graph.graph)
    for i, wanted in enumerate(nodes):
        found = [str(value(graph.nodes[f"n{i}"], key, kind)) for key, kind in NODE.items()]
        check(found == wanted, title, "node", i, found, "expected", wanted)
        check(set(graph.nodes[f"n{i}"]) <= set(NODE) | DRAWN, title, "node", i, "has", graph.nodes[f"n{i}"])
    per_head = any(e[-1] != "-1" for e in edges)
    keys = {k: t for k, t in EDGE.items() if per_head or not k.startswith("head_")}
    found = {key: (source, target, data) for source, target, key, data in graph.edges(keys=True, data=True)}
    for i, wanted in enumerate(edges):
        source, target, data = found[f"e{i}"]
        got = [source[1:], target[1:]] + [str(value(data, key, kind)) for key, kind in keys.items()]
        check(got == wanted[: len(got)], title, "edge", i, got, "expected", wanted)
        check(value(data, "weight", float) == 1 and set(data) <= set(keys) | {"weight", "r", "g", "b"}, title, "edge", i, data)


SETTINGS = {  # beside the defaults, which are drawn too
    "bpt": ["bpt:k=1", "bpt:k=2:causal=1", "bpt:k=1:variant=paper", "bpt:k=1:prune=1"],
    "bigbird": ["bigbird:width=3:global=1:random=1"],
    "char_word": ["char_word:lexicon=words.txt:global=0", "char_word:local=adjacent", "char_word:lexicon=words.txt:residual=1"],
    "cross": ["cross:align=1"],
    "dilated": ["dilated:width=3:step=2"],
    "full": ["full:clip=2", "full:causal=1"],
    "head_area": ["head_area:width=3:heads=3:border=circular", "head_area:width=3:heads=1:border=clamp"],
    "longformer": ["longformer:width=3:global=2:own=0"],
    "ring": ["ring:cyclic=0"],
    "star": ["star:relays=2", "star:radial=0"],
    "strided": ["strided:stride=2", "strided:heads=split:stride=2"],
    "window": ["window:width=3:causal=1"],
}
PLAIN = {"char_word": "char_word:lexicon=words.txt", "file": None}
STACKS = ["window:width=3*2,full", "full+ring+ring*2", "star,full:clip=1*2", "bpt:k=1:causal=1+window:width=3"]


def draw(spec, length, text, heads, memory=()):
    args = ["--topology", spec, "--heads", heads, "--out", "g.graphml"]
    args += ["--text", text] if text else ["--length", length]
    if memory:
        args += ["--memory", memory[0]] + (["--memory-text", memory[2]] if memory[2] else ["--memory-length", memory[1]])
    run(GSA, "graph", *args)
    compare(f"{spec} length {length} {memory}", read("g.graphml"), run(INSTANCES, heads, spec, length, text, *memory))


def pictures():
    known = json.loads(run(GSA, "topologies", "--json"))
    specs = list(STACKS)
    for topology in known:
        plain = PLAIN.get(topology["id"], topology["id"])
        specs += ([plain] if plain else []) + SETTINGS.get(topology["id"], [])
    check(len(known) >= 4, known)
    for spec in specs:
        needs_text = spec.startswith("char_word")
        for length in [] if needs_text else [0, 1, 2, 7]:
            draw(spec, length, "", 2)
        text = CHARS if needs_text else TEXT
        draw(spec, len(text.split(" ")), text, 4)
    names = {topology["id"] for topology in known}
    if {"bpt", "cross"} <= names:
        draw("bpt:k=1:causal=1+cross*2", 2, "x <y>", 2, ["bpt:k=1*3", len(TEXT.split(" ")), TEXT])
        draw("full:causal=1+cross,cross", 3, "", 2, ["star,window:width=3", 4, ""])
    return len(specs)


# ---- weights --------------------------------------------------------------------------------------------------------------------

RECIPE = """[task]
name = text_classification
[model]
encoder = full*2
hidden = 6
heads = 2
position = none
input = plain
bias = q,v,o
[train]
epochs = 8
batch = 3
lr = 0.05
[data]
train = train.tsv
dev = train.tsv
"""


def tensors(path):
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    header, found = json.loads(data[8 : 8 + size]), {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        first, last = entry["data_offsets"]
        numbers = struct.unpack(f"<{(last - first) // 4}f", data[8 + size + first : 8 + size + last])
        width = entry["shape"][-1]
        found[name] = [numbers[i : i + width] for i in range(0, len(numbers), width)]
    return found


def linear(x, weight, bias):
    return [[sum(a * b for a, b in zip(row, w)) + (bias[0][o] if bias else 0) for o, w in enumerate(weight)] for row in x]


def weights():
    with open("train.tsv", "w", encoding="utf-8") as file:
        file.write("a\t你好 世界\nb\t<b> & \"c\"\na\t你好 😀\nb\t<b> 😀 世界\n")
    with open("recipe.ini", "w", encoding="utf-8") as file:
        file.write(RECIPE)
    run(GSA, "train", "recipe.ini", "--quiet", "--out", "model")
    words = '你好 <b> "c" 😀 neverseen &'.split(" ")
    run(GSA, "attend", "--model", "model", "--text", " ".join(words), "--out", "a.graphml")
    graph = read("a.graphml")
    check(graph.graph["heads"] == 2 and graph.number_of_nodes() == len(words), graph.graph)
    check([graph.nodes[f"n{i}"]["label"] for i in range(len(words))] == words, dict(graph.nodes(data=True)))
    check(graph.number_of_edges() == 2 * len(words) ** 2, graph.number_of_edges())
    sums = collections.defaultdict(float)
    for source, target, data in graph.edges(data=True):
        for head in ("w0", "w1", "weight"):
            sums[target, data["layer"], head] += value(data, head, float)
        check(abs(data["weight"] - (data["w0"] + data["w1"]) / 2) < 1e-8, data)
    check(len(sums) == 2 * 3 * len(words) and all(abs(s - 1) < 1e-6 for s in sums.values()), sums)
    with open("model/latest", encoding="utf-8") as file:
        folder = "model/" + file.read().strip()
    model = tensors(folder + "/model.safetensors")
    with open(folder + "/vocab.txt", encoding="utf-8") as file:
        ids = {line.split("\t")[0]: i + 2 for i, line in enumerate(file.read().splitlines())}
    embedding = next(rows for name, rows in model.items() if name.startswith("input") and len(rows) == len(ids) + 2)
    x = [embedding[ids.get(word, 1)] for word in words]
    phase = "encoder.0.0.attend."
    q = linear(x, model[phase + "q.weight"], model[phase + "q.bias"])
    k = linear(x, model[phase + "k.weight"], None)
    for source, target, data in graph.edges(data=True):
        if data["layer"] != 0:
            continue
        for head in (0, 1):
            part = slice(3 * head, 3 * head + 3)
            score = [sum(a * b for a, b in zip(q[int(target[1:])][part], key[part])) / math.sqrt(3) for key in k]
            wanted = math.exp(score[int(source[1:])]) / sum(math.exp(s) for s in score)
            check(abs(data[f"w{head}"] - wanted) < 2e-6, source, target, head, data, "expected", wanted)


def drawn():
    """Places, colours and sizes: as Gephi maps them (x, y, size, r, g, b of nodes; r, g, b of edges), and yEd's own elements."""
    yed = "{http://www.yworks.com/xml/graphml}"
    gml = "{http://graphml.graphdrawing.org/xmlns}"
    for spec, length in (("star", 8), ("bpt:k=2", 16), ("window:width=3", 6), ("char_word:lexicon=words.txt", 4)):
        more = ["--text", "你好世界", "--tokens", "chars"] if "char" in spec else ["--length", length]
        run(GSA, "graph", "--topology", spec, *more, "--out", "a.graphml")
        graph, root = read("a.graphml"), xml.etree.ElementTree.parse("a.graphml").getroot()
        uses = {k.get("id"): k.get("yfiles.type") for k in root.iter(gml + "key") if k.get("yfiles.type")}
        check(uses == {"v_yed": "nodegraphics", "e_yed": "edgegraphics"}, uses)
        places = set()
        for node in root.iter(gml + "node"):
            data = graph.nodes[node.get("id")]
            own = node.find(f"{gml}data[@key='v_yed']/{yed}ShapeNode")
            box = {k: float(v) for k, v in own.find(yed + "Geometry").attrib.items()}
            x, y, size = (value(data, key, float) for key in ("x", "y", "size"))
            colour = tuple(value(data, key, int) for key in "rgb")
            check(box["width"] == box["height"] == size, spec, box, size)
            check((box["x"] + size / 2, -box["y"] - size / 2) == (x, y), spec, box, x, y)
            check(own.find(yed + "Fill").get("color") == "#%02x%02x%02x" % colour, spec, colour)
            check(own.find(yed + "NodeLabel").text == data["label"], spec, data)
            places.add((x, y))
        check(len(places) == graph.number_of_nodes(), spec, "has nodes on each other")
        kinds = collections.defaultdict(set)
        for _, data in graph.nodes(data=True):
            kinds[data["kind"]].add((data["r"], data["g"], data["b"]))
        check(all(len(hues) == 1 for hues in kinds.values()), spec, kinds)
        phases = collections.defaultdict(set)
        for _, _, data in graph.edges(data=True):
            phases[data["interaction"]].add((value(data, "r", int), data["g"], data["b"]))
        check(len(set(map(frozenset, phases.values()))) == len(phases), spec, phases)
        lines = [e.find(f"{gml}data[@key='e_yed']/{yed}PolyLineEdge/{yed}LineStyle") for e in root.iter(gml + "edge")]
        check(len(lines) == graph.number_of_edges() and all(l.get("color")[0] == "#" for l in lines), spec)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("words.txt", "w", encoding="utf-8") as file:
            file.write(LEXICON)
        specs = pictures()
        weights()
        drawn()
        os.chdir("/")
    print(f"NetworkX {networkx.__version__}, {specs} patterns and stacks")
    print(f"100%: Checks: {checks}, Failures: 0, Errors: 0")


main()
