#!/usr/bin/env python3
"""An epoch of Masked Summation (train/recipes/masked-summation.ini, one layer of Star-Transformer) by gsa and by a plain C loop with
OpenMP (star.c), in turn, from the same weights on the same batches. Prints seconds of both, their ratio, and how far the losses are apart.

    cmake --build build --target gsa_peer_star
    python3 tools/lab/peers/star.py --build build [--threads 1] [--examples 10000] [--rounds 5] [--json FILE]

Seconds are of the wall's clock; processor seconds are of the whole process, so that another process's load does not lengthen them.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

RECIPE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../train/recipes/masked-summation.ini")
SETTINGS = ["train.schedule=constant", "task.dev=0", "task.test=0"]  # the peer has no schedule and evaluates nothing


def run(command):
    """Its last line of output as JSON, and the processor seconds it took."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"star.py: '{' '.join(command)}' ended with status {process.returncode}")
    return json.loads(text.strip().splitlines()[-1]), usage.ru_utime + usage.ru_stime


def build(options):
    """The commit that gsa was built from."""
    told = subprocess.run([os.path.join(options.build, "gsa"), "bench", "graph", "--topology", "ring", "--length", "1", "--runs", "1", "--json", "-"],
                          check=True, capture_output=True, text=True).stdout
    return json.loads(told)["build"]


def gsa(options, epochs, out):
    settings = SETTINGS + [f"train.epochs={epochs}", f"task.train={options.examples}"]
    command = [os.path.join(options.build, "gsa"), "train", RECIPE, "--device", "cpu", "--threads", str(options.threads), "--quiet",
               "--out", out]
    for setting in settings:
        command += ["--set", setting]
    result, processor = run(command)
    loss = None
    with open(os.path.join(out, "log.jsonl"), encoding="utf-8") as log:
        for line in log:
            loss = json.loads(line).get("train_loss", loss)
    return {"seconds": result["seconds"], "processor": processor, "loss": loss}


def peer(options, start):
    result, processor = run([os.path.join(options.build, "gsa_peer_star"), "--threads", str(options.threads), "--examples",
                             str(options.examples), "--start", start])
    return {"seconds": result["seconds"], "processor": processor, "loss": result["loss"]}


def median(rounds, who, what):
    return statistics.median(one[who][what] for one in rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="folder with gsa and gsa_peer_star")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--examples", type=int, default=10000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="file for the figures")
    options = parser.parse_args()
    rounds, before = [], os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as scratch:
        gsa(options, 0, os.path.join(scratch, "start"))
        start = os.path.join(scratch, "start", "step-0", "model.safetensors")
        for i in range(options.rounds):
            rounds.append({"round": i + 1, "examples": options.examples, "gsa": gsa(options, 1, os.path.join(scratch, str(i))), "peer": peer(options, start)})
    ratio = {what: statistics.median(one["peer"][what] / one["gsa"][what] for one in rounds) for what in ("seconds", "processor")}
    print(f"{'':6} {'seconds':>9} {'processor':>9} {'mean loss':>11}")
    for who in ("gsa", "peer"):
        print(f"{who:6} {median(rounds, who, 'seconds'):9.3f} {median(rounds, who, 'processor'):9.3f} {rounds[0][who]['loss']:11.6f}")
    print(f"the peer takes {ratio['seconds']:.2f} times as long (processor {ratio['processor']:.2f}): median of {len(rounds)} rounds in turn,"
          f" {options.threads} thread(s), {options.examples} examples")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump({"build": build(options), "load": before, "threads": options.threads, "peer_over_gsa": ratio, "cases": rounds}, out, indent=2)
            out.write("\n")


if __name__ == "__main__":
    main()
