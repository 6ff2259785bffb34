// Several steps of a separable linear stencil in one pass over memory, by matrix products on FP64 tensor cores.
// The weights along each axis are those of all steps of the pass together. Along x they form a band matrix, whose product
// with rows of cells is the sum along x; the registers that hold this product are already laid out as an operand of the
// product with the band along y. Sums are regrouped: results differ in their last bits from those of single steps.
//
// Volumes have a margin of finite cells on all sides, so that the bands may multiply cells outside by zero.
#pragma once

constexpr int REACH = WW_REACH;            // cells to each side that a pass reads, at most
constexpr int WINDOWS = 1 + REACH / 4;     // blocks of 8 inputs that 8 outputs depend on

struct Bands {  // weights of a whole pass: 2 REACH + 1 along each axis, the middle one at REACH
  double x[2 * REACH + 1], y[2 * REACH + 1], z[2 * REACH + 1];
};

struct Volume {
  long long origin, pitch, plane;  // of cell (0, 0, 0), and from a row and a plane to the next, in cells
  int nx, ny, nz;
  int skip_x, skip_y, skip_z;      // cells next to each face along the axis that another kernel writes
  double outside;                  // what fixed faces hold
};

// D += A B with A of 16 x 8, B of 8 x 8; m16n8k8 runs at the full rate, m8n8k4 at half of it.
__device__ __forceinline__ void multiply_16(double (&sum)[4], double a0, double a1, double a2, double a3, double b0, double b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
      : "d"(a0), "d"(a1), "d"(a2), "d"(a3), "d"(b0), "d"(b1));
}
__device__ __forceinline__ void multiply_8(double (&sum)[2], double a, double b) {
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
               : "+d"(sum[0]), "+d"(sum[1])
               : "d"(a), "d"(b));
}

// This lane's weights of 8 outputs: output lane / 4, inputs 2 (lane % 4) and the next of each window. The order of inputs
// is permuted alike in both operands of a product.
__device__ __forceinline__ void band(double (&of)[WINDOWS][2], const double* weights, int lane) {
#pragma unroll
  for (int window = 0; window < WINDOWS; window++) {
#pragma unroll
    for (int j = 0; j < 2; j++) {
      const int at = 8 * window + 2 * (lane % 4) + j - lane / 4;
      of[window][j] = at >= 0 && at <= 2 * REACH ? weights[at] : 0.0;
    }
  }
}

// --- bulk copies and their barriers (PTX ISA, "mbarrier" and "cp.async.bulk")
__device__ __forceinline__ unsigned shared_at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void barrier_init(void* barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_at(barrier)) : "memory");
}
__device__ __forceinline__ void barriers_ready() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ __forceinline__ void barrier_expect(void* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_at(barrier)), "r"(bytes) : "memory");
}
// A copy that does not come ends the kernel with an error; a try waits for up to some microseconds.
constexpr unsigned PATIENCE = 1u << 24;
__device__ __forceinline__ void barrier_wait(void* barrier, unsigned parity) {
  unsigned done, tries = 0;
  do {
    if (++tries == PATIENCE) asm volatile("trap;");
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(shared_at(barrier)), "r"(parity)
        : "memory");
  } while (!done);
}
__device__ __forceinline__ void copy_row(void* to, const double* from, unsigned bytes, void* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_at(to)),
               "l"(from), "r"(bytes), "r"(shared_at(barrier))
               : "memory");
}
