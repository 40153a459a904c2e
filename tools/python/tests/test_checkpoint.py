"""Checkpoints: what the command refuses to read gsa.torch refuses, and it writes what is read."""

import json
import math
import os
import pathlib
import re
import shutil
import struct
import tempfile
import unittest

from support import Case, command, digest, needs_command, needs_torch, torch, train, write_data

import gsa

if torch:
    import gsa.torch

WEIGHT = "encoder.0.0.down.q.weight"


def listed(step):
    """A manifest that fits what the folder holds."""
    names = sorted(p.name for p in step.iterdir() if p.name != "manifest.sha256")
    (step / "manifest.sha256").write_text(
        "".join(f"{digest(step / name)}  {name}\n" for name in names) +
        f"# {len(names)} files of {step.name}\n")


def change(step, do):
    """do(header, data) of the weights; the manifest fits."""
    path = step / "model.safetensors"
    bytes_ = path.read_bytes()
    size = struct.unpack("<Q", bytes_[:8])[0]
    header, data = json.loads(bytes_[8:8 + size]), bytearray(bytes_[8 + size:])
    do(header, data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    listed(step)


def everything(folder):
    """Every path in it, and what a file or a link holds."""
    return {str(p): os.readlink(p) if p.is_symlink() else p.read_bytes() if p.is_file() else ""
            for p in pathlib.Path(folder).rglob("*")}


@needs_torch
@needs_command
class Checkpoints(Case):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.home, cls.base = os.getcwd(), pathlib.Path(cls.scratch.name)
        write_data(cls.base)
        os.chdir(cls.base)  # the recipe's paths
        train(cls.base, "base", "star*2")
        last = pathlib.Path("base", "latest").read_text().strip()
        for step in pathlib.Path("base").glob("step-*"):  # nothing to fall back to
            if step.name != last:
                shutil.rmtree(step)
        cls.count = 0

    @classmethod
    def tearDownClass(cls):
        os.chdir(cls.home)
        cls.scratch.cleanup()

    def copied(self):
        """(a copy of the run, its checkpoint)"""
        Checkpoints.count += 1
        out = pathlib.Path(f"run{self.count}")
        shutil.copytree("base", out, symlinks=True)
        self.addCleanup(shutil.rmtree, out)
        return out, out / (out / "latest").read_text().strip()

    def refuses(self, out, pattern):
        """Each way to read it, and the command, which says the same."""
        loads = (gsa.torch.Encoder.load, gsa.torch.Input.load, gsa.torch.load_checkpoint,
                 lambda out: gsa.torch.save_checkpoint("none", out, {}))
        for load in loads:
            with self.assertRaisesRegex(gsa.Error, pattern):
                load(out)
        self.assertFalse(os.path.lexists("none"))
        with self.assertRaisesRegex(AssertionError, pattern):
            command("predict", "--model", str(out), "alpha")

    def test_weights_that_are_not_finite_are_refused_by_name(self):
        for value in (float("nan"), float("inf"), -float("inf")):
            out, step = self.copied()
            change(step, lambda header, data: struct.pack_into(
                "<f", data, header[WEIGHT]["data_offsets"][0], value))
            self.refuses(out, f"row 0, column 0 of '{WEIGHT}', counted from 0, is -?{abs(value)}, "
                              "expected a finite number$")

    def test_numbers_that_are_too_large_for_the_module_are_refused(self):
        encoder = gsa.torch.Encoder.load("base")
        _, tensors = gsa.torch.load_checkpoint("base")
        tensors[WEIGHT] = tensors[WEIGHT].astype("float64") * 0 + 1e300
        self.refused(f"the checkpoint's {WEIGHT} is not finite as torch.float32",
                     encoder.load_tensors, tensors)
        tensors[WEIGHT] = (tensors[WEIGHT] * 0).astype("int32")
        self.refused(f"the checkpoint's {WEIGHT} is of int32; real numbers were expected",
                     encoder.load_tensors, tensors)

    def test_a_checkpoint_of_another_step_is_refused(self):
        out, step = self.copied()
        step.rename(out / "step-999")
        (out / "latest").write_text("step-999\n")
        self.refuses(out, f"'{out}/step-999' is a checkpoint of step [0-9]+: it was copied or "
                          "renamed$")

    def test_a_file_that_no_line_vouches_for_is_refused(self):
        out, step = self.copied()
        (step / "notes.txt").write_text("x")
        self.refuses(out, f"'{step}/notes.txt' is not in the folder's manifest: move it away$")

    def test_tensors_that_overlap_are_refused(self):
        out, step = self.copied()
        other = WEIGHT.replace(".q.", ".k.")
        change(step, lambda header, data: header[WEIGHT].update(
            data_offsets=header[other]["data_offsets"]))
        self.refuses(out, f"the data of '{WEIGHT}' begins at [0-9]+, which leaves a hole")

    def test_a_shape_that_no_array_has_is_refused(self):
        out, step = self.copied()
        change(step, lambda header, data: header.update(
            empty={"dtype": "F32", "shape": [0, 1 << 62], "data_offsets": [len(data)] * 2}))
        sentence = r"tensor empty has shape \[0, [0-9]{19}\], which no array has"
        for load in gsa.torch.Encoder.load, gsa.torch.Input.load, gsa.torch.load_checkpoint:
            with self.assertRaisesRegex(gsa.Error, sentence):
                load(out)

    def test_a_matrix_of_another_shape_is_refused(self):
        out, step = self.copied()
        def turn(header, _):
            for entry in (e for n, e in header.items() if n.startswith("encoder.")):
                entry["shape"].reverse()
        change(step, turn)
        with self.assertRaisesRegex(gsa.Error, r"the checkpoint's encoder\..* is \[16, 1\], by its "
                                               r"config.ini it is \[1, 16\]$"):
            gsa.torch.Encoder.load(out)
        encoder = gsa.torch.Encoder.load("base")
        with self.assertRaisesRegex(gsa.Error, r"encoder\..* has shape \(1, 16\); \(16, 1\) was "
                                               r"expected$"):
            encoder.save("none", out)
        self.assertFalse(os.path.lexists("none"))

    def test_an_embedding_of_no_word_is_refused(self):
        out, step = self.copied()
        def empty(header, data):
            begin, end = header["input.embedding.weight"]["data_offsets"]
            del data[begin:end]
            for entry in (e for e in header.values() if "data_offsets" in e):
                entry["data_offsets"] = [at - (end - begin) if at >= end else at
                                         for at in entry["data_offsets"]]
            header["input.embedding.weight"]["shape"][0] = 0
        change(step, empty)
        with self.assertRaises(gsa.Error) as caught:
            gsa.torch.Input.load(out)
        self.assertIn("input.embedding.weight", str(caught.exception))

    def test_what_is_read_has_a_bound(self):
        out, step = self.copied()
        for path, most in ((step / "manifest.sha256", 16384), (out / "latest", 64)):
            kept = path.read_bytes()
            for size in (most + 1, 1 << 40):  # a hole; read, it is more memory than there is
                os.truncate(path, size)
                sentence = f"'{path}' has {size} bytes, and the most that is read is {most}"
                if path.name != "latest":
                    self.refuses(out, sentence + "$")
                    continue
                with self.assertWarnsRegex(UserWarning, f"^{sentence}; '{step}' is used instead$"):
                    gsa.torch.Encoder.load(out)
            path.write_bytes(kept)
        with open(step / "config.ini", "ab") as file:
            file.write(b"#" * (1 << 24))
        listed(step)
        for load in (gsa.torch.Encoder.load, gsa.torch.load_checkpoint):
            self.refused(f"'{step}/config.ini' has more than 16777216 bytes", load, out)
        (step / "config.ini").write_text("a secret\n")
        listed(step)
        self.refused(f"'{step}/config.ini' is no recipe", gsa.torch.load_checkpoint, out)

    def test_layers_have_tensors(self):
        out, step = self.copied()
        text = (step / "config.ini").read_text()
        more = re.sub(r"(?m)^encoder = .*$", "encoder = " + "full*1000,full*1000", text)
        self.assertNotEqual(more, text)
        (step / "config.ini").write_text(more)
        listed(step)
        self.refused("the checkpoint has 29 tensors, by its config.ini it has 2000 layers",
                     gsa.torch.Encoder.load, out)

    def test_an_older_model_is_a_warning(self):
        out = train(self.base, "older", "star", "train.max_steps=0", "train.epochs=3")
        newest = gsa.torch._checkpoint.find(out)
        os.truncate(os.path.join(newest, "model.safetensors"), 100)
        encoder = gsa.torch.Encoder("star", 16, 4)
        for use in (gsa.torch.Encoder.load, gsa.torch.Input.load, gsa.torch.load_checkpoint,
                    lambda out: encoder.save("by_older", out),
                    lambda out: gsa.torch.save_checkpoint("by_older2", out, {})):
            with self.assertWarnsRegex(UserWarning,
                                       "older/step-[0-9]+' is used instead$") as caught:
                use(out)
            self.assertEqual(caught.filename, __file__)

    def test_a_checkpoint_that_was_changed_is_one_sentence(self):
        out, step = self.copied()
        path, encoder = step / "model.safetensors", gsa.torch.Encoder.load(out)
        with open(path, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            file.write(b"\x55")
        self.refuses(out, f"'{path}' does not have the hash that its manifest says$")
        lines = (step / "manifest.sha256").read_text().splitlines(keepends=True)
        for name in ("../../mine", "/tmp/mine", ".", "a b", "manifest.sha256"):
            with open(step / "manifest.sha256", "w", encoding="ascii") as file:
                file.writelines([f"{'0' * 64}  {name}\n", *lines[1:]])
            self.refused(f"{step}/manifest.sha256:1: expected a hash, two spaces and a file's name",
                         encoder.save, "mine", like=step)
        for make in (os.mkfifo, lambda path: os.symlink("/etc/hostname", path)):
            for spoilt in (step / "model.safetensors", out / "latest"):
                os.rename(spoilt, f"{spoilt}.old")
                make(spoilt)
                with self.assertRaises(gsa.Error):
                    gsa.torch.Encoder.load(spoilt.parent)
                os.replace(f"{spoilt}.old", spoilt)
        self.refused("'nowhere' is no folder of checkpoints: it is not there or is a file",
                     gsa.torch.Encoder.load, "nowhere")

    # ---- saving --------------------------------------------------------------------------------

    def test_a_folder_of_a_run_stays_as_it_is(self):
        encoder = gsa.torch.Encoder.load("base")
        out, step = self.copied()
        before = everything(out)
        self.refused(f"folder '{out}' holds a run already ('config.ini'): choose another",
                     encoder.save, out, "base")
        self.assertEqual(everything(out), before)
        for name in ("latest", "config.ini", "log.jsonl", "result.json", "lock", "step-1",
                     "step-7.old", "step-1.old-gsa", "model.safetensors", "manifest.sha256"):
            for make in (lambda p: p.write_text("mine"), lambda p: p.mkdir(),
                         lambda p: p.symlink_to("../thesis.txt")):
                pathlib.Path("thesis.txt").write_text("mine")
                there = pathlib.Path("there")
                there.mkdir()
                make(there / name)
                before = everything(self.base)
                self.refused(f"folder 'there' holds a run already ('{name}'): choose another",
                             encoder.save, there, "base")
                self.assertEqual(everything(self.base), before)
                shutil.rmtree(there)
        self.refused("'thesis.txt' cannot be listed: Not a directory", encoder.save, "thesis.txt",
                     "base")

    def test_what_a_killed_save_left_goes_with_the_next(self):
        left = pathlib.Path("killed", "step-1.tmp-gsa")
        left.mkdir(parents=True)
        (left / "model.safetensors").write_text("half")
        pathlib.Path("killed", "notes.txt").write_text("mine")
        gsa.torch.save_checkpoint("killed", "base", {})
        self.assertEqual(sorted(os.listdir("killed")), ["latest", "notes.txt", "step-1"])
        command("predict", "--model", "killed", "alpha")

    def test_numbers_that_are_not_finite_are_not_saved(self):
        shape = gsa.torch.load_checkpoint("base")[1][WEIGHT].shape
        before = everything(self.base)
        for value, kind, shown in ((float("nan"), torch.float32, "nan"),
                                   (float("inf"), torch.float32, "inf"),
                                   (1e300, torch.float64, "inf"), (-1e39, torch.float64, "-inf")):
            self.refused(f"'new': row 0, column 0 of '{WEIGHT}', counted from 0, is {shown}, "
                         f"expected a finite number", gsa.torch.save_checkpoint, "new", "base",
                         {WEIGHT: torch.full(shape, value, dtype=kind)})
            self.assertEqual(everything(self.base), before)
        with self.assertRaises(ValueError):
            gsa.torch.save_checkpoint("new", "base", {WEIGHT: torch.full(shape, math.nan)})

    def test_nothing_half_written_stays(self):
        out, step = self.copied()
        real = gsa.torch._checkpoint._open
        def fails(path, folder=None):
            if path.endswith("vocab.txt"):
                raise OSError("the disk is gone")
            return real(path, folder)
        gsa.torch._checkpoint._open = fails
        try:
            for make in (lambda: None, lambda: os.mkdir("half")):
                make()
                before = everything(self.base)
                with self.assertRaisesRegex(OSError, "the disk is gone"):
                    gsa.torch.save_checkpoint("half", out, {})
                self.assertEqual(everything(self.base), before)
        finally:
            gsa.torch._checkpoint._open = real
        gsa.torch.save_checkpoint("half", out, {})

    def test_what_is_saved_is_what_was(self):
        config, tensors = gsa.torch.load_checkpoint("base")
        encoder = gsa.torch.Encoder.load("base")
        encoder.save(pathlib.Path("deep/new"), "base")
        again, same = gsa.torch.load_checkpoint("deep/new")
        self.assertEqual(config, again)
        self.assertEqual(list(tensors), list(same))
        for name, x in tensors.items():
            self.assertEqual((x.dtype, x.shape, x.tobytes()),
                             (same[name].dtype, same[name].shape, same[name].tobytes()))
        self.assertEqual(command("predict", "--model", "deep/new", "alpha beta"),
                         command("predict", "--model", "base", "alpha beta"))
        self.refused("'base/step-6' has no tensor nothing", gsa.torch.save_checkpoint, "x", "base",
                     {"nothing": torch.zeros(1)})


if __name__ == "__main__":
    unittest.main()
