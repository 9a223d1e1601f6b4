#include <cstdint>

#include <fmt/format.h>

#include <octet/runtime/detail/exact_floats.h>
#include <octet/runtime/error.h>

namespace octet {
namespace {

template <class Integer>
Tensor converted(const Tensor& x, const std::string& subject) {
  constexpr int64_t kLargest = int64_t{1} << 24;
  Tensor result(x.shape());
  float* to = result.f32().data();
  for (const Integer value : x.data<Integer>()) {
    if (value > kLargest || value < -kLargest) {
      throw ValueError("out_of_range", subject,
                       fmt::format("integers must be in [-2^24,2^24], which "
                                   "float32 represents, got {}",
                                   value));
    }
    *to++ = static_cast<float>(value);
  }
  return result;
}

}  // namespace

Tensor exact_floats(const Tensor& x, const std::string& subject) {
  if (x.empty()) return x;
  if (x.dtype() == DType::i32) return converted<int32_t>(x, subject);
  if (x.dtype() == DType::i64) return converted<int64_t>(x, subject);
  return x;
}

}  // namespace octet
