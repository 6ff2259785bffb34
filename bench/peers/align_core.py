"""One core: `warpweft align --score-only` next to parasail's striped forms of 16 and 32 bits, in turns.

    python3 -m pip install parasail && taskset -c 1 python3 bench/peers/align_core.py target/release/warpweft [rounds [NAME]]

With NAME the rates are also written to bench/results/DATE-align-core-NAME.json. Two random sequences of 20,000 letters of DNA, and
two proteins as long by BLOSUM62, local alignment; each line is the best and the median rate. Warpweft's seconds are those of its
report, parasail's those of the call, so neither includes reading files.
"""
import datetime
import json
import os
import random
import subprocess
import sys
import tempfile
import time

import parasail

LETTERS = 20_000
AMINO = "ARNDCQEGHILKMFPSTWYV"
# Letters, parasail's matrix and gap, Warpweft's options.
CASES = {
    "affine": ("ACGT", (2, -3), (5, 2), "--match 2 --mismatch -3 --gap-open -5 --gap-extend -2"),
    "linear": ("ACGT", (2, -1), (1, 1), "--match 2 --mismatch -1 --gap -1"),
    "BLOSUM62": (AMINO, None, (12, 1), "--matrix BLOSUM62 --gap-open -12 --gap-extend -1"),
}


def main():
    command = os.path.abspath(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 21
    numbers = random.Random(1)
    folder = tempfile.TemporaryDirectory()
    pairs = {}
    for letters in ("ACGT", AMINO):
        pair = ["".join(numbers.choice(letters) for _ in range(LETTERS)) for _ in range(2)]
        pairs[letters] = pair
        for name, sequence in zip("ab", pair):
            with open(f"{folder.name}/{name}{len(letters)}.fa", "w") as file:
                file.write(f">{name}\n{sequence}\n")
    seconds = {}

    def ours(case, letters, options):
        files = f"a{len(letters)}.fa b{len(letters)}.fa"
        line = f"align {files} --score-only {options} --device cpu --threads 1 --no-check --json"
        ran = subprocess.run([command] + line.split(), cwd=folder.name, capture_output=True, text=True, check=True)
        report = json.loads(ran.stdout)
        seconds.setdefault(f"warpweft, {case}", []).append(report["seconds"])
        return report["result"]["pairs"][0]["score"]

    for _ in range(rounds):
        for case, (letters, pair, (opened, extended), options) in CASES.items():
            matrix = parasail.matrix_create(letters, *pair) if pair else parasail.blosum62
            score = ours(case, letters, options)
            a, b = pairs[letters]
            for bits in (16, 32):
                begin = time.perf_counter()
                found = getattr(parasail, f"sw_striped_{bits}")(a, b, opened, extended, matrix).score
                seconds.setdefault(f"parasail striped {bits}, {case}", []).append(time.perf_counter() - begin)
                # With a linear gap the striped form may be a little low, see align_parasail.py.
                assert case == "linear" or found == score, (found, score)
    figures = []
    for name, all in seconds.items():
        all.sort()
        best, median = (LETTERS**2 / s / 1e9 for s in (all[0], all[len(all) // 2]))
        figures.append({"what": name, "rounds": rounds, "best": best * 1e9, "median": median * 1e9, "unit": "cells/s"})
        print(f"{name:28} best {best:6.2f}, median {median:6.2f} Gcells/s")
    if len(sys.argv) > 3:
        version = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
        with open("/proc/cpuinfo") as info:
            cpu = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), "unknown")
        name, date = sys.argv[3], datetime.date.today().isoformat()
        record = {
            "bench": "one core next to parasail", "date": date, "version": version, "parasail": parasail.__version__,
            "repeat": f"taskset -c 1 python3 bench/peers/align_core.py WARPWEFT {rounds} {name}", "cpu": cpu,
            "letters": LETTERS, "figures": figures,
        }
        os.makedirs("bench/results", exist_ok=True)
        with open(f"bench/results/{date}-align-core-{name}.json", "w") as to:
            to.write(json.dumps(record, indent=2) + "\n")


main()
