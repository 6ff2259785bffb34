"""Scores and ends of alignments by parasail, an independent program, for tests of `align`.

    python3 -m pip install parasail && python3 bench/peers/align_parasail.py

prints the tables in crates/warpweft-apps/tests/apps/parasail/mod.rs. The sequences come from splitmix64, as in
`warpweft::wavefront::conformance::Inputs`. parasail charges open + extend * (k - 1) for a gap of k
letters, so a linear gap of g is open = extend = g. Only the 32-bit routines are used: 16 bits wrap.
Of these the scan form: with open = extend the striped form of version 1.3.4 scores the random pair
of 20,000 letters with weights 5, -4, -8 2009, where scan, the 64-bit forms and a plain loop in C
say 2012.
Of equal scores parasail's end may be another than the least row, so ends are found from the
full table for short pairs only.
"""
import time

import parasail

MASK = (1 << 64) - 1


class Inputs:
    def __init__(self, seed):
        self.state = seed

    def bits(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def letter(self):
        return "ACGT"[self.bits() % 4]


def random_letters(seed, length):
    inputs = Inputs(seed)
    return "".join(inputs.letter() for _ in range(length))


def mutated(seed, text):
    """5 % substitutions, 1 % deletions, 1 % insertions."""
    inputs, out = Inputs(seed), []
    for letter in text:
        chance = inputs.bits() % 100
        if chance < 5:
            out.append(inputs.letter())
        elif chance == 5:
            continue
        elif chance == 6:
            out.extend((inputs.letter(), letter))
        else:
            out.append(letter)
    return "".join(out)


def first_best(a, b, matrix, open, extend):
    """Least row, then column, of the greatest score: from the whole table."""
    # The table is a view into the result, which must stay alive.
    result = parasail.sw_table_scan_32(a, b, -open, -extend, matrix)
    table = result.score_table
    best = table.max()
    row, column = divmod(int(table.argmax()), table.shape[1])
    return int(best), row + 1, column + 1


def pairs():
    for kind in ("random", "mutated"):
        for length in (60, 1000, 20_000):
            a = random_letters(length, length)
            b = random_letters(length + 1, length) if kind == "random" else mutated(7, a)
            yield kind, length, a, b


def local(match, mismatch, open, extend):
    matrix = parasail.matrix_create("ACGT", match, mismatch)
    for kind, length, a, b in pairs():
        start = time.perf_counter()
        score = parasail.sw_scan_32(a, b, -open, -extend, matrix).score
        rate = len(a) * len(b) / (time.perf_counter() - start) / 1e9
        ends = "None"
        if length <= 1000:
            best, row, column = first_best(a, b, matrix, open, extend)
            assert best == score
            ends = f"Some([{row}, {column}])"
        yield f"({match}, {mismatch}, {open}, {extend}, \"{kind}\", {length}), {score}, {ends}", rate


def both_whole(match, mismatch, open, extend):
    matrix = parasail.matrix_create("ACGT", match, mismatch)
    for kind, length, a, b in pairs():
        start = time.perf_counter()
        score = parasail.nw_scan_32(a, b, -open, -extend, matrix).score
        rate = len(a) * len(b) / (time.perf_counter() - start) / 1e9
        assert score == parasail.nw_scan_64(a, b, -open, -extend, matrix).score
        yield f"({match}, {mismatch}, {open}, {extend}, \"{kind}\", {length}), {score}", rate


def main():
    linear = [(2, -1, -1, -1), (5, -4, -8, -8), (1, -3, -2, -2)]
    affine = [(2, -3, -5, -2), (1, -4, -6, -1), (5, -4, -12, -2)]
    for table in (local, both_whole):
        print(f"// {table.__name__}")
        for weights in linear + affine:
            for row, rate in table(*weights):
                print(f"    ({row}), // {rate:.1f} GCUPS")


if __name__ == "__main__":
    main()
