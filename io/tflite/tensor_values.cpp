// Real and stored values of a tensor of a .tflite file.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <octet/io/tflite.h>
#include <octet/runtime/error.h>

namespace octet::io {
namespace {

template <class T>
Tensor stored_as(const Tensor& x, const TfliteTensorInfo& info) {
  Tensor q = Tensor::zeros(x.shape(), info.dtype);
  const auto from = x.f32();
  for (size_t i = 0; i < from.size(); ++i) {
    const float value = std::nearbyint(from[i] / info.scale) +
                        static_cast<float>(info.zero_point);
    if (std::isnan(value)) {
      throw ValueError("not_finite", fmt::format("tensor '{}'", info.name),
                       "NaN has no quantized value");
    }
    constexpr auto kLow = static_cast<float>(std::numeric_limits<T>::min());
    constexpr auto kHigh = static_cast<float>(std::numeric_limits<T>::max());
    q.data<T>()[i] = static_cast<T>(std::clamp(value, kLow, kHigh));
  }
  return q;
}

template <class T>
Tensor real_of(const Tensor& q, const TfliteTensorInfo& info) {
  Tensor y = Tensor::zeros(q.shape());
  const auto from = q.data<T>();
  for (size_t i = 0; i < from.size(); ++i) {
    y.f32()[i] = info.scale * static_cast<float>(from[i] - info.zero_point);
  }
  return y;
}

}  // namespace

bool TfliteTensorInfo::quantized() const {
  return scale > 0 &&
         (dtype == DType::i8 || dtype == DType::u8 || dtype == DType::i16);
}

Tensor TfliteTensorInfo::to_stored(const Tensor& x) const {
  if (!quantized()) return x;
  return dtype == DType::i8    ? stored_as<int8_t>(x, *this)
         : dtype == DType::i16 ? stored_as<int16_t>(x, *this)
                               : stored_as<uint8_t>(x, *this);
}

Tensor TfliteTensorInfo::to_real(const Tensor& q) const {
  if (!quantized()) return q;
  return dtype == DType::i8    ? real_of<int8_t>(q, *this)
         : dtype == DType::i16 ? real_of<int16_t>(q, *this)
                               : real_of<uint8_t>(q, *this);
}

}  // namespace octet::io
