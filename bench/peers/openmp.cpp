// Residual and Jacobian of tanh(A_k c) for eight matrices, as one writes them in C++ with OpenMP: what the memory-bound
// benchmark is compared with. Each line on standard input asks for one evaluation; its milliseconds are the answer.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

namespace {
constexpr long count = 8, rows = 4096, columns = 256;
constexpr std::size_t page = 2u << 20;

// Large pages where the system has them, as the memory of the other side may have.
double *reserve(std::size_t elements) {
  const std::size_t bytes = (elements * sizeof(double) + page - 1) / page * page;
  void *memory = std::aligned_alloc(page, bytes);
  if (memory == nullptr) std::exit(1);
  madvise(memory, bytes, MADV_HUGEPAGE);
  return static_cast<double *>(memory);
}
} // namespace

int main() {
  double *__restrict a = reserve(count * rows * columns);
  double *__restrict jacobian = reserve(count * rows * columns);
  double *__restrict residual = reserve(count * rows);
  double *__restrict c = reserve(columns);
  for (long j = 0; j < columns; j++) c[j] = std::cos(j);
  // By the threads that will use it.
#pragma omp parallel for schedule(static)
  for (long i = 0; i < count * rows; i++) {
    for (long j = 0; j < columns; j++) {
      a[i * columns + j] = std::sin((i % rows * columns + j) * 0.37 + i / rows) / columns;
      jacobian[i * columns + j] = 0;
    }
  }
  char line[64];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    const auto start = std::chrono::steady_clock::now();
#pragma omp parallel for schedule(static)
    for (long i = 0; i < count * rows; i++) {
      const double *row = a + i * columns;
      double sum = 0;
#pragma omp simd reduction(+ : sum)
      for (long j = 0; j < columns; j++) sum += row[j] * c[j];
      const double value = std::tanh(sum);
      residual[i] = value;
      const double slope = 1 - value * value;
#pragma omp simd
      for (long j = 0; j < columns; j++) jacobian[i * columns + j] = slope * row[j];
    }
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    std::printf("%.6f %.17g\n", time.count(), residual[rows / 2]);
    std::fflush(stdout);
  }
}
