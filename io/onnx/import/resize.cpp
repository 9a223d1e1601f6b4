// Resize and Upsample.
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/layers/resizing.h>
#include <octet/layers/up_sampling1d.h>
#include <octet/layers/up_sampling2d.h>
#include <octet/runtime/error.h>

#include "converters.h"
#include "inputs.h"
#include "window_attributes.h"

namespace octet::io::importing {
namespace {

bool is_upsample(const Conversion& c) {
  return c.op() == "Upsample" || c.opset() < 11;
}

/// Whether values come from where UpSampling2D takes them. By a whole factor,
/// nearest to the middle of a pixel and its left end rounded down are the same
/// pixel.
/// Source: ONNX Resize-13.
bool takes_the_same(const Conversion& c) {
  if (c.integer("antialias", 0) != 0) return false;
  const std::string mode = c.text("mode", "nearest");
  if (is_upsample(c)) return mode == "nearest";
  const std::string where =
      c.text("coordinate_transformation_mode", "half_pixel");
  const bool middle = where == "half_pixel" || where == "pytorch_half_pixel";
  if (mode == "linear") return middle;
  const std::string nearest = c.text("nearest_mode", "round_prefer_floor");
  return mode == "nearest" && ((where == "asymmetric" && nearest == "floor") ||
                               (middle && nearest.starts_with("round")));
}

/// Of the pixels of x, [n,h,w,c] or [n,l,c].
std::vector<double> factors_of(const Conversion& c, const Shape& x) {
  const auto rank = static_cast<size_t>(x.rank());
  const int scales = is_upsample(c) ? 1 : 2;
  std::vector<double> factors;
  if (!is_upsample(c) && c.has(3)) {
    const Sizes sizes = c.integers(3);
    const size_t first = sizes.size() == rank ? 2 : 0;
    if (first == 2 &&
        ((sizes[0] != kBatch && sizes[0] != fixed_batch(c.graph())) ||
         sizes[1] != x[-1])) {
      c.refuse(fmt::format(
          "sizes: expected those of the samples and the {} channels to stay as "
          "they are, got others",
          x[-1]));
    }
    for (size_t i = first; i < sizes.size() && i - first + 2 < rank; ++i) {
      factors.push_back(
          static_cast<double>(sizes[i]) /
          static_cast<double>(x[static_cast<int>(i - first) + 1]));
    }
    return factors;
  }
  Tensor given;
  if (c.has(scales)) given = c.floats(scales);
  if (!given.empty()) factors.assign(given.f32().begin(), given.f32().end());
  if (factors.size() == rank && factors[0] == 1 && factors[1] == 1) {
    factors.erase(factors.begin(), factors.begin() + 2);
  }
  return factors;
}

/// To another size: linear between the middles of pixels, as Resizing.
void resize_freely(Conversion& c, const Operand& x,
                   const std::vector<double>& factors) {
  const Shape& in = x.tensor.shape();
  constexpr double kMostPixels = 1 << 20;
  Sizes sizes;
  for (size_t i = 0; i < factors.size(); ++i) {
    const auto size = static_cast<double>(in[static_cast<int>(i) + 1]);
    const double target = std::round(size * factors[i]);
    // Where the size is rounded, ONNX goes on with the factor that was given.
    const bool exact = std::abs(size * factors[i] - target) < 1e-4;
    // PyTorch's form takes the first pixel for a single one.
    const bool first = target == 1 && size != 1 &&
                       c.text("coordinate_transformation_mode", "half_pixel") ==
                           "pytorch_half_pixel";
    if (!(target >= 1) || target > kMostPixels || !exact || first ||
        in.rank() != 4 || c.text("mode", "nearest") != "linear") {
      c.refuse(
          fmt::format("expected whole factors for the pixels, or linear "
                      "ones that give whole sizes of images, got [{}]",
                      fmt::join(factors, ",")));
    }
    sizes.push_back(static_cast<int64_t>(target));
  }
  c.give(channels_first(
      c.add(Resizing({.height = sizes[0], .width = sizes[1]}), {x})));
}

}  // namespace

void convert_resize(Conversion& c) {
  const Operand x = pixels_of(c, 0);
  const Shape& in = x.tensor.shape();
  const Sizes axes = c.integers("axes");
  const bool pixels =
      axes.empty() || (axes.front() == 2 && std::ssize(axes) == in.rank() - 2);
  if (!takes_the_same(c) || !pixels) {
    c.refuse(fmt::format(
        "expected nearest (asymmetric, floor) or linear (half_pixel) of "
        "pixels, got {} ({}, {})",
        c.text("mode", "nearest"),
        c.text("coordinate_transformation_mode", "half_pixel"),
        c.text("nearest_mode", "round_prefer_floor")));
  }
  const std::string ratio = c.text("keep_aspect_ratio_policy", "stretch");
  if (ratio != "stretch") {
    c.refuse(fmt::format("keep_aspect_ratio_policy: expected stretch, got '{}'",
                         ratio));
  }
  constexpr double kMost = 4096;
  const std::vector<double> factors = factors_of(c, in);
  if (std::ssize(factors) != in.rank() - 2) {
    c.refuse(fmt::format("expected factors for the pixels, got [{}]",
                         fmt::join(factors, ",")));
  }
  const bool whole = std::ranges::all_of(factors, [](double f) {
    return f >= 1 && f <= kMost && f == std::floor(f);
  });
  if (!whole) return resize_freely(c, x, factors);
  const auto factor = [&](size_t i) {
    return static_cast<int64_t>(factors[i]);
  };
  const bool nearest = c.text("mode", "nearest") == "nearest";
  if (in.rank() == 3) {
    if (!nearest) c.refuse("mode: expected nearest for sequences");
    return c.give(
        channels_first(c.add(UpSampling1D({.size = factor(0)}), {x})));
  }
  c.give(channels_first(
      c.add(UpSampling2D({.size = {factor(0), factor(1)},
                          .interpolation = nearest ? "nearest" : "bilinear"}),
            {x})));
}

}  // namespace octet::io::importing
