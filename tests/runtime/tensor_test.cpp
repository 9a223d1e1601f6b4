#include <cstdint>
#include <fstream>
#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <octet/runtime/error.h>
#include <octet/runtime/system.h>
#include <octet/runtime/tensor.h>

#include "../support.h"
#include "runtime/tensor/arena.h"

namespace octet {
namespace {

template <class T>
concept HasElements = requires(T&& tensor) {
  std::forward<T>(tensor).f32();
}
|| requires(T&& tensor) { std::forward<T>(tensor).template data<float>(); }
|| requires(T&& tensor) { std::forward<T>(tensor).raw(); };

// `for (float v : model.predict(x).f32())` would read a freed buffer.
TEST(Tensor, DeniesAccessToElementsOfATemporary) {
  static_assert(!HasElements<Tensor>);
  static_assert(!HasElements<const Tensor>);
  static_assert(HasElements<Tensor&>);
  static_assert(HasElements<const Tensor&>);
  static_assert(std::is_same_v<decltype(std::declval<Tensor&>().f32()),
                               std::span<float>>);
  static_assert(std::is_same_v<decltype(std::declval<const Tensor&>().f32()),
                               std::span<const float>>);
  // Nor a reference to its shape.
  static_assert(
      std::is_same_v<decltype(std::declval<Tensor>().shape()), Shape>);
}

TEST(Tensor, IsAlignedTo64Bytes) {
  for (const int64_t n : {1, 3, 1000, 100000, 5000000}) {
    const Tensor t({n});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(t.raw()) % 64, 0u) << n;
  }
}

TEST(Tensor, SharesItsBufferWhenCopied) {
  Tensor a = counting({3});
  Tensor b = a;
  b.f32()[0] = 9;
  EXPECT_EQ(a.f32()[0], 9);
  Tensor c = a.clone();
  c.f32()[0] = 1;
  EXPECT_EQ(a.f32()[0], 9);
}

TEST(Tensor, IsEmptyWhenMovedFrom) {
  Tensor a = counting({3});
  const Tensor b = std::move(a);
  EXPECT_TRUE(a.empty());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(b.size(), 3);
}

TEST(Tensor, RejectsTheWrongElementType) {
  Tensor t({2}, DType::i64);
  EXPECT_EQ(failure_of<ValueError>([&] { (void)t.f32(); }),
            (Failure{"dtype_mismatch", "tensor"}));
  EXPECT_NO_THROW((void)t.data<int64_t>());
}

TEST(Tensor, RejectsImpossibleSizes) {
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)Tensor({Shape::kAnySize, 2});
            }),
            (Failure{"invalid_shape", "shape"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)Tensor({int64_t{1} << 31, int64_t{1} << 31});
            }),
            (Failure{"memory_limit", "tensor"}));
}

TEST(Tensor, MayHaveNoElements) {
  const Tensor t({0, 5});
  EXPECT_FALSE(t.empty());
  EXPECT_EQ(t.size(), 0);
  EXPECT_EQ(t.clone().shape(), t.shape());
}

TEST(Tensor, ReshapesWithOneUnknownSize) {
  const Tensor t = counting({2, 6});
  EXPECT_EQ(t.reshaped({3, Shape::kAnySize}).shape(), (Shape{3, 4}));
  EXPECT_EQ(values(t.reshaped({12}))[7], 7);
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)t.reshaped({5, Shape::kAnySize});
            }),
            (Failure{"shape_mismatch", "reshape"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)t.reshaped({Shape::kAnySize, Shape::kAnySize});
            }),
            (Failure{"invalid_shape", "reshape"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)t.reshaped({11}); }),
            (Failure{"shape_mismatch", "reshape"}));
}

TEST(Tensor, SlicesRowsOfTheBatch) {
  const Tensor t = counting({4, 3});
  const Tensor s = t.slice(1, 2);
  EXPECT_EQ(s.shape(), (Shape{2, 3}));
  EXPECT_EQ(s.f32()[0], 3);
  EXPECT_EQ(t.slice(4, 0).size(), 0);
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)t.slice(3, 2); }),
            (Failure{"out_of_range", "slice"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)t.slice(-1, 2); }),
            (Failure{"out_of_range", "slice"}));
}

TEST(Tensor, TransposesAnyOrderOfAxes) {
  const Tensor t = counting({2, 3, 4});
  const Tensor u = t.transposed({2, 0, 1});
  ASSERT_EQ(u.shape(), (Shape{4, 2, 3}));
  for (size_t a = 0; a < 2; ++a)
    for (size_t b = 0; b < 3; ++b)
      for (size_t c = 0; c < 4; ++c) {
        EXPECT_EQ(u.f32()[c * 6 + a * 3 + b], t.f32()[a * 12 + b * 4 + c]);
      }
  EXPECT_EQ(values(counting({5}).transposed({0}))[4], 4);
  EXPECT_EQ(Tensor::scalar(3).transposed(std::span<const int>()).item(), 3);
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)t.transposed({0, 1});
            }),
            (Failure{"invalid_value", "transpose"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)t.transposed({0, 1, 1});
            }),
            (Failure{"invalid_value", "transpose"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)t.transposed({0, 1, 3});
            }),
            (Failure{"invalid_value", "transpose"}));
}

TEST(Tensor, TransposesEveryElementSize) {
  Tensor bytes({2, 2}, DType::u8);
  std::ranges::copy(std::vector<uint8_t>{1, 2, 3, 4},
                    bytes.data<uint8_t>().begin());
  EXPECT_EQ(elements<uint8_t>(bytes.transposed({1, 0}))[1], 3);
  const Tensor wide = Tensor::of<int64_t>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(elements<int64_t>(wide.transposed({1, 0}))[1], 3);
  const Tensor half = cast(wide, DType::i16);
  EXPECT_EQ(elements<int16_t>(half.transposed({1, 0}))[1], 3);
}

TEST(Tensor, ReturnsItsSingleElement) {
  EXPECT_EQ(Tensor::full({1, 1}, 2.5f).item(), 2.5f);
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)counting({2}).item(); }),
            (Failure{"invalid_shape", "item"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)Tensor().item(); }),
            (Failure{"invalid_shape", "item"}));
}

TEST(Tensor, MayBeFreedByAnotherThread) {
  for (int i = 0; i < 10; ++i) {
    Tensor t = counting({1000});
    std::thread([moved = std::move(t)] {
      EXPECT_EQ(moved.f32()[9], 9);
    }).join();
  }
}

// With the address sanitizer the arena caches nothing.
#ifndef __SANITIZE_ADDRESS__
// Buffers freed by a thread that did not allocate them must be reused.
TEST(Arena, DoesNotGrowWhenAnotherThreadFrees) {
  std::vector<Tensor> handed;
  const auto round = [&] {
    for (int i = 0; i < 2'400; ++i) handed.emplace_back(Shape{1 << 15});
    std::thread([&] { handed.clear(); }).join();
  };
  round();
  const int64_t before = arena::system_allocations();
  for (int k = 0; k < 3; ++k) round();
  // A thread that ends frees its cache of 64 MB: 480 of the 2,400 buffers.
  EXPECT_LE(arena::system_allocations() - before, 3 * 640);
}

// Blocks of the heap, and free lists of this thread, of another, and shared.
TEST(Arena, ReleasesCachedMemoryOnRequest) {
  const Shape large{12 << 20}, small{1 << 15};  // 48 MiB, 128 KiB
  const auto use_small = [&] {
    std::vector<Tensor> many;
    for (int i = 0; i < 640; ++i) many.push_back(Tensor::zeros(small));
  };
  release_memory();
  const int64_t before = resident_bytes();
  std::latch used(1), over(1);
  std::thread other([&] {
    use_small();
    used.count_down();
    over.wait();
  });
  used.wait();
  use_small();
  {
    std::vector<Tensor> many;
    for (int i = 0; i < 4; ++i) many.push_back(Tensor::zeros(large));
  }
  EXPECT_GT(resident_bytes(), before + (320 << 20));
  const Tensor kept = Tensor::full({3}, 7.0f);
  release_memory();
  // malloc retains memory at the end of another thread's heap, more of it after
  // freeing larger blocks.
  EXPECT_LT(resident_bytes(), before + (64 << 20));
  EXPECT_EQ(kept.f32()[2], 7.0f);
  over.count_down();
  other.join();
}
#endif

/// Bytes mapped by the process.
int64_t mapped_bytes() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

TEST(Arena, BoundsItsIdleMemory) {
  constexpr int64_t kMib = int64_t{1} << 20;
  const int64_t before = mapped_bytes();
  // Each in a different size class: 6 GiB together.
  for (int64_t size = 65 * kMib; size < 1'024 * kMib; size += size / 8) {
    const Tensor never_touched({size}, DType::i8);
  }
  EXPECT_LT(mapped_bytes() - before, 2'100 * kMib);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Tensor, ReportsTheSizeOfAFailedAllocation) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  rlimit little = before;
  little.rlim_cur = rlim_t{4} << 30;
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &little), 0);
  const Failure failure = failure_of<ValueError>([] {
    (void)Tensor({1 << 20, 1 << 12});
  });
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(failure, (Failure{"memory_limit", ""}));
  EXPECT_NE(failure.message.find("16384.0 MiB"), std::string::npos)
      << failure.message;
}
#endif

}  // namespace
}  // namespace octet
