#include <algorithm>

#include <fmt/format.h>

#include <octet/layers/convolution.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>

namespace octet {
namespace {

// Padding along an axis for ceil(size / stride) windows.
Ends same_padding(int64_t size, int64_t window, int64_t stride,
                  int64_t dilation) {
  const int64_t positions = (size + stride - 1) / stride;
  const int64_t reach = (positions - 1) * stride + (window - 1) * dilation + 1;
  const int64_t total = std::max<int64_t>(reach - size, 0);
  return {total / 2, total - total / 2};
}

}  // namespace

Padding::Padding(const std::string& name)
    : kind_(name == "same" ? Kind::same : Kind::valid) {
  if (name == "same" || name == "valid") return;
  throw ValueError("invalid_value", "padding",
                   fmt::format("must be 'valid' or 'same', got '{}'", name));
}

Pads Padding::pads(Size2 image, Size2 window, Size2 strides,
                   Size2 dilation) const {
  if (kind_ == Kind::valid) return {};
  if (kind_ == Kind::given) return given_;
  return {same_padding(image.h, window.h, strides.h, dilation.h),
          same_padding(image.w, window.w, strides.w, dilation.w)};
}

Padding1D::Padding1D(const std::string& name)
    : kind_(name == "same"     ? Kind::same
            : name == "causal" ? Kind::causal
                               : Kind::valid) {
  if (name == this->name()) return;
  const std::vector<std::string> names{"valid", "same", "causal"};
  throw ValueError(
      "invalid_value", "padding",
      fmt::format("must be 'valid', 'same' or 'causal', got '{}'{}", name,
                  suggest_near(name, names)));
}

std::string Padding1D::name() const {
  switch (kind_) {
    case Kind::valid:
      return "valid";
    case Kind::same:
      return "same";
    case Kind::causal:
      return "causal";
    case Kind::given:
      break;
  }
  return "";
}

Ends Padding1D::pads(int64_t length, int64_t window, int64_t stride,
                     int64_t dilation) const {
  switch (kind_) {
    case Kind::valid:
      break;
    case Kind::same:
      return same_padding(length, window, stride, dilation);
    case Kind::causal:
      return {(window - 1) * dilation, 0};
    case Kind::given:
      return given_;
  }
  return {};
}

}  // namespace octet
