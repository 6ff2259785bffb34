"""Scores of `warpweft align` next to parasail's and edlib's: pairs of every mode, and random scoring schemes.

    python3 -m pip install parasail edlib && python3 bench/peers/align_schemes.py target/release/warpweft [pairs [schemes [NAME]]]

First `pairs` random pairs (2,000) of each mode, DNA and proteins, are aligned in one batch by one random scheme each; edit distances
are compared with edlib's. Then each of `schemes` random schemes (5,000) aligns one pair in a random mode, which is checked along its path too.
parasail's scan forms are taken: its striped forms may be a little low where a gap has one cost a letter. Scores that differ are printed, counted, and an
error. With NAME the counts are written to bench/results/DATE-align-schemes-NAME.json.
"""
import datetime
import json
import os
import random
import subprocess
import sys
import tempfile

import edlib
import parasail

AMINO = "ARNDCQEGHILKMFPSTWYV"
# Warpweft's option and parasail's function: q is the query, d the target, b its beginning, e its end.
MODES = {
    "--local": "sw_scan_32",
    "--global": "nw_scan_32",
    "--semi-global": "sg_dx_scan_32",
    "--free-ends query-start --free-ends query-end": "sg_qx_scan_32",
    "--free-ends query-start": "sg_qb_scan_32",
    "--free-ends query-end": "sg_qe_scan_32",
    "--free-ends target-start": "sg_db_scan_32",
    "--free-ends target-end": "sg_de_scan_32",
    "--free-ends query-start --free-ends target-end": "sg_qb_de_scan_32",
    "--free-ends query-end --free-ends target-start": "sg_qe_db_scan_32",
    "--overlap": "sg_scan_32",
}


def sequences(numbers, letters, longest):
    """A random pair, or one and its copy with edits."""
    def one():
        return "".join(numbers.choice(letters) for _ in range(numbers.randint(1, longest)))

    a = one()
    if numbers.random() < 0.5:
        return a, one()
    b = "".join(numbers.choice(["", x, x, x, x, x, x + numbers.choice(letters), numbers.choice(letters)]) for x in a)
    return a, b or a


def scheme(numbers):
    """Options, and parasail's matrix and gaps."""
    extend = numbers.randint(1, 6)
    opened = extend + numbers.choice([0, 0, 1, 2, 5, 10])
    gaps = f"--gap-open -{opened} --gap-extend -{extend}"
    name = numbers.choice(["DNA", "DNA", "DNA", "blosum62", "blosum50", "pam250"])
    if name != "DNA":
        return AMINO, f"--matrix {name.upper()} {gaps}", getattr(parasail, name), opened, extend
    match, mismatch = numbers.randint(1, 9), numbers.randint(-9, 0)
    return "ACGT", f"--match {match} --mismatch={mismatch} {gaps}", parasail.matrix_create("ACGT", match, mismatch), opened, extend


def main():
    command = os.path.abspath(sys.argv[1])
    count, schemes = (int(sys.argv[at]) if len(sys.argv) > at else default for at, default in ((2, 2000), (3, 5000)))
    numbers = random.Random(25)
    folder = tempfile.TemporaryDirectory()

    def ours(pairs, options):
        for name, which in (("a", 0), ("b", 1)):
            with open(f"{folder.name}/{name}.fa", "w") as file:
                file.writelines(f">{at}\n{pair[which]}\n" for at, pair in enumerate(pairs))
        line = f"align a.fa b.fa --device cpu --batch --json {options}"
        ran = subprocess.run([command] + line.split(), cwd=folder.name, capture_output=True, text=True)
        if ran.returncode != 0:
            sys.exit(f"{line}: {ran.stderr}\nfirst pairs: {pairs[:2]}")
        report = json.loads(ran.stdout)
        scores = [pair["score"] for pair in report["result"]["pairs"]]
        if len(scores) != len(pairs):
            sys.exit(f"{line}: {len(scores)} scores of {len(pairs)} pairs")
        # A local alignment that scores nothing is none.
        return [score or 0 for score in scores]

    def compare(pairs, options, function, matrix, opened, extend):
        """How many scores differ, each of which is told."""
        expected = [getattr(parasail, function)(a, b, opened, extend, matrix).score for a, b in pairs]
        return differing(pairs, options, expected)

    def differing(pairs, options, expected):
        differ = 0
        for (a, b), score, other in zip(pairs, ours(pairs, options), expected):
            if score != other:
                print(f"{options}: {score}, not {other}: {a} {b}", flush=True)
                differ += 1
        return differ

    modes = {}
    for mode, function in MODES.items():
        modes[mode] = {"dna": count, "proteins": count, "differ": 0}
        for wanted in ("ACGT", AMINO):
            letters = ""
            while letters != wanted:
                letters, options, matrix, opened, extend = scheme(numbers)
            pairs = [sequences(numbers, letters, 200) for _ in range(count)]
            each = [compare(pairs, f"{mode} {options} {paths}", function, matrix, opened, extend) for paths in ("--score-only", "")]
            modes[mode]["differ"] += max(each)
            print(f"{count} pairs {mode} {options}: {max(each)} differ", flush=True)
    pairs = [sequences(numbers, "ACGT", 200) for _ in range(count)]
    # Each letter scores 1, each edit -2.
    expected = [len(a) + len(b) - 2 * edlib.align(a, b)["editDistance"] for a, b in pairs]
    distances = differing(pairs, "--global --match 2 --mismatch 0 --gap -1 --score-only", expected)
    print(f"{count} edit distances: {distances} differ from edlib's", flush=True)
    of_schemes = 0
    for at in range(schemes):
        letters, options, matrix, opened, extend = scheme(numbers)
        mode, function = numbers.choice(list(MODES.items()))
        of_schemes += compare([sequences(numbers, letters, 60)], f"{mode} {options}", function, matrix, opened, extend)
        if (at + 1) % 500 == 0:
            print(f"{at + 1} schemes: {of_schemes} differ", flush=True)
    if len(sys.argv) > 4:
        version = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
        name, date = sys.argv[4], datetime.date.today().isoformat()
        record = {
            "bench": "alignments next to parasail and edlib", "date": date, "version": version, "parasail": parasail.__version__,
            "repeat": f"python3 bench/peers/align_schemes.py WARPWEFT {count} {schemes} {name}",
            "pairs": modes,
            "edit distances": {"pairs": count, "differ": distances}, "schemes": {"count": schemes, "differ": of_schemes},
        }
        os.makedirs("bench/results", exist_ok=True)
        with open(f"bench/results/{date}-align-schemes-{name}.json", "w") as to:
            to.write(json.dumps(record, indent=2) + "\n")
    sys.exit(distances + of_schemes + sum(mode["differ"] for mode in modes.values()) > 0)


main()
