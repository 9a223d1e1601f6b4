#include "preprocessing/image_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <octet/runtime/ops.h>

namespace octet {
namespace {

Size2 cut(const Shape& x, const Pads& p) {
  return {x[1] - p.top - p.bottom, x[2] - p.left - p.right};
}

// Scales `other` by target / other_target, rounded down.
int64_t in_ratio(int64_t other, int64_t target, int64_t other_target) {
  return other * target / other_target;
}

// Returns a scale for which Resize computes `target` as floor(size * scale) in
// any precision.
float scale_to(int64_t size, int64_t target) {
  const auto reached = [&](float scale) {
    return static_cast<double>(size) * static_cast<double>(scale) >=
           static_cast<double>(target);
  };
  float scale = static_cast<float>(static_cast<double>(target) /
                                   static_cast<double>(size));
  while (!reached(scale)) {
    scale = std::nextafter(scale, std::numeric_limits<float>::infinity());
  }
  return scale;
}

std::string emit_resize(EmitContext& context, const std::string& x, Size2 from,
                        Size2 to, const OnnxBuilder::Attributes& attributes) {
  const std::string scales = context.builder().add_initializer(
      context.layer() + "/scales",
      Tensor::of<float>(
          {4}, {1, 1, scale_to(from.h, to.h), scale_to(from.w, to.w)}));
  const Shape shape{Shape::kAnySize, to.h, to.w, Shape::kAnySize};
  return context
      .channels_first_node("Resize", {x, "", scales}, shape, attributes)
      .name;
}

// Gathers the source pixels by index, since rounding in Resize differs.
std::string emit_nearest(EmitContext& context, std::string x, Size2 from,
                         Size2 to) {
  if (to.h % from.h == 0 && to.w % from.w == 0) {
    return emit_resize(context, x, from, to,
                       {{"mode", "nearest"},
                        {"coordinate_transformation_mode", "asymmetric"},
                        {"nearest_mode", "floor"}});
  }
  const auto gather = [&](const char* name, int64_t size, int64_t target,
                          int64_t axis) {
    if (size == target) return;
    std::vector<int64_t> places;
    for (int64_t i = 0; i < target; ++i) {
      places.push_back((2 * i + 1) * size / (2 * target));
    }
    x = context.node("Gather", {x, context.integers(name, places)},
                     {{"axis", axis}});
  };
  gather("rows", from.h, to.h, 1);
  gather("columns", from.w, to.w, 2);
  return x;
}

}  // namespace

const char* name_of(PixelCoordinates coordinates) {
  switch (coordinates) {
    case PixelCoordinates::align_corners:
      return "align_corners";
    case PixelCoordinates::asymmetric:
      return "asymmetric";
    default:
      return "half_pixel";
  }
}

Pads crop_to_ratio(const Shape& x, Size2 size) {
  const int64_t h =
      std::clamp<int64_t>(in_ratio(x[2], size.h, size.w), 1, x[1]);
  const int64_t w =
      std::clamp<int64_t>(in_ratio(x[1], size.w, size.h), 1, x[2]);
  const int64_t top = (x[1] - h) / 2;
  const int64_t left = (x[2] - w) / 2;
  return {top, x[1] - h - top, left, x[2] - w - left};
}

Pads pad_to_ratio(const Shape& x, Size2 size) {
  const int64_t h = std::max(x[1], in_ratio(x[2], size.h, size.w));
  const int64_t w = std::max(x[2], in_ratio(x[1], size.w, size.h));
  const int64_t top = (h - x[1]) / 2;
  if (top > 0) return {top, top, 0, 0};
  const int64_t left = (w - x[2]) / 2;
  return {0, 0, left, left};
}

Variable fitted(const Variable& x, const ImageFit& fit) {
  Variable y = x;
  if (fit.crop != Pads{}) y = crop2d(y, fit.crop);
  if (fit.pad != Pads{}) y = pad2d(y, fit.pad, fit.fill);
  const Shape& shape = y.shape();
  if (shape[1] == fit.size.h && shape[2] == fit.size.w) return y;
  return resize2d(y, fit.size, fit.resize);
}

OnnxValue emit_fitted(EmitContext& context, const OnnxValue& x,
                      const ImageFit& fit) {
  const Pads& c = fit.crop;
  const Pads& p = fit.pad;
  OnnxValue y{x.name, {x.shape[0], fit.size.h, fit.size.w, x.shape[3]}};
  if (c != Pads{}) {
    y.name = context.node(
        "Slice", {y.name, context.integers("starts", {c.top, c.left}),
                  context.integers(
                      "ends", {x.shape[1] - c.bottom, x.shape[2] - c.right}),
                  context.integers("axes", {1, 2})});
  }
  if (p != Pads{}) {
    y.name = context.node(
        "Pad", {y.name,
                context.integers(
                    "pads", {0, p.top, p.left, 0, 0, p.bottom, p.right, 0}),
                context.scalar("fill", fit.fill)});
  }
  const Size2 kept = cut(x.shape, c);
  const Size2 from{kept.h + p.top + p.bottom, kept.w + p.left + p.right};
  if (from == fit.size) return y;
  if (fit.resize.interpolation == Interpolation::nearest) {
    y.name = emit_nearest(context, y.name, from, fit.size);
    return y;
  }
  const bool cubic = fit.resize.interpolation == Interpolation::bicubic;
  OnnxBuilder::Attributes attributes{
      {"mode", cubic ? "cubic" : "linear"},
      {"coordinate_transformation_mode",
       std::string(name_of(fit.resize.coordinates))}};
  if (cubic) {
    attributes.emplace_back("cubic_coeff_a", fit.resize.cubic_coefficient);
  }
  y.name = emit_resize(context, y.name, from, fit.size, attributes);
  return y;
}

}  // namespace octet
