// Searches as the executors do, from what is read: vertices, edges, heaviest, sources; begins, edges, sources.
// Prints what each source reaches, and how many vertices are at each distance up to COUNTED; with WW_BITS also its rows in
// 4 and 2 bytes. Memory that kernels must not rely on holds rubbish.
static constexpr unsigned COUNTED = 512;

static void print(const reach& to, unsigned beyond, const std::vector<unsigned>& spread, unsigned s) {
    printf("%u %u %llu %u", to.reached, to.farthest, to.total, beyond);
    for (unsigned d = 0; d <= to.farthest && d < COUNTED; d++) printf(" %u", spread[size_t(d) * SOURCES + s]);
    printf("\n");
}

#ifdef WW_WARPS
#if WW_BITS
// Rows of all sources in groups that are no whole words, in hexadecimal digits, a line a group.
static void print_rows(const arguments& A, unsigned bits, unsigned bytes) {
    const size_t row = 24 + size_t(A.vertices) * bytes;
    for (unsigned first = 0; first < A.count; first += 24) {
        const unsigned count = min(24u, A.count - first);
        std::vector<unsigned char> to(24 * row, 0xcd);
        const unsigned words = (first + count - 1) / 32 - first / 32 + 1;
        launch((A.vertices + 127) / 128 * words, 64, [&] { rows(A, to.data(), first, count, bits, bytes); });
        for (size_t i = 0; i < count * row; i++) printf("%02x", to[i]);
        printf("\n");
    }
}
#endif
#endif

template <class T> static std::vector<T> read(size_t count) {
    std::vector<T> values(count);
    if (fread(values.data(), sizeof(T), count, stdin) != count) exit(2);
    return values;
}

int main() {
    const auto sizes = read<unsigned>(4);
    const unsigned n = sizes[0], m = sizes[1], heaviest = sizes[2], count = sizes[3];
    const auto out = read<unsigned>(n + 1);
    const auto edges = read<uint2>(m);
    const auto sources = read<unsigned>(count);
    (void)heaviest;
#ifdef WW_WARPS
    using weight = unsigned char;
#else
    using weight = WW_WEIGHT;
#endif
    std::vector<unsigned> begins(n + 1), from(m);
    std::vector<weight> weights(m);
    turning::arguments T{out.data(), edges.data(), begins.data(), from.data(), weights.data(), n, m};
    launch(2, 64, [&] { turning::count(T); });
    unsigned total = 0;
    for (auto& begin : begins) {
        const unsigned count = begin;
        begin = total;
        total += count;
    }
    auto next = begins;
    T.next = next.data();
    launch(2, 64, [&] { turning::turn(T); });
    std::vector<reach> reaches(SOURCES, reach{0, 0, 0});
    unsigned last = 0;
    arguments A{};
    A.begins = begins.data();
    A.from = from.data();
    A.last = &last;
    A.sources = sources.data();
    A.reaches = reaches.data();
    A.vertices = n;
    A.count = count;
    A.counted = COUNTED;
#ifdef WW_WARPS
    const unsigned chunks = (n + 31) / 32, slots = (SOURCES + 63) / 64;
    std::vector<unsigned> seen(size_t(n) * ROW), planes(size_t(heaviest + 1) * n * ROW, 0xcdcdcdcd), any((heaviest + 1) * chunks),
        done(chunks), dead(ROW), counts(SOURCES), spreads(size_t(COUNTED) * SOURCES, 0xcdcdcdcd);
    A.spread = spreads.data();
    A.weights = weights.data();
    A.seen = seen.data();
    A.planes = planes.data();
    A.any = any.data();
    A.done = done.data();
    A.dead = dead.data();
    A.counts = counts.data();
    A.chunks = chunks;
    A.heaviest = heaviest;
#if WW_BITS
    const size_t plane = size_t(n) * ROW;
    std::vector<unsigned> distance(WW_BITS * plane, 0xcdcdcdcd);
    A.distance = distance.data();
#endif
    launch(count, ROW, [&] { clear(A); });
    launch(slots, 64, [&] { place_sources(A); });
    launch(slots, 64, [&] { settle(A, 0); });
    for (unsigned d = 0; d < last + heaviest;) {
        d++;
#if WW_BITS
        for (unsigned p = 0; p < WW_BITS; p++)
            if (d == 1u << p) std::fill_n(distance.begin() + p * plane, plane, 0u);
#endif
        launch(2, 32 * WARPS, [&] { level(A, d); });
        launch(slots, 64, [&] { settle(A, d); });
    }
    for (unsigned s = 0; s < count; s++) print(reaches[s], 0, spreads, s);
#if WW_BITS
    unsigned bits = 0;
    while (last >> bits != 0) bits++;
    for (unsigned bytes : {4u, 2u}) print_rows(A, min(bits, unsigned(WW_BITS)), bytes);
#endif
#else
    std::vector<unsigned> distances(size_t(n) * SOURCES, ALL), stamps(n), beyond(SOURCES),
        spreads(size_t(COUNTED) * SOURCES);
    A.spread = spreads.data();
    A.weights = weights.data();
    A.distances = distances.data();
    A.stamps = stamps.data();
    A.beyond = beyond.data();
    launch((SOURCES + 63) / 64, 64, [&] { place_sources(A); });
    for (unsigned k = 1; last == k;) {
        k++;
        launch(2, 64, [&] { sweep(A, k); });
    }
    launch(2, 64, [&] { sum(A); });
    launch(2, 64, [&] { look_beyond(A); });
    launch(2, 64, [&] { spread(A); });
    for (unsigned s = 0; s < count; s++) print(reaches[s], beyond[s], spreads, s);
#endif
}
