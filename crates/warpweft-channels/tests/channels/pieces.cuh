// Runs functions in pieces on the host: whatever is ready is run, drawn at random, until nothing is.
//
// What a function need not keep while it waits is overwritten meanwhile.
#include <cstdio>
#include <cstring>
#include <vector>

static ww::u64 drawn = 1;
static ww::u64 draw(ww::u64 below) {
  drawn ^= drawn << 13;
  drawn ^= drawn >> 7;
  drawn ^= drawn << 17;
  return drawn % below;
}

// A call that is to be run, or waits for others.
struct Call {
  Call* parent = nullptr;
  ww::u64 offset = 0;
  int how = 4;
  ww::u32 at = 0, pending = 0;
  virtual void step() = 0;
  virtual char* live() = 0;
  virtual ~Call() {}
};
static std::vector<Call*> ready;
static ww::u64 calls = 0;

template<class T> static void combine(int how, char* at, const T& value) {
  T held;
  if (how == 4) return;
  memcpy(&held, at, sizeof(T));
  if (how == 0) held = value;
  if constexpr (ww::num<T>::known && !ww::num<T>::real && sizeof(T) >= 4) {
    if (how == 1) held = held + value;
    if (how == 2) held = held | value;
    if (how == 3) held = held ^ value;
  }
  memcpy(at, &held, sizeof(T));
}

template<class F> struct Run : Call {
  F given;
  typename F::Live kept;
  typename F::Output* root = nullptr;
  Run(const F& call) : given(call) { memset(&kept, 0xa5, sizeof kept); ++calls; }
  char* live() override { return (char*)&kept; }
  void step() override;
};

template<class F> struct Lane {
  Run<F>* call;
  bool waits = false, gave = false;
  ww::u32 turn = 0;
  template<class G, int HOW> void spawn(ww::u64 offset, const G& given) {
    auto child = new Run<G>(given);
    child->parent = call;
    child->offset = offset;
    child->how = HOW;
    ready.push_back(child);
    ++call->pending;
  }
  bool wait(ww::u32 at) {
    if (call->pending == 0) return false;
    call->at = at;
    return waits = true;
  }
  void give(const typename F::Output& value) {
    gave = true;
    if (call->root) *call->root = value;
    Call* parent = call->parent;
    if (!parent) return;
    combine(call->how, parent->live() + call->offset, value);
    if (--parent->pending == 0) ready.push_back(parent);
  }
};

template<class F> void Run<F>::step() {
  Lane<F> lane{this};
  if (at >= F::PIECES) { printf("piece %u of %u\n", at, F::PIECES); return; }
  given.run(lane, at, kept);
  if (lane.waits == lane.gave) { printf("a call that neither waits nor gives, or both\n"); return; }
  if (lane.waits && !F::KEEPS) memset((void*)&given, 0x5a, sizeof given);
  if (lane.gave && pending) { printf("a call that gives before its own have given\n"); return; }
  if (lane.gave) delete this;
}

template<class T> static bool same(const T& a, const T& b) { return memcmp(&a, &b, sizeof(T)) == 0; }
template<class A, class B> static bool same(const ww::tuple2<A, B>& a, const ww::tuple2<A, B>& b) {
  return same(a._0, b._0) && same(a._1, b._1);
}
static bool same(const ww::unit&, const ww::unit&) { return true; }

static int wrong = 0, right = 0;
template<class F> static void check(const char* name, const F& call, const typename F::Output& expect) {
  typename F::Output found;
  memset((void*)&found, 0, sizeof found);
  auto root = new Run<F>(call);
  root->root = &found;
  ready.push_back(root);
  while (!ready.empty()) {
    // Mostly the newest: else there would be too many.
    const auto at = draw(8) ? ready.size() - 1 : draw(ready.size());
    Call* next = ready[at];
    ready[at] = ready.back();
    ready.pop_back();
    next->step();
  }
  if (same(found, expect)) ++right;
  else { ++wrong; printf("%s: another value\n", name); }
}
