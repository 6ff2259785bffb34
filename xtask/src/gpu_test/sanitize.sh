#!/usr/bin/env bash
# Small runs of every kind of kernel under compute-sanitizer's memcheck, racecheck, synccheck and initcheck.
# usage: sanitize.sh COMMAND KNOWN
# KNOWN lists what a tool reports of a kernel that is right all the same, with the reason. Everything else fails.
# Ends with `N passed, N failed, N skipped`.
command=$(realpath "$1") known=$(realpath "$2")
tool=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | head -n 1)
if [ -z "$tool" ]; then
  echo "skipped: there is no compute-sanitizer"
  echo "0 passed, 0 failed, 1 skipped"
  exit
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export WARPWEFT_CACHE="$work/cache"
letters() { awk -v n="$1" -v s="$2" 'BEGIN { srand(s); printf ">x\n"; for (i = 0; i < n; i++) printf "%s", substr("ACGT", int(rand() * 4) + 1, 1); print "" }'; }
letters 700 1 > q.fa
letters 900 2 > t.fa
for i in $(seq 1 40); do letters 120 "$((i + 2))"; done > many.fa
for i in $(seq 1 40); do letters 150 "$((i + 50))"; done > many2.fa
# NPY as numpy saves it: a header of 128 bytes, then the values, here of zeros and random bytes.
npy() { printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '$1', 'fortran_order': False, 'shape': $2, }"; head -c "$3" "$4"; }
npy '|u1' '(200, 260)' 52000 /dev/urandom > bytes.npy
npy '<f4' '(200, 260)' 208000 /dev/zero > reals.npy
npy '<f4' '(300,)' 1200 /dev/zero > a.npy
npy '<f4' '(410,)' 1640 /dev/zero > b.npy
npy '<f4' '(40, 100)' 16000 /dev/zero > series.npy
cat > lines <<'L'
run heat --size 40 --steps 9
run heat --size 200x300 --steps 12
run life --size 100 --steps 5
run life --size 256 --steps 40
run heat --size 60x64 --boundary periodic --linear --steps 20
run swim --size 64 --steps 4
run seismic --size 24 --steps 4
run himeno --size 32x32x64 --steps 3
run laplace --size 70 --sweeps 3
align q.fa t.fa --score-only
align q.fa t.fa
align q.fa t.fa --gap-open -5 --gap-extend -1
align q.fa t.fa --gap-open -5 --gap-extend -1 --score-only
align many.fa many2.fa --batch
align many.fa many2.fa --top 3
align q.fa t.fa --global
dtw a.npy b.npy
dtw series.npy --matrix distances.npy
sat bytes.npy
sat reals.npy
apsp random:1500 --sources 0..40
channels fib 18
channels queens 8
channels uts T1
channels sort 20000
channels sort 50000
channels sort 30000 --by radix
channels strassen 300 --leaf 128
channels knapsack 30
run paths
run mandelbrot --size 128
run options
L
# Compiles the kernels, so that no limit of time below is met by that.
while read -r -a line; do "$command" "${line[@]}" --device gpu > /dev/null 2>&1; done < lines
one() {
  local kind=$1 log
  log=$(mktemp "$work/log.XXXX")
  shift
  timeout 120 "$tool" --tool "$kind" --error-exitcode 99 "$command" "$@" --device gpu > "$log" 2>&1
  local status=$?
  local kernels
  kernels=$(grep -oE '(=| )+(at|access at) [A-Za-z_$][A-Za-z_0-9$]*\+' "$log" | grep -oE '[A-Za-z_0-9$]+\+' | tr -d + | sort -u)
  if [ "$status" = 0 ]; then echo "passed $kind: $*"; return; fi
  for kernel in $kernels; do awk -v kind="$kind" -v kernel="$kernel" '$1 == kind && $2 == kernel { found = 1 } END { exit !found }' "$known" || status=unexplained; done
  if [ "$status" = 99 ] && [ -n "$kernels" ]; then echo "passed $kind: $*: known of" $kernels; return; fi
  echo "FAILED $kind: $* ($status):" $kernels
  grep -E '^=========' "$log" | head -n 20
}
export -f one
export tool command known work
for kind in memcheck racecheck synccheck initcheck; do
  sed "s/^/$kind /" lines | xargs -P 8 -d '\n' -n 1 bash -c 'set -f; one $0'
done > results
grep -v '^passed [a-z]*: [^:]*$' results
echo "$(grep -c '^passed' results) passed, $(grep -c '^FAILED' results) failed, 0 skipped"
! grep -q '^FAILED' results
