#include <algorithm>

#include <fmt/format.h>

#include <octet/layers/padding.h>
#include <octet/runtime/error.h>

namespace octet {
namespace {

// Cells to add along one axis so that there are ceil(size / stride) windows.
int64_t total_padding(int64_t size, int64_t window, int64_t stride,
                      int64_t dilation) {
  const int64_t positions = (size + stride - 1) / stride;
  const int64_t reach = (positions - 1) * stride + (window - 1) * dilation + 1;
  return std::max<int64_t>(reach - size, 0);
}

}  // namespace

Padding::Padding(const std::string& name)
    : kind_(name == "same" ? Kind::same : Kind::valid) {
  if (name == "same" || name == "valid") return;
  throw ValueError(
      fmt::format("padding: expected 'valid' or 'same', got '{}'", name));
}

Pads Padding::pads(Size2 image, Size2 window, Size2 strides,
                   Size2 dilation) const {
  if (kind_ == Kind::valid) return {};
  if (kind_ == Kind::given) return given_;
  const int64_t h = total_padding(image.h, window.h, strides.h, dilation.h);
  const int64_t w = total_padding(image.w, window.w, strides.w, dilation.w);
  return {h / 2, h - h / 2, w / 2, w - w / 2};
}

}  // namespace octet
