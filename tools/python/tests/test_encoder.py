"""Encoder, the twin of the library's executor: it answers as the command does, from checkpoints."""

import copy
import itertools
import json
import math
import os
import pathlib
import pickle
import random
import signal
import struct
import tempfile
import threading
import unittest
from unittest import mock
import warnings

from support import Case, command, digest, needs_command, needs_torch, torch, train, write_data

import gsa

if torch:
    from torch.nn import functional as F

    import gsa.torch

FIRST_CLASS = 1  # of translation: class c is the word of id c + 1
LEXICON = "alpha\nbeta\ngamma\ndelta\nzeta\neta\n"
# Each topology of the library that reads one text, with settings that change its phases.
STACKS = ["star*2", "star:radial=0,ring:cyclic=0", "bpt:k=2*2", "bpt:k=2:variant=paper,full",
          "full:clip=3*2",
          "window:width=5,full:causal=1", "window:width=3:relative=1*2",
          "dilated:width=5:step=2:relative=1",
          "strided:causal=1*2", "longformer:width=3*2", "bigbird:block=2*2",
          "head_area:width=3:heads=3*2",
          "char_word:local=adjacent*2", "char_word:lexicon=words.txt:residual=1*2",
          "star+full*2", "window:width=3:share*3"]
SETTINGS = ["model.norm=pre", "model.bias=q,v,o", "model.scale=full", "model.head_dim=6",
            "model.ffn=24", "model.activation=gelu", "model.position=sinusoid",
            "model.input=norm_dropout", "model.input_scale=2",
            "model.readout=max"]


def changed(step, **settings):
    """Other values of [model] in a checkpoint's config, which its manifest vouches for; what it
    was."""
    path, manifest = pathlib.Path(step, "config.ini"), pathlib.Path(step, "manifest.sha256")
    text, before = path.read_text(), digest(path)
    lines = text.split("\n")
    for key, value in settings.items():
        at = next(i for i in range(lines.index("[model]"), len(lines))
                  if lines[i].startswith(f"{key} ="))
        lines[at] = f"{key} = {value}"
    path.write_bytes("\n".join(lines).encode())
    manifest.write_text(manifest.read_text().replace(before, digest(path)))
    return text


def answers(folder, out, texts):
    """The command's logits of each text less the first, of `gsa predict`."""
    path = os.path.join(folder, "texts")
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(t + "\n" for t in texts))
    lines = command("predict", "--model", out, "--input", path, "--proba", "all", "--quiet",
                    cwd=folder).splitlines()
    rows = [[float(p) for p in line.split("\t")[1::2]] for line in lines]
    return torch.tensor([[math.log(p / row[0]) for p in row] for row in rows])


def twin(out, texts, encoder=None):
    """The same of the modules."""
    config, tensors = gsa.torch.load_checkpoint(out)
    with open(os.path.join(gsa.torch._checkpoint.find(out), "vocab.txt"), encoding="utf-8") as file:
        ids = {line.split("\t")[0]: i + 2 for i, line in enumerate(file.read().splitlines())}
    words = [t.split() for t in texts]
    lengths = [len(w) for w in words]
    tokens = torch.tensor([ids.get(w, 1) for line in words for w in line])
    encoder = encoder or gsa.torch.Encoder.load(out)
    text = words if "char_word" in encoder.spec else None
    with torch.no_grad():
        x = gsa.torch.Input.load(out).eval()(tokens, lengths)
        rows = encoder.eval()(x, lengths, text=text).summary
        logits = rows @ torch.tensor(tensors["head.out.weight"]).T
        logits = logits + torch.tensor(tensors["head.out.bias"])
    return logits - logits[:, :1]


@needs_torch
@needs_command
class Twin(Case):
    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory()
        cls.folder = cls._folder.name
        cls.texts = write_data(cls.folder)
        with open(os.path.join(cls.folder, "words.txt"), "w", encoding="utf-8") as file:
            file.write(LEXICON)
        cls.before = os.getcwd()
        os.chdir(cls.folder)  # the lexicon's path is the recipe's

    @classmethod
    def tearDownClass(cls):
        os.chdir(cls.before)
        cls._folder.cleanup()

    def same(self, spec, *settings):
        out = train(self.folder, f"run{len(os.listdir(self.folder))}", spec, *settings)
        with self.subTest(spec=spec, settings=settings):
            torch.testing.assert_close(twin(out, self.texts), answers(self.folder, out, self.texts),
                                       atol=1e-5, rtol=1e-5)
        return out

    def test_logits_of_every_topology_are_the_commands(self):
        for spec in STACKS:
            self.same(spec)

    def test_logits_with_every_setting_are_the_commands(self):
        for setting in SETTINGS:
            self.same("longformer:width=3,star", setting)
        self.same("bpt:k=2*2", *SETTINGS)
        self.same("bpt:k=2*2", "model.readout=mean")

    def test_an_encoder_with_a_decoder_gives_the_commands_losses(self):
        """The seventh family. The command tells the loss of each pair: the mean of -log p of what
        is to be written, of which each of the pairs here shows other places of the logits."""
        dice = random.Random(2)
        def pair(n):
            words = [dice.choice("abcdef") for _ in range(n)]
            return words, [w.upper() for w in reversed(words)]
        def put(name, pairs):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.writelines(f"{' '.join(s)}\t{' '.join(t)}\n" for s, t in pairs)
        put("pairs.tsv", [pair(dice.randint(1, 6)) for _ in range(96)])
        put("mt.tsv", [pair(3)])
        with open(os.path.join(self.folder, "mt.ini"), "w", encoding="utf-8") as file:
            file.write("[task]\nname = translation\n[data]\ntrain = pairs.tsv\ntest = mt.tsv\n"
                       "[model]\nencoder = full*2\ndecoder = full:causal=1+cross*2\nhidden = 16\n"
                       "heads = 4\nposition = sinusoid\n[train]\nmax_steps = 6\nlr = 0.01\n")
        command("train", "mt.ini", "--out", "mt", "--quiet", cwd=self.folder)
        out = os.path.join(self.folder, "mt")
        _, tensors = gsa.torch.load_checkpoint(out)
        with open(os.path.join(gsa.torch._checkpoint.find(out), "vocab.txt"),
                  encoding="utf-8") as file:
            ids = {line.split("\t")[0]: i + 2 for i, line in enumerate(file.read().splitlines())}
        begin, end = len(ids) + 2, len(ids) + 3
        rows = gsa.torch.Input.load(out).eval()
        encoder = gsa.torch.Encoder.load(out).eval()
        decoder = gsa.torch.Encoder.load(out, "decoder").eval()
        weight, bias = (torch.tensor(tensors[f"head.out.{name}"]) for name in ("weight", "bias"))
        def told(source, target):
            x = torch.tensor([*(ids[w] for w in source), end])
            y = torch.tensor([begin, *(ids[w] for w in target)])
            wanted = torch.tensor([*(ids[w] for w in target), end]) - FIRST_CLASS
            with torch.no_grad():
                memory = encoder(rows(x, [len(x)]), [len(x)]).sequence
                states = decoder(rows(y, [len(y)]), [len(y)], memory=memory,
                                 memory_lengths=[len(x)]).sequence
                return F.cross_entropy(states @ weight.T + bias.flatten(), wanted).item()
        pairs = [(list("face"), [w]) for w in "ABCDEFabcdef"] + [pair(n) for n in (1, 2, 5, 9)]
        for source, target in pairs:
            put("one.tsv", [(source, target)])
            line = command("eval", "--model", "mt", "--set", "data.test=one.tsv", "--quiet",
                           cwd=self.folder)
            self.assertAlmostEqual(told(source, target), json.loads(line)["test_loss"],
                                   delta=1e-5, msg=f"{source} {target}")

    def test_what_the_module_saves_the_command_answers_by(self):
        out = train(self.folder, "saved", "star*2")
        encoder = gsa.torch.Encoder.load(out)
        with torch.no_grad():
            for p in encoder.parameters():
                p.mul_(1.25)
        encoder.save("again", out)
        self.refused("folder 'again' holds a run already ('latest'): choose another", encoder.save,
                     "again", out)
        there = answers(self.folder, "again", self.texts)
        torch.testing.assert_close(twin(out, self.texts, encoder), there, atol=1e-5, rtol=1e-5)
        self.assertGreater((there - answers(self.folder, out, self.texts)).abs().max(), .01)

    def test_a_loaded_model_answers_as_the_command(self):
        out = train(self.folder, "loaded", "star")
        model = gsa.load(out)
        lines = command("predict", "--model", out, "--quiet", "--proba", "all", self.texts[0],
                        cwd=self.folder).split()
        told = model.predict(self.texts[:1])[0]
        self.assertEqual(told.label, lines[0])
        wanted = dict(zip(lines[::2], map(float, lines[1::2])))
        self.assertEqual(list(told.probability), sorted(wanted, key=model.labels.index))
        for label, p in told.probability.items():  # a wheel has plain products, so not all bits
            self.assertAlmostEqual(p, wanted[label], delta=1e-6)
        self.assertEqual(pickle.loads(pickle.dumps(model)).predict(self.texts[:1]), [told])
        self.assertEqual(gsa.load(pathlib.Path(out)).predict(self.texts[:1]), [told])
        for text in ("alpha", b"alpha"):
            self.refused("predict takes a list of texts, not one text", model.predict, text)
        for bad, kind in ((b"a", "bytes"), ([5], "int"), ([None], "NoneType"), ([["good"]], "list"),
                          ([pathlib.Path("a")], pathlib.Path("a").__class__.__name__)):
            self.refused(f"text is a {kind}; a str was expected", model.predict, [bad])
        self.refused("text is a NoneType; texts were expected", model.predict, [None])
        self.refused("texts is a NoneType; texts were expected", model.predict, None)
        self.refused("plugin is a int; paths were expected", gsa.load, out, 5)
        self.refused("plugin is a int; a str was expected", gsa.load, out, [5])
        self.refused("folder is a NoneType; a str was expected", gsa.load, None)

    def test_nothing_is_written_into_a_checkpoint(self):
        out = train(self.folder, "kept", "star")
        step, graph = gsa.torch._checkpoint.find(out), gsa.topology("star").graph([4])
        linked = os.path.join(self.folder, "linked")
        os.symlink(step, linked)
        encoder = gsa.torch.Encoder.load(out)
        for path, save in ((f"{step}/x.dot", graph.save), (f"{linked}/x.dot", graph.save),
                           (pathlib.Path(step, "x.dot"), graph.save),
                           (f"{step}/sub/step-1", lambda p: encoder.save(p[:-7], out))):
            self.refused(f"'{path}' cannot be written: '{os.path.realpath(step)}' is a checkpoint, "
                         f"which holds nothing else", save, path)
        graph.save(os.path.join(out, "x.dot"))
        self.assertEqual(len(gsa.load(step).predict(self.texts)), len(self.texts))

    def test_an_older_model_is_a_warning(self):
        out = train(self.folder, "older", "star", "train.max_steps=0", "train.epochs=3")
        newest = gsa.torch._checkpoint.find(out)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            gsa.load(out)
        os.truncate(os.path.join(newest, "model.safetensors"), 100)
        with self.assertWarnsRegex(UserWarning, "older/step-[0-9]+' is used instead$") as caught:
            gsa.load(out)
        self.assertEqual(caught.filename, __file__)

    @unittest.skipUnless(hasattr(os, "geteuid") and os.geteuid() == 0, "root gives folders away")
    def test_another_users_model_is_not_trusted(self):
        with open(os.path.join(self.folder, "theirs.txt"), "w", encoding="utf-8") as file:
            file.write(LEXICON)
        out = train(self.folder, "theirs", "char_word:lexicon=theirs.txt")
        os.chown(out, 12345, 12345)
        step = gsa.torch._checkpoint.find(out)
        for load in (gsa.load, gsa.torch.Encoder.load):
            for mine, theirs in ((out, step), (step, out)):
                os.chown(mine, 0, 0)
                os.chown(theirs, 12345, 12345)
                with self.assertRaisesRegex(gsa.Error, "/config.ini: the model's recipe names the "
                                            "file 'theirs.txt' .lexicon., and the model is not "
                                            "trusted: nothing that it names is opened"):
                    load(out)
            os.chown(step, 0, 0)
            os.chown(out, 0, 0)
            load(out)
        kept = changed(step, encoder="star*2")
        os.chown(step, 12345, 12345)
        secret = os.path.join(self.folder, "theirs.txt")
        for spec, path in (("char_word:lexicon*1", "1"), ("star,char_word:local=1:lexicon", "1"),
                           (f"star+char_word:lexicon={secret}*2", secret)):
            changed(step, encoder=spec)
            with self.assertRaisesRegex(gsa.Error, f"names the file '{path}' .lexicon."):
                gsa.torch.Encoder.load(out)
        changed(step, encoder="star*9")
        self.refused("the checkpoint has no tensor encoder.0.1.*, by its config.ini encoder.0 has "
                     "9 layers", gsa.torch.Encoder.load, out)
        for key in ("lexi con", "lexicon ", " lexicon", "lexi\tcon", "Lexicon", "lexicon\u00a0",
                    "lexi\n con", "lexi\rcon", "le\u017ficon"):
            changed(step, encoder=f"char_word:{key}={secret}")
            with self.assertRaisesRegex(gsa.Error, "column|no recipe|no parameter"):
                gsa.torch.Encoder.load(out)
        pathlib.Path(step, "config.ini").write_text(kept)
        plain = train(self.folder, "plain", "star")
        os.chown(plain, 12345, 12345)
        gsa.torch.Encoder.load(plain)

    @unittest.skipUnless(hasattr(os, "geteuid") and os.geteuid() == 0, "root gives folders away")
    def test_a_model_that_is_exchanged_while_it_is_read_is_its_makers(self):
        with open(os.path.join(self.folder, "own.txt"), "w", encoding="utf-8") as file:
            file.write(LEXICON)
        step = gsa.torch._checkpoint.find(train(self.folder, "given",
                                                "char_word:lexicon=own.txt"))
        os.chown(step, 12345, 12345)
        read = gsa.torch._checkpoint.read_tensors
        def exchange(*arguments):
            os.rename(step, step + "x")
            os.symlink("/", step)
            return read(*arguments)
        with mock.patch("gsa.torch._checkpoint.read_tensors", exchange), \
                self.assertRaisesRegex(gsa.Error, "the model is not trusted"):
            gsa.torch.Encoder.load(step)
        os.remove(step)
        os.rename(step + "x", step)
        os.chown(step, 0, 0)
        def wait(path, *folder):
            os.remove(path)
            os.mkfifo(path)
            return read(path, *folder)
        with mock.patch("gsa.torch._checkpoint.read_tensors", wait):
            self.refused(f"'{step}/model.safetensors' is no regular file",
                         gsa.torch.Input.load, step)

    def test_a_step_that_becomes_a_link_is_not_followed(self):
        out, other = train(self.folder, "moved", "star"), train(self.folder, "aim", "star")
        find = gsa.torch._checkpoint.find
        def exchange(folder):
            step = find(folder)
            os.rename(step, step + "x")
            os.symlink(find(other), step)
            return step
        for load in gsa.torch.Encoder.load, gsa.torch.Input.load:
            with mock.patch("gsa.torch._encoder.find", exchange), \
                    self.assertRaisesRegex(gsa.Error, "cannot be read"):
                load(out)
            step = find(other).replace(other, out)
            os.remove(step)
            os.rename(step + "x", step)
        os.symlink(step, os.path.join(self.folder, "named"))
        gsa.torch.Encoder.load(os.path.join(self.folder, "named"))

    def test_a_header_that_claims_more_than_the_file_takes_no_memory(self):
        step = os.path.join(self.folder, "headed")
        os.mkdir(step)
        head = json.dumps({"x": {"dtype": "U8", "shape": [5 * 10**12],
                                 "data_offsets": [0, 5 * 10**12]}}).encode()
        files = {"config.ini": b"[model]\nencoder = full\n",
                 "model.safetensors": struct.pack("<Q", len(head)) + head}
        lines = ""
        for name, content in files.items():
            pathlib.Path(step, name).write_bytes(content)
            lines += f"{digest(os.path.join(step, name))}  {name}\n"
        pathlib.Path(step, "manifest.sha256").write_text(lines + "# 2 files\n")
        for load in gsa.torch.Encoder.load, gsa.torch.Input.load, gsa.torch.load_checkpoint:
            with self.assertRaisesRegex(gsa.Error, f"'{step}/model.safetensors' is cut short"):
                load(step)

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_a_child_of_a_process_that_predicts_predicts(self):
        model = gsa.load(train(self.folder, "forked", "star"), threads=2)
        wanted, busy, ended = model.predict(self.texts), [True], []
        def predict():
            while busy:
                model.predict(self.texts)
        threads = [threading.Thread(target=predict) for _ in range(3)]
        for thread in threads:
            thread.start()
        while not ended or len(ended) < 10 and not ended[-1]:
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                os._exit(model.predict(self.texts) != wanted)
            ended.append(os.waitpid(child, 0)[1])
        busy.clear()
        for thread in threads:
            thread.join()
        self.assertEqual(sum(ended), 0)

    def test_numbers_of_a_config_claim_no_memory(self):
        out = train(self.folder, "claims", "star", "model.position=learned",
                    "model.position_max=16")
        step = gsa.torch._checkpoint.find(out)
        kept = {"head_dim": 0, "position_max": 16}
        for key, most, load, name in (
                ("head_dim", 65536, gsa.torch.Encoder.load, "encoder.*q.weight"),
                ("position_max", 10**7, gsa.torch.Input.load, "input.position.weight")):
            changed(step, **{key: most})
            with self.assertRaisesRegex(gsa.Error, rf"the checkpoint's {name} is \[[0-9, ]+\], "
                                        r"by its config.ini it is \[[0-9, ]+\]$"):
                load(out)
            changed(step, **{key: 2147483647})
            with self.assertRaisesRegex(gsa.Error, rf": {key} is 2147483647; a number from "):
                load(out)
            changed(step, **{key: kept[key]})

    def test_a_text_of_a_config_claims_no_memory(self):
        out = train(self.folder, "long", "star")
        step = gsa.torch._checkpoint.find(out)
        tensors = len(gsa.torch.load_checkpoint(out)[1])
        made = []
        part, gsa.torch._encoder._Part = gsa.torch._encoder._Part, lambda *a: made.append(a)
        try:
            changed(step, encoder=",".join(["full"] * 20000))
            self.refused("stack: the text has 99999 bytes, expected at most 65536",
                         gsa.torch.Encoder.load, out)
            for text, parts in ((",".join(["full"] * 13000), 13000),
                                ("+".join(["full"] * 13000) + "*2", 26000)):
                changed(step, encoder=text)
                self.refused(f"the checkpoint has {tensors} tensors, by its config.ini it has "
                             f"{parts} layers", gsa.torch.Encoder.load, out)
            changed(step, encoder=",".join(["star:share*1000"] * 5))
            self.refused("the model repeats layers that share their weights 4995 times, expected "
                         "at most 4096", gsa.torch.Encoder.load, out)
        finally:
            gsa.torch._encoder._Part = part
        self.assertEqual(made, [])

    def test_settings_of_a_config_have_the_ranges_of_recipes(self):
        out = train(self.folder, "ranges", "star", "model.position=sinusoid")
        step = gsa.torch._checkpoint.find(out)
        encoder, input_ = gsa.torch.Encoder.load, gsa.torch.Input.load
        for key, bad, shown, wanted, loads in (
                ("norm_eps", "nan", "nan", "a number from 1e-12 to 1", (encoder, input_)),
                ("norm_eps", "-1", "-1.0", "a number from 1e-12 to 1", (encoder, input_)),
                ("input_scale", "nan", "nan", "a number from 0 to 1e+06", (input_,)),
                ("input_scale", "1e999", "inf", "a number from 0 to 1e+06", (input_,)),
                ("position_base", "0", "0.0", "a number from 1 to 1e+09", (input_,)),
                ("dropout_input", "1", "1.0", "a number from 0 to 0.99", (input_,)),
                ("dropout_hidden", "nan", "nan", "a number from 0 to 0.99", (encoder,)),
                ("position", "sin", "'sin'", "one of none,learned,sinusoid", (input_,)),
                ("input", "norm_x", "'norm_x'",
                 "one of plain,norm,dropout,norm_dropout,dropout_norm", (input_,)),
                ("hidden", "١٦", "'١٦'", "a number from 1 to 65536", (encoder, input_)),
                ("hidden", "1_6", "'1_6'", "a number from 1 to 65536", (encoder, input_)),
                ("norm_eps", "0.0_1", "'0.0_1'", "a number from 1e-12 to 1", (encoder,)),
                ("hidden", "x" * 200, repr("x" * 99), "a number from 1 to 65536",
                 (encoder, input_)),
                ("hidden", "9" * 5000, repr("9" * 99), "a number from 1 to 65536",
                 (encoder, input_))):
            before = gsa.torch.load_checkpoint(out)[0]["model"][key]
            changed(step, **{key: bad})
            for load in loads:
                self.refused(f"the checkpoint's config.ini: {key} is {shown}; {wanted} was "
                             f"expected", load, out)
            changed(step, **{key: before})
        gsa.torch.Encoder.load(out), gsa.torch.Input.load(out)

    def test_a_config_is_read_as_the_library_reads_it(self):
        out = train(self.folder, "lines", "star")
        step = gsa.torch._checkpoint.find(out)
        fine = changed(step, heads="4\nhead_dim = 0").replace("\nhead_dim", "\n \thead_dim")
        self.refused(f"'{step}/config.ini' is no recipe", gsa.torch.Encoder.load, out)  # twice
        path, manifest = (pathlib.Path(step, n) for n in ("config.ini", "manifest.sha256"))
        for text, sentence in (
                ("[model]\nhidden = 16\n", f"{path}: [model] has no encoder"),
                ("[task]\nn = 1\n", f"{path}: [model] has no encoder"),
                ("[default]\nencoder = star\n[model]\n", f"{path}: [model] has no encoder"),
                ("[DEFAULT]\nencoder = star\n[model]\n", f"'{path}' is no recipe"),
                ("[model]\n[model]\n", f"'{path}' is no recipe"),
                ("[model]\nencoder = star\nencoder = full\n", f"'{path}' is no recipe"),
                ("encoder = star\n", f"'{path}' is no recipe"),
                ("[model]\n[" + 200000 * " " + "b\n", f"'{path}' is no recipe"),
                ("[model]\n[ ]" + 200000 * " " + "b\n", f"'{path}' is no recipe"),
                ("[model]\na" + 200000 * " " + "b\n", f"'{path}' is no recipe"),
                ("[model]\na" + 200000 * " " + "b = 1\n", f"'{path}' is no recipe"),
                ("[model]\nencoder = star\n[encoder.1]\ncyclic = 0\n",
                 f"{path}: sections [encoder.N] are not read here; all settings were expected in "
                 f"encoder = star")):
            before = digest(path)
            path.write_text(text)
            manifest.write_text(manifest.read_text().replace(before, digest(path)))
            self.refused(sentence, gsa.torch.Encoder.load, out)
        before = digest(path)
        path.write_text(fine)
        manifest.write_text(manifest.read_text().replace(before, digest(path)))
        self.assertEqual(gsa.torch.load_checkpoint(out)[0]["model"]["head_dim"], "0")


@needs_torch
class Modules(Case):
    def encoder(self, spec="star*2", **settings):
        torch.manual_seed(1)
        return gsa.torch.Encoder(spec, hidden=16, heads=2, **settings)

    def test_phases_have_the_librarys_bound(self):
        self.refused("the stack has 350000 phases over all layers; at most 349525 were expected",
                     self.encoder, ",".join(175 * ["star:share*1000"]))

    def test_examples_do_not_touch_each_other(self):
        x = torch.randn(12, 16)
        for spec in STACKS:
            if spec.startswith("char_word") or spec.startswith("head_area"):
                continue
            e = self.encoder(spec).eval()
            both, alone = e(x, [5, 7]), e(x[5:], [7])
            torch.testing.assert_close(both.sequence[5:], alone.sequence)
            torch.testing.assert_close(both.summary[1:], alone.summary)

    def test_every_parameter_gets_the_gradient_of_finite_differences(self):
        for spec in ("star*2", "longformer:width=3", "bpt:k=2", "full:clip=2"):
            e = self.encoder(spec).double().eval()
            x = torch.randn(7, 16, dtype=torch.float64)
            def value(e=e, x=x):
                out = e(x, [3, 4])
                return out.sequence.square().sum() + out.summary.sin().sum()
            value().backward()
            for name, p in e.named_parameters():
                direction, step = torch.randn_like(p), 1e-6
                told = 0. if p.grad is None else (p.grad * direction).sum().item()
                with torch.no_grad():
                    p += step * direction
                    up = value()
                    p -= 2 * step * direction
                    found = (up - value()).item() / (2 * step)
                    p += step * direction
                self.assertAlmostEqual(told, found, delta=1e-6 * max(1, abs(found)),
                                       msg=f"{spec} {name}")

    def test_it_learns(self):
        e, head = self.encoder("window:width=3*2"), torch.nn.Linear(16, 1)
        x, lengths = torch.randn(64, 16), [8] * 8
        wanted = x.view(8, 8, 16)[:, :, 0].sum(1, keepdim=True)
        step = torch.optim.Adam([*e.parameters(), *head.parameters()], 3e-3)
        losses = []
        for _ in range(60):
            loss = (head(e(x, lengths).summary) - wanted).square().mean()
            step.zero_grad()
            loss.backward()
            step.step()
            losses.append(loss.item())
        self.assertLess(losses[-1], losses[0] / 5)

    def test_copies_and_pickles_give_the_same_bits(self):
        e, x = self.encoder("star:radial=0,full").eval(), torch.randn(9, 16)
        here = e(x, [4, 5]).sequence
        for other in (copy.deepcopy(e), pickle.loads(pickle.dumps(e))):
            self.assertTrue(torch.equal(other(x, [4, 5]).sequence, here))
        again = self.encoder("star:radial=0,full").eval()
        again.load_state_dict(e.state_dict())
        self.assertTrue(torch.equal(again(x, [4, 5]).sequence, here))

    def test_dropout_is_for_training_alone(self):
        e = self.encoder(dropout_attention=.3, dropout_hidden=.3, dropout_ffn=.3)
        x = torch.randn(9, 16)
        self.assertFalse(torch.equal(e(x, [9]).sequence, e(x, [9]).sequence))
        e.eval()
        self.assertTrue(torch.equal(e(x, [9]).sequence, e(x, [9]).sequence))

    def test_memory_is_read_by_cross(self):
        e = self.encoder("cross*2").eval()
        x, memory = torch.randn(5, 16), torch.randn(7, 16)
        both = e(x, [2, 3], memory=memory, memory_lengths=[3, 4]).sequence
        alone = e(x[2:], [3], memory=memory[3:], memory_lengths=[4]).sequence
        torch.testing.assert_close(both[2:], alone)
        self.refused("kind memory of cross starts from a memory: memory and memory_lengths must "
                     "be given", e, x, [2, 3])
        for given in (dict(memory=memory), dict(memory_lengths=[3, 4])):
            self.refused("memory and memory_lengths: both were expected, or none", e, x, [2, 3],
                         **given)
        self.refused("memory has shape (7, 8); 7 tokens of 16 columns were expected", e, x, [2, 3],
                     memory=memory[:, :8], memory_lengths=[3, 4])

    def test_autocast_and_other_types(self):
        e, x = self.encoder("bpt:k=2,star").eval(), torch.randn(9, 16)
        wanted = e(x, [4, 5]).summary
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = e(x, [4, 5]).summary
        self.assertLess((found - wanted).abs().max(), .1)
        self.refused("q is torch.float16; all tensors must be float32, or all float64",
                     copy.deepcopy(e).half(), x.half(), [4, 5])
        self.refused("q is on meta; cpu or cuda was expected", copy.deepcopy(e).to("meta"),
                     x.to("meta"), [4, 5])  # its indices are where its tensors are

    def test_a_batch_of_no_example(self):
        for spec in ("star*2", "bpt:k=2", "full"):
            out = self.encoder(spec)(torch.zeros(0, 16), [])
            self.assertEqual((out.sequence.shape, out.summary.shape), ((0, 16), (0, 16)))

    def test_bad_input_is_one_sentence(self):
        e = self.encoder()
        self.refused("x has shape (5, 16); 6 tokens of 16 columns were expected",
                     e, torch.zeros(5, 16), [2, 4])
        self.refused("x has shape (6, 8); 6 tokens of 16 columns were expected",
                     e, torch.zeros(6, 8), [2, 4])
        self.refused("activation 'swish'; one of relu, leaky_relu, gelu, tanh, sigmoid was "
                     "expected", self.encoder, activation="swish")
        self.refused("norm_eps is 0; a number from 1e-12 to 1 was expected", self.encoder,
                     norm_eps=0)
        self.refused("position is 'sin'; one of none,learned,sinusoid was expected",
                     gsa.torch.Input, 9, 16, position="sin")
        self.refused("stack 'star,,full', column 6: expected a topology's name ([a-z][a-z0-9_]*), "
                     "found ','", self.encoder, "star,,full")
        for bad in (0, 1001, 99999999999):
            self.refused(f"stack 'star*{bad}', column 6: expected a number of layers from 1 to "
                         f"1000, found '{bad}'", self.encoder, f"star*{bad}")
        self.refused("spec is a NoneType; a str was expected", self.encoder, None)
        for bad, kind in ((gsa.topology("star").graph([6]), "object"), ([6.5], "float64")):
            self.refused(f"lengths: whole numbers in one dimension were expected, not {kind} of "
                         f"shape (1,)", e, torch.zeros(6, 16), bad)
        for x, kind in (([[0.] * 16], "list"), (None, "NoneType")):
            self.refused(f"x is a {kind}; a torch.Tensor was expected", e, x, [1])
        for name, least, bad in (("hidden", 1, 0), ("hidden", 1, "16"), ("heads", 1, 2.),
                                 ("head_dim", 0, -3), ("ffn", 0, -3)):
            self.refused(f"{name} is {bad!r}; a whole number from {least} to 2^31-1 was expected",
                         gsa.torch.Encoder, "star", **{"hidden": 16, "heads": 2, name: bad})
        for name, bad in itertools.product(("attention", "hidden", "ffn"), (1, -.1, "x")):
            self.refused(f"dropout_{name} is {bad!r}; a number from 0, and below 1, was expected",
                         self.encoder, **{f"dropout_{name}": bad})
        for bad in ("z", "q,", 3, "qk"):
            self.refused(f"bias {bad!r}; some of q,k,v,o was expected", self.encoder, bias=bad)
        self.refused("hidden = 16 does not divide by heads = 3: set head_dim",
                     gsa.torch.Encoder, "star", 16, 3)


if __name__ == "__main__":
    unittest.main()
