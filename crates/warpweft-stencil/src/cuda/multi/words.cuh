// Words: planes cross a cut in words that carry the number of the trip beside the value, so that the
// receiver polls the data itself. No flag, and no fence of the sender: on four H200s that fence alone
// cost 0.9 of 3.9 us a step at 128^3.
//
// A trip is `depth` launches of one step. In the first, tiles that read ghost planes wait for the words
// of the neighbours' trip before and put the values into this device's ghost planes; all then advance
// the ghost planes too, as far as later launches of the trip need them. In the last, tiles store what
// the neighbours' ghost zones hold into their landing zones, a word of eight bytes for four of data.
//
// Grid:   as Direct, over the slab and the ghost planes it advances; tiles that wait or send come first.
// Block:  as Direct; tiles at a cut meet at two block barriers.
// Shared: none.
//
// Protocol. A landing zone has two slots; the words of trip n go to slot n % 2 with tag n + 1. Tiles
// count trips in `received` and `sent`, words that only they touch; no word has arrived before trip 0.
// No torn value: a word of eight bytes is loaded and stored at once, and so carries its own tag.
// No overwrite: who sends trip n has got words of trip n - 1 of every tile that reads the same slot, for
// as far as its cells go to a tile, so far do the cells that it reads come from one (footprints across a
// cut are alike both ways, and taken as boxes). A tile sends when all its threads have what they polled
// for, so the words of trip n - 2 had been read before those of n - 1 were sent.
// No deadlock: as in edges.cuh, trip n waits for trip n - 1 alone.
// Two tiles may put the same ghost cell in place: they store the same bits, and each reads its own.
// Source of the idea: the "LL" protocol of NCCL.
#pragma once
#include "watchdog.cuh"

namespace ww::stencil {

using word_pair = ulonglong2;  // two words; the value is the low half of each

struct Words {
  ww_word* received;            // a counter a tile that waits; null in launches that do not receive
  ww_word* sent;                // a counter a tile that sends; null in launches that do not send
  const unsigned long long* from[2];  // this device's landing zones, below and above
  unsigned long long* to[2];    // the neighbour's: above of the one below, below of the one above
  ww_word* failed;              // set once a wait took too long: then none waits
  ww_watchdog dog;
  i64 slot;                     // words of a slot
  int zone[2];                  // planes of the ghost zones below and above; 0 where there is no cut
  int sent_zone[2];             // planes that go below and above, likewise
  int layers[2];                // layers of tiles at the cuts in this launch
  int groups;                   // of tiles along y
  int planes;                   // of the slab
};

WW_FN word_pair load_words(const unsigned long long* from) {
  word_pair words;
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];" : "=l"(words.x), "=l"(words.y) : "l"(from) : "memory");
  return words;
}
WW_FN void store_words(unsigned long long* to, word_pair words) {
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(words.x), "l"(words.y) : "memory");
}
// The trip after `trip`, of the other parity; 0 stands for none and does not come again.
WW_FN ww_word after(ww_word trip) { return trip == ~0u ? 2 : trip + 1; }
WW_FN unsigned tag_of(unsigned long long word) { return unsigned(word >> 32); }

// --- a shape whose stores go to landing zones too

template <class S>
struct Worded : S {};

template <class S>
struct WordPointers : PointersOf<S, typename S::Used> {
  unsigned long long* to[2];  // slots of the neighbours, at this device's plane 0 and at its first that is sent
  i64 low_end, high_start;    // as in EdgePointers
  unsigned tag;
};
template <class S>
struct PointersType<Worded<S>> {
  using type = WordPointers<S>;
};
template <class S, int F>
constexpr memory memory_of<Worded<S>, F> = S::in_place(F) ? memory::plain : memory::arrived;

template <class S>
struct Stored<Worded<S>> {
  static constexpr bool last = true;
  template <int Cells>
  WW_FN static void row(const WordPointers<S>& fields, i64 at, Row<Worded<S>, Cells>& row) {
    constexpr int F = S::sent_field;
    using T = typename S::template Type<F>;
    constexpr int halves = sizeof(T) / 4;  // words of a cell
    const T* cells = row.template of<F>();
#pragma unroll
    for (int side = 0; side < 2; side++) {
      if (side == 0 ? at >= fields.low_end : at < fields.high_start) continue;
      unsigned long long* to = fields.to[side] + (at - (side == 0 ? 0 : fields.high_start)) * halves;
      unsigned bits[Cells * halves];
      memcpy(bits, cells, sizeof(bits));
      const unsigned long long tag = (unsigned long long)(fields.tag) << 32;
      if constexpr (Cells * halves % 2 == 0) {
#pragma unroll
        for (int c = 0; c < Cells * halves; c += 2) store_words(to + c, {tag | bits[c], tag | bits[c + 1]});
      } else {
        asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(to), "l"(tag | bits[0]) : "memory");
      }
    }
  }
};

// --- receiving

// A box of ghost cells that a tile reads, [low, high) along z, y, x; x in whole pairs of words.
struct Arriving {
  int low[3], high[3];
};

// The landing zone of one side in one trip, seen from the cells: where the words of element index 0 of the
// array would be.
struct Zone {
  const unsigned long long* words;
  int side;
  unsigned trip;
};

// Polls for words that are not there yet. False: took too long.
WW_FN bool poll(const Words& words, const Zone& zone, const unsigned long long* from, bool one, word_pair& got) {
  unsigned long long start = 0;
#pragma unroll 1
  for (unsigned tries = 1; tag_of(got.x) != zone.trip || (!one && tag_of(got.y) != zone.trip); tries++) {
    got = load_words(from);
    if ((tries & 0x3ff) != 0) continue;
    if (ww_load_acquire_gpu(words.failed) != 0) return false;
    const unsigned long long now = ww_nanoseconds();
    if (start == 0) start = now;
    if (now - start > words.dog.nanoseconds) {
      ww_watchdog_report(words.dog, zone.side, ww_word(from - zone.words), zone.trip, tag_of(got.x));
      ww_store_release_gpu(words.failed, 1);
      return false;
    }
  }
  return true;
}

// Puts the values of a pair of words, which may not be there yet, at element index `at`; `one` without
// its second cell. False: took too long.
template <class T>
WW_FN bool put(const Words& words, const Zone& zone, T* array, i64 at, bool one, word_pair got) {
  constexpr int cells = 8 / int(sizeof(T));  // of a pair of words
  if (!poll(words, zone, zone.words + at * int(sizeof(T) / 4), one, got)) return false;
  const unsigned bits[2] = {unsigned(got.x), unsigned(got.y)};
  T values[cells];
  memcpy(values, bits, sizeof(bits));
  if (one) {
    array[at] = values[0];
  } else {
    store_vector<cells>(array + at, values);
  }
  return true;
}

// Polls the words of a box and stores their values into this device's ghost planes. Rows go to warps in
// turn, several at a time, and to lanes the columns that the tile has itself; what sticks out on either
// side of those comes at the end, a pair a thread. Where every step exchanges, both slots are asked at
// once: which of them it is, `trip` says, and that is still on its way itself. False: took too long.
template <class S>
WW_FN bool receive(const Words& words, const Box& box, typename S::template Type<S::sent_field>* array,
                   const Arriving& part, int side, unsigned trip) {
  using T = typename S::template Type<S::sent_field>;
  constexpr int cells = 8 / int(sizeof(T)), halves = sizeof(T) / 4;
  constexpr int pairs = S::vx >= cells ? S::vx / cells : 1;    // of a lane, a warp's width apart
  constexpr bool either = S::every == 1;
  // Rows of a warp on their way; in two dimensions there are hardly more rows than warps.
  constexpr int batch = either ? S::vy : S::dims == 2 || pairs >= 8 ? 1 : 8 / pairs;
  const i64 first = (side == 0 ? -words.zone[0] : words.planes) * box.z;
  const unsigned long long* const zero = words.from[side] - first * halves;  // the first slot's
  const int rows = part.high[1] - part.low[1], count = rows * (part.high[0] - part.low[0]);
  const int x0 = int(blockIdx.x) * 32 * S::vx, x1 = lower(x0 + 32 * S::vx, part.high[2]);
  const auto row_at = [&](int row) { return (part.low[0] + row / rows) * box.z + (part.low[1] + row % rows) * box.y; };
  const auto one = [&](int x) { return cells == 2 && x + 1 >= box.high[3]; };
  bool ok = true;
#pragma unroll 1
  for (int row = int(threadIdx.y); row < count; row += S::warps * batch) {
    word_pair got[batch][pairs], other[batch][pairs];
    const int x = x0 + int(threadIdx.x) * cells;
#pragma unroll
    for (int b = 0; b < batch; b++) {
      const i64 at = row_at(lower(row + b * S::warps, count - 1));
#pragma unroll
      for (int p = 0; p < pairs; p++) {
        const int column = x + p * 32 * cells;
        if (column >= x1) continue;
        const unsigned long long* from = zero + (at + column) * halves;
        got[b][p] = load_words(either ? from : from + (trip & 1) * words.slot);
        if (either) other[b][p] = load_words(from + words.slot);
      }
    }
    if (trip == 0) return true;
    const Zone zone = {zero + (trip & 1) * words.slot, side, trip};
#pragma unroll
    for (int b = 0; b < batch; b++) {
      const i64 at = row_at(lower(row + b * S::warps, count - 1));
#pragma unroll
      for (int p = 0; p < pairs; p++) {
        const int column = x + p * 32 * cells;
        if (column >= x1) continue;
        const word_pair pair = either && (trip & 1) ? other[b][p] : got[b][p];
        ok = ok && put(words, zone, array, at + column, one(column), pair);
      }
    }
  }
  const Zone zone = {zero + (trip & 1) * words.slot, side, trip};
  const int before = (x0 - part.low[2]) / cells;
  const int beside = before + higher(part.high[2] - x1, 0) / cells;
#pragma unroll 1
  for (int i = threadIdx.y * 32 + threadIdx.x; i < beside * count; i += 32 * S::warps) {
    const int column = i % beside;
    const int x = column < before ? part.low[2] + column * cells : x1 + (column - before) * cells;
    const i64 at = row_at(i / beside) + x;
    ok = ok && put(words, zone, array, at, one(x), load_words(zone.words + at * halves));
  }
  return ok;
}

// The cells of the ghost zone on `side` that a tile of planes [z, z + deep) and rows [y, y + high) reads.
template <class S>
WW_FN Arriving arriving(const Words& words, const Box& box, int side, int z, int y) {
  constexpr int cells = 8 / int(sizeof(typename S::template Type<S::sent_field>));
  constexpr int deep = S::dims == 2 ? S::warps * S::vz : S::vz, high = S::dims == 2 ? 1 : S::warps * S::vy;
  const int x = int(blockIdx.x) * 32 * S::vx;
  Arriving part;
  part.low[0] = higher(z - S::near_z, side == 0 ? -words.zone[0] : words.planes);
  part.high[0] = lower(z + deep + S::near_z, side == 0 ? 0 : words.planes + words.zone[1]);
  part.low[1] = higher(y - S::near_y, box.low[2]);
  part.high[1] = lower(y + high + S::near_y, box.high[2]);
  part.low[2] = higher(x - (S::near_x + cells - 1) / cells * cells, box.low[3]);
  part.high[2] = (lower(x + 32 * S::vx + S::near_x, box.high[3]) + cells - 1) / cells * cells;
  return part;
}

// One tile of a launch. `fields` and `array`, the field that crosses the cut as it is read, belong to
// tiles at a cut; `plain` is the same fields for all others.
template <class S, class E>
WW_FN void words_direct(const Pointers<S>& plain, WordPointers<S> fields,
                        typename S::template Type<S::sent_field>* array, const Box& box, const Words& words,
                        const E& element) {
  take_turn();
  constexpr int deep = S::dims == 2 ? S::warps * S::vz : S::vz;
  const Turn turn = turn_of(words.layers, words.groups);
  const int z = box.low[1] + turn.layer * deep, y = S::dims == 3 ? turn.y * S::warps * S::vy : 0;
  const int x = (int(blockIdx.x) * 32 + int(threadIdx.x)) * S::vx;
  int own_z = S::dims == 2 ? z + int(threadIdx.y) * S::vz : z;
  const int own_y = S::dims == 3 ? y + int(threadIdx.y) * S::vy : 0;
  const bool mine = x < box.high[3] && own_y < box.high[2] && own_z < box.high[1];
  if (!turn.edge()) {
    if (mine) direct_tile<S>(plain, box, element, 0, own_z, own_y, x);
    return;
  }
  const int counter = turn.rank * turn.columns + turn.column;
  unsigned trip = 0;
  if (words.received != nullptr) {
    trip = words.received[counter];
    bool ok = true;
#pragma unroll 1
    for (int side = 0; side < 2; side++) {
      if ((S::every > 1 && trip == 0) || words.zone[side] == 0) continue;
      const Arriving part = arriving<S>(words, box, side, z, y);
      if (part.high[0] <= part.low[0]) continue;
      ok = ok && receive<S>(words, box, array, part, side, trip);
    }
    if (!__syncthreads_and(ok)) return;
    // No load of ghost planes is known before this.
    asm volatile("" : "+r"(own_z)::"memory");
  }
  // Nothing is sent.
  fields.low_end = -(i64(1) << 62);
  fields.high_start = i64(1) << 62;
  if (words.sent != nullptr) {
    if (words.received == nullptr) trip = words.sent[counter];
    fields.tag = after(trip);
    const i64 slot = i64(fields.tag & 1) * words.slot;
    fields.to[0] = words.to[0] + slot;
    fields.to[1] = words.to[1] + slot;
    fields.low_end = words.sent_zone[0] * box.z;
    if (words.sent_zone[1] > 0) fields.high_start = (words.planes - words.sent_zone[1]) * box.z;
  }
  if (mine) direct_tile<Worded<S>>(fields, box, element, 0, own_z, own_y, x);
  // Other threads read the counters above.
  __syncthreads();
  if (threadIdx.y * 32 + threadIdx.x == 0) {
    if (words.received != nullptr) words.received[counter] = after(trip);
    if (words.sent != nullptr && words.sent != words.received) words.sent[counter] = after(trip);
  }
}

}  // namespace ww::stencil
