// Messages that say by themselves whether they are there: cells travel in words, each stored and loaded at once, of whose bits
// the last is a mark that changes from one use of a slot to the next; the receiver polls the words themselves. The
// bits that had the marks' place come next to, of 32 words in a word of their own, with the number of the post. So
// neither a fence of the sender, which waits until its stores have arrived (at another device a whole way), nor a
// flag's own way lies between a step and the next, and of 16 bytes all but a bit are cells.
//
// Messages: per tile, direction and parity of the post: words in rows along x, then those next to them.
// Source of the idea: the "LL" protocols of NCCL, whose words are half or an eighth flags.
#pragma once

namespace ww::stencil {

// V cells.
template <int V, class T>
struct Sealed {
  static constexpr int size = V * int(sizeof(T)), bits = size / 4;
  unsigned word[bits];
  WW_FN bool mark() const { return word[bits - 1] >> 31; }
  WW_FN void mark(bool bit) { word[bits - 1] = (word[bits - 1] & 0x7fffffffu) | unsigned(bit) << 31; }
};
// The mark of a post, of which two slots are used by turns.
WW_FN bool marked(ww_word post) { return (post & 2) == 0; }
WW_FN unsigned long long both(unsigned low, unsigned high) { return (unsigned long long)(high) << 32 | low; }
WW_FN void store_word(bool there, void* to, const unsigned (&word)[1]) {
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p st.relaxed.sys.global.b32 [%0], %1; }"
               ::"l"(to), "r"(word[0]), "r"(unsigned(there)) : "memory");
}
WW_FN void store_word(bool there, void* to, const unsigned (&word)[2]) {
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p st.relaxed.sys.global.b64 [%0], %1; }"
               ::"l"(to), "l"(both(word[0], word[1])), "r"(unsigned(there)) : "memory");
}
// 16 bytes at once: PTX has a type for that since CUDA 12.4; before, devices did it and nothing said so.
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1204
#define WW_WHOLE(low, high, as) "{ .reg .b128 w; .reg .pred p; setp.ne.u32 p, %3, 0; mov.b128 w, {" low ", " high "};\n" as " }"
#define WW_STORE_WHOLE WW_WHOLE("%1", "%2", "@p st.relaxed.sys.global.b128 [%0], w;")
#define WW_LOAD_WHOLE WW_WHOLE("%0", "%1", "@p ld.relaxed.sys.global.b128 w, [%2]; mov.b128 {%0, %1}, w;")
#else
#define WW_WHOLE(as) "{ .reg .pred p; setp.ne.u32 p, %3, 0; @p " as " }"
#define WW_STORE_WHOLE WW_WHOLE("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};")
#define WW_LOAD_WHOLE WW_WHOLE("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];")
#endif
WW_FN void store_word(bool there, void* to, const unsigned (&word)[4]) {
  asm volatile(WW_STORE_WHOLE ::"l"(to), "l"(both(word[0], word[1])), "l"(both(word[2], word[3])), "r"(unsigned(there))
               : "memory");
}
// Without a branch: the loads of all that a thread waits for are then on their way at once.
WW_FN void load_word(bool wanted, const void* from, unsigned (&word)[1]) {
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.relaxed.sys.global.b32 %0, [%1]; }"
               : "+r"(word[0]) : "l"(from), "r"(unsigned(wanted)) : "memory");
}
WW_FN void load_word(bool wanted, const void* from, unsigned (&word)[2]) {
  unsigned long long bits = both(word[0], word[1]);
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.relaxed.sys.global.b64 %0, [%1]; }"
               : "+l"(bits) : "l"(from), "r"(unsigned(wanted)) : "memory");
  word[0] = unsigned(bits), word[1] = unsigned(bits >> 32);
}
WW_FN void load_word(bool wanted, const void* from, unsigned (&word)[4]) {
  unsigned long long low = both(word[0], word[1]), high = both(word[2], word[3]);
  asm volatile(WW_LOAD_WHOLE : "+l"(low), "+l"(high) : "l"(from), "r"(unsigned(wanted)) : "memory");
  word[0] = unsigned(low), word[1] = unsigned(low >> 32), word[2] = unsigned(high), word[3] = unsigned(high >> 32);
}

// Sends and takes halo messages of a tile. `item(index_t<D>{}, n)` is the place in shared memory of word n of those that go in
// direction D, or come from there.
template <class S>
struct Messages {
  using H = Home<S>;
  using T = typename H::T;
  static constexpr int V = H::vector;
  using Word = Sealed<V, T>;
  const Place<S>& place;

  // Words of directions `d` to `end` that one of `Threads` threads has at most.
  template <int Threads>
  static constexpr int words_each(int d, int end) {
    int sum = 0;
    for (; d < end; d++) sum += (H::words(d) + Threads - 1) / Threads;
    return sum;
  }

  // Calls `body(direction, n, i)` for the words that may be thread `me`'s of `Threads`: number n of the direction, i of
  // the thread's.
  template <int First, int End, int Threads, class Body>
  WW_FN static void each_word(int me, const Body& body) {
    each_direction<S, First, End>([&](auto direction) {
      constexpr int D = decltype(direction)::value, at = words_each<Threads>(First, D);
#pragma unroll
      for (int i = 0; i < words_each<Threads>(D, D + 1); i++) body(direction, me + i * Threads, at + i);
    });
  }
  // Addresses are worked out anew: kept over steps they would be spilled.
  WW_FN static int afresh(int me) {
    asm volatile("" : "+r"(me));
    return me;
  }

  // Sends the words of directions `First` to `End`, as the receivers call them, by all threads.
  template <int First, int End, class Item>
  WW_FN void send(ww_word post, const Item& item) const {
    constexpr int most = words_each<H::threads>(First, End);
    if constexpr (most > 0) {
      const int me = afresh(place.thread);
      Word words[most];
      each_word<First, End, H::threads>(me, [&](auto direction, int n, int i) {
        T values[V];
        load_vector<V, memory::plain>(item(direction, lower(n, H::words(decltype(direction)::value) - 1)), values);
        memcpy(words[i].word, values, sizeof(values));
      });
      each_word<First, End, H::threads>(me, [&](auto direction, int n, int i) {
        constexpr int D = decltype(direction)::value;
        char* messages = place.posts.messages[26 - D];
        const bool there = messages != nullptr && n < H::words(D);
        messages += (post & 1) * H::before(27);
        const unsigned beside[2] = {__ballot_sync(~0u, words[i].mark()), post + 1};
        words[i].mark(marked(post));
        store_word(there, messages + n * Word::size, words[i].word);
        store_word(there && place.lane == 0, messages + H::word_bytes(D) + n / 32 * 8, beside);
      });
    }
  }

  // Takes the words of directions `First` to `End`, by `Threads` threads of which this is number `me`. False: somebody
  // did not come in time.
  template <int First, int End, int Threads, class Item>
  WW_FN bool take(ww_word post, int me, const Item& item) const {
    constexpr int most = words_each<Threads>(First, End);
    if constexpr (most > 0) {
      const char* messages = place.own_messages + (post & 1) * H::before(27);
      me = afresh(me);
      Word words[most];
      unsigned beside[most][2];
      bool wanted[most];
      each_word<First, End, Threads>(me, [&](auto direction, int n, int i) {
        constexpr int D = decltype(direction)::value;
        wanted[i] = place.posts.messages[D] != nullptr && n < H::words(D);
        beside[i][1] = post;
      });
      unsigned long long start = 0;
#pragma unroll 1
      for (unsigned tries = 1;; tries++) {
        // All that is missing is on its way before any of it is looked at.
        each_word<First, End, Threads>(me, [&](auto direction, int n, int i) {
          constexpr int D = decltype(direction)::value;
          const char* from = messages + H::before(D);
          load_word(wanted[i], from + n * Word::size, words[i].word);
          load_word(wanted[i] && beside[i][1] != post + 1, from + H::word_bytes(D) + n / 32 * 8, beside[i]);
        });
        int missing = -1;
        ww_word seen = 0;
        each_word<First, End, Threads>(me, [&](auto direction, int, int i) {
          const bool came = beside[i][1] == post + 1;
          wanted[i] = wanted[i] && !(came && words[i].mark() == marked(post));
          if (wanted[i]) missing = decltype(direction)::value, seen = came ? post : beside[i][1];
        });
        if (missing < 0) break;
        if (place.late(tries, start, missing, post + 1, seen)) return false;
      }
      each_word<First, End, Threads>(me, [&](auto direction, int n, int i) {
        constexpr int D = decltype(direction)::value;
        if (place.posts.messages[D] == nullptr || n >= H::words(D)) return;
        words[i].mark(beside[i][0] >> (n % 32) & 1);
        T values[V];
        memcpy(values, words[i].word, sizeof(values));
        store_vector<V>(item(direction, n), values);
      });
    }
    return true;
  }
};

}  // namespace ww::stencil
