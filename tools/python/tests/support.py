"""What the tests share: where the build stands, and small trained models of the command."""

import hashlib
import os
import pathlib
import random
import shutil
import subprocess
import unittest

import gsa

try:
    import torch
except ImportError:
    torch = None

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
BUILD = os.environ.get("GSA_BUILD", os.path.join(ROOT, "build"))
COMMAND = os.path.join(BUILD, "gsa")

torch = torch if torch and torch.__version__ >= (2, 9) else None
needs_torch = unittest.skipUnless(torch, "no PyTorch 2.9")
needs_command = unittest.skipUnless(os.path.exists(COMMAND), f"no {COMMAND}")


def command(*arguments, cwd=None):
    done = subprocess.run([COMMAND, *arguments], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"gsa {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def compiled(source, out, *options):
    """A shared object of C. The compiler is looked for on GSA_COMPILER_PATH, or PATH."""
    path = os.environ.get("GSA_COMPILER_PATH", os.environ["PATH"])
    compiler = shutil.which("cc", path=path)
    if not compiler:
        raise unittest.SkipTest("no C compiler")
    subprocess.run([compiler, "-shared", "-fPIC", *options, "-x", "c", "-", "-o", out], check=True,
                   input=source.encode(), env={**os.environ, "PATH": path})


class Case(unittest.TestCase):
    def refused(self, sentence, call, *arguments, **named):
        """The call is refused in this one sentence."""
        with self.assertRaises(gsa.Error) as caught:
            call(*arguments, **named)
        self.assertEqual(str(caught.exception), sentence)


def write_data(folder):
    """Lines whose label depends on their words; returns the texts of the dev set."""
    dice, lines = random.Random(1), []
    for _ in range(160):
        words = [dice.choice("alpha beta gamma delta zeta eta".split())
                 for _ in range(dice.randint(1, 9))]
        label = "pos" if words.count("alpha") > words.count("beta") else "neg"
        lines.append(f"{label}\t{' '.join(words)}\n")
    for name, part in (("train", lines[:128]), ("dev", lines[128:])):
        with open(os.path.join(folder, name + ".tsv"), "w", encoding="utf-8") as file:
            file.writelines(part)
    with open(os.path.join(folder, "recipe.ini"), "w", encoding="utf-8") as file:
        file.write("[task]\nname = text_classification\n[data]\ntrain = train.tsv\ndev = dev.tsv\n"
                   "test = dev.tsv\n[model]\nhidden = 16\nheads = 4\nembedding = 8\n"
                   "[train]\nmax_steps = 6\nlr = 0.01\nseed = 1\n")
    return [line.rstrip("\n").split("\t")[1] for line in lines[128:148]]


def train(folder, out, spec, *settings):
    sets = [word for s in (f"model.encoder={spec}", *settings) for word in ("--set", s)]
    command("train", "recipe.ini", *sets, "--out", out, "--quiet", cwd=folder)
    return os.path.join(folder, out)


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
