"""Runs of `warpweft apsp` over 3 ranks of which a random one is killed (-9) at a random time, until the result is there.

    python3 lost_ranks.py WARPWEFT RUNS SEED NAME LAUNCHER..

LAUNCHER is the launcher and its options, such as `mpirun --with-ft ulfm`. A run that ends with an error is resumed from its journal.
Prints how many runs were right at once and after how many resumes, and whether the command that resumes was printed, and writes
the same to bench/results/DATE-lost-ranks-NAME.json. Ends with 1 if a result was wrong or a run hung.
"""

import collections
import contextlib
import datetime
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

program, runs, seed, name, launcher = os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5:]
APSP = "apsp random:20000 --device cpu --threads 1 --chunk 3 --sources 0..4000 --check 1 --output out.csv".split()
HANGS = 60.0


def ranks(folder):
    """The processes that run in a folder, by rank."""
    found = {}
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{process}/cwd") != folder or os.readlink(f"/proc/{process}/exe") != program:
                continue
            lines = open(f"/proc/{process}/environ", "rb").read().split(b"\0")
        except OSError:
            continue
        for line in lines:
            name, _, value = line.partition(b"=")
            if name in (b"OMPI_COMM_WORLD_RANK", b"PMI_RANK"):
                found[int(value)] = int(process)
    return found


def started(folder, resume, victim, delay):
    """One start of the command: its status, what it printed to standard error, and whether the victim was killed."""
    line = launcher + ["-n", "3", program] + APSP + ["--journal", "kept", "--flush", "0"] + resume
    with open(f"{folder}/err", "w+") as err:
        killed = False
        child = subprocess.Popen(line, cwd=folder, stdout=subprocess.DEVNULL, stderr=err)
        since = time.time()
        while child.poll() is None:
            there = ranks(folder) if victim is not None else {}
            if victim in there and os.path.exists(f"{folder}/kept/results"):
                # It may end meanwhile, and its number may become another's.
                with contextlib.suppress(ProcessLookupError):
                    handle = os.pidfd_open(there[victim])
                    same = ranks(folder).get(victim) == there[victim]
                    time.sleep(delay)
                    if same:
                        signal.pidfd_send_signal(handle, signal.SIGKILL)
                        killed = True
                    os.close(handle)
                victim, since = None, time.time()
            if time.time() - since > HANGS:
                for process in ranks(folder).values():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(process, signal.SIGKILL)
                child.kill()
                return "hangs", "", killed
            time.sleep(0.02)
        err.seek(0)
        return child.returncode, err.read(), killed


folders = contextlib.ExitStack()
folder = os.path.realpath(folders.enter_context(tempfile.TemporaryDirectory()))
subprocess.run([program] + APSP, cwd=folder, check=True, capture_output=True)
expect = open(f"{folder}/out.csv").read()
chance, counts = random.Random(seed), collections.Counter()
for _ in range(runs):
    folders.close()
    folder, resume, resumes = os.path.realpath(folders.enter_context(tempfile.TemporaryDirectory())), [], 0
    victim, delay = chance.randrange(3), chance.uniform(0.0, 1.5)
    while True:
        status, said, killed = started(folder, resume, victim if resumes == 0 else None, delay)
        if resumes == 0:
            counts[f"rank {victim} killed" if killed else "ended before the kill"] += 1
        if status == 0 or resumes == 5:
            break
        counts["hangs" if status == "hangs" else f"ended with rank {victim}, {said.count('continue with')} commands printed"] += 1
        if status != "hangs" and said.strip():
            print(f"rank {victim}, {delay:.2f} s:", said.strip().splitlines()[-1], file=sys.stderr)
        resume, resumes = ["--resume"], resumes + 1
    right = status == 0 and open(f"{folder}/out.csv").read() == expect
    counts[f"{'right' if right else 'WRONG'} after {resumes} resumes"] += 1
folders.close()
version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.split()[-1]
launcher_version = subprocess.run(launcher[:1] + ["--version"], capture_output=True, text=True).stdout.splitlines()[:1]
record = {
    "bench": "lost ranks", "date": datetime.date.today().isoformat(), "version": version,
    "repeat": f"python3 bench/lost_ranks.py WARPWEFT {runs} {seed} {name} {' '.join(launcher)}",
    "launcher": launcher_version, "cores": os.cpu_count(), "ranks": 3, "runs": runs, "counts": dict(counts),
}
os.makedirs("bench/results", exist_ok=True)
with open(f"bench/results/{record['date']}-lost-ranks-{name}.json", "w") as to:
    to.write(json.dumps(record, indent=2) + "\n")
print(record["counts"])
sys.exit(any(what.startswith(("WRONG", "hangs")) for what in counts))
