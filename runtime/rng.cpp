#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/detail/fnv1a.h>
#include <octet/runtime/error.h>
#include <octet/runtime/rng.h>

namespace octet {
namespace {

// Ten rounds on a 128-bit counter under a 64-bit key.
std::array<uint32_t, 4> philox(uint64_t key, uint64_t counter) {
  uint32_t k0 = static_cast<uint32_t>(key);
  uint32_t k1 = static_cast<uint32_t>(key >> 32);
  std::array<uint32_t, 4> x{static_cast<uint32_t>(counter),
                            static_cast<uint32_t>(counter >> 32), 0, 0};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * x[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * x[2];
    x = {static_cast<uint32_t>(b >> 32) ^ x[1] ^ k0, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ x[3] ^ k1, static_cast<uint32_t>(a)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return x;
}

uint64_t mix(uint64_t key, uint64_t value) {
  const auto block = philox(key ^ 0x6F63746574000000u, value);
  return block[0] | uint64_t{block[1]} << 32;
}

}  // namespace

Rng Rng::child(std::string_view name) const {
  Fnv1a hash;
  hash.add(std::as_bytes(std::span(name)));
  return Rng(mix(key_, hash.value()));
}

Rng Rng::child(uint64_t index) const { return Rng(mix(~key_, index)); }

uint32_t Rng::next() {
  if (used_ == 4) {
    block_ = philox(key_, counter_++);
    used_ = 0;
  }
  return block_[static_cast<size_t>(used_++)];
}

float Rng::uniform() { return static_cast<float>(next() >> 8) * 0x1p-24f; }

int64_t Rng::below(int64_t bound) {
  if (bound <= 0) {
    throw ValueError("out_of_range", "Rng::below",
                     fmt::format("bound must be positive, got {}", bound));
  }
  const uint64_t range = static_cast<uint64_t>(bound);
  const uint64_t limit = range * (UINT64_MAX / range);
  while (true) {
    const uint64_t high = next();
    const uint64_t value = high << 32 | next();
    if (value < limit) return static_cast<int64_t>(value % range);
  }
}

float Rng::normal() {
  const double u = (next() + 0.5) * 0x1p-32;
  const double v = next() * 0x1p-32;
  return static_cast<float>(std::sqrt(-2 * std::log(u)) *
                            std::cos(2 * std::numbers::pi * v));
}

void Rng::fill_uniform(std::span<float> values, float low, float high) {
  for (float& x : values) x = low + (high - low) * uniform();
}

void Rng::fill_normal(std::span<float> values, float mean, float deviation) {
  for (float& x : values) x = mean + deviation * normal();
}

void Rng::fill_uniform(Tensor& tensor, float low, float high) {
  fill_uniform(tensor.f32(), low, high);
}

void Rng::fill_normal(Tensor& tensor, float mean, float deviation) {
  fill_normal(tensor.f32(), mean, deviation);
}

std::vector<int64_t> Rng::permutation(int64_t n) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  for (int64_t i = n - 1; i > 0; --i) {
    std::swap(order[static_cast<size_t>(i)],
              order[static_cast<size_t>(below(i + 1))]);
  }
  return order;
}

}  // namespace octet
