// Resize.
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/layers/preprocessing.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/error.h>

#include "converters.h"
#include "gather.h"
#include "inputs.h"
#include "window_attributes.h"

namespace octet::io::importing {
namespace {

/// Whether UpSampling2D selects the same values. For integer factors, rounding
/// the pixel center and rounding down its left edge select the same pixel.
/// Source: ONNX Resize-13.
bool takes_the_same(const Conversion& c) {
  if (c.integer("antialias", 0) != 0) return false;
  const std::string mode = c.text("mode", "nearest");
  const std::string where =
      c.text("coordinate_transformation_mode", "half_pixel");
  const bool middle = where == "half_pixel" || where == "pytorch_half_pixel";
  if (mode == "linear") return middle;
  const std::string nearest = c.text("nearest_mode", "round_prefer_floor");
  return mode == "nearest" && ((where == "asymmetric" && nearest == "floor") ||
                               (middle && nearest.starts_with("round")));
}

std::string coordinates_of(const Conversion& c) {
  const std::string where =
      c.text("coordinate_transformation_mode", "half_pixel");
  return where == "pytorch_half_pixel" ? "half_pixel" : where;
}

/// Whether Interpolate interpolates in the same way.
bool is_between_pixels(const Conversion& c) {
  const std::string mode = c.text("mode", "nearest");
  const std::string where = coordinates_of(c);
  return (mode == "linear" || mode == "cubic") &&
         (where == "half_pixel" || where == "align_corners" ||
          where == "asymmetric") &&
         c.integer("antialias", 0) == 0 && c.integer("exclude_outside", 0) == 0;
}

/// Returns the factors of the spatial axes of x, [n,h,w,c] or [n,l,c].
std::vector<double> factors_of(const Conversion& c, const Shape& x) {
  const auto rank = static_cast<size_t>(x.rank());
  std::vector<double> factors;
  if (c.has(3)) {
    const Dims sizes = c.sizes(3);
    const size_t first = sizes.size() == rank ? 2 : 0;
    if (first == 2 &&
        ((sizes[0] != kBatch && sizes[0] != Dim{fixed_batch(c.graph())}) ||
         sizes[1] != Dim{x[-1]})) {
      c.refuse(
          fmt::format("sizes must keep the batch and the {} channels", x[-1]));
    }
    for (size_t i = first; i < sizes.size() && i - first + 2 < rank; ++i) {
      if (sizes[i].batch) c.refuse("sizes must not depend on the batch size");
      factors.push_back(
          static_cast<double>(sizes[i].factor) /
          static_cast<double>(x[static_cast<int>(i - first) + 1]));
    }
    return factors;
  }
  Tensor given;
  if (c.has(2)) given = c.floats(2);
  if (!given.empty()) factors.assign(given.f32().begin(), given.f32().end());
  if (factors.size() == rank && factors[0] == 1 && factors[1] == 1) {
    factors.erase(factors.begin(), factors.begin() + 2);
  }
  return factors;
}

/// Returns the input pixel that a nearest Resize selects for output pixel i.
/// Source: ONNX Resize-19.
int64_t nearest_pixel(const Conversion& c, int64_t i, int64_t size,
                      double factor) {
  const std::string mode = c.text("nearest_mode", "round_prefer_floor");
  const bool asymmetric =
      c.text("coordinate_transformation_mode", "half_pixel") == "asymmetric";
  const auto place = static_cast<double>(i);
  const double x = asymmetric ? place / factor : (place + 0.5) / factor - 0.5;
  // Distance from the boundary between two pixels.
  const double meeting = mode == "floor" ? std::round(x) : std::floor(x) + 0.5;
  const double distance = std::abs(x - meeting);
  const bool exact = static_cast<double>(static_cast<float>(factor)) == factor;
  if (distance < 1e-4 && !(exact && distance < 1e-9)) {
    c.refuse(fmt::format("pixel {} by the factor {} depends on float rounding",
                         i, factor));
  }
  const double on = distance < 1e-9 ? meeting : x;
  const double taken = mode == "floor"                ? std::floor(on)
                       : mode == "round_prefer_floor" ? std::ceil(on - 0.5)
                                                      : std::floor(on + 0.5);
  return std::clamp<int64_t>(static_cast<int64_t>(taken), 0, size - 1);
}

/// Resizes to any size, by interpolation or a Gather of the nearest pixels.
void resize_freely(Conversion& c, const Operand& x,
                   const std::vector<double>& factors) {
  const Shape& in = x.tensor.shape();
  const bool nearest = c.text("mode", "nearest") == "nearest";
  constexpr double kMostPixels = 1 << 20;
  Sizes targets;
  std::vector<AxisIndices> chosen;
  for (size_t i = 0; i < factors.size(); ++i) {
    const int64_t size = in[static_cast<int>(i) + 1];
    const double reached = static_cast<double>(size) * factors[i];
    const double target = std::round(reached);
    // If the size is rounded, ONNX computes with the given factor.
    const bool exact = std::abs(reached - target) <= 1e-6 * target;
    // pytorch_half_pixel selects the first pixel for a size of 1.
    const bool first = target == 1 && size != 1 &&
                       c.text("coordinate_transformation_mode", "half_pixel") ==
                           "pytorch_half_pixel";
    if (!(target >= 1) || target > kMostPixels || !exact || first ||
        (in.rank() != 4 && !nearest)) {
      c.refuse(
          fmt::format("factors must result in integer sizes of images, got "
                      "[{}]",
                      fmt::join(factors, ",")));
    }
    targets.push_back(static_cast<int64_t>(target));
    if (factors[i] == 1) continue;
    AxisIndices pixels{static_cast<int>(i) + 2, {}};
    for (int64_t k = 0; nearest && k < targets.back(); ++k) {
      pixels.indices.push_back(nearest_pixel(c, k, size, factors[i]));
    }
    chosen.push_back(std::move(pixels));
  }
  if (nearest) return c.set_output(gathered(c, chosen));
  const bool cubic = c.text("mode", "nearest") == "cubic";
  const std::string coordinates = coordinates_of(c);
  const auto layer = [&]() -> LayerHandle {
    if (!cubic && coordinates == "half_pixel") {
      return Resizing({.height = targets[0], .width = targets[1]});
    }
    return Interpolate(
        {.height = targets[0],
         .width = targets[1],
         .mode = cubic ? "bicubic" : "bilinear",
         .coordinates = coordinates,
         .cubic_coefficient = c.number("cubic_coeff_a", -0.75f)});
  };
  c.set_output(channels_first(c.add(layer(), {x})));
}

}  // namespace

void convert_resize(Conversion& c) {
  const Operand x = pixels_of(c, 0);
  const Shape& in = x.tensor.shape();
  const Sizes axes = c.integers("axes");
  const bool pixels =
      axes.empty() || (axes.front() == 2 && std::ssize(axes) == in.rank() - 2);
  const bool same = takes_the_same(c);
  if ((!same && !is_between_pixels(c)) || !pixels) {
    c.refuse(fmt::format(
        "mode must be nearest (asymmetric, floor), or linear or cubic "
        "(half_pixel, align_corners, asymmetric) over spatial axes, got {} "
        "({}, {})",
        c.text("mode", "nearest"),
        c.text("coordinate_transformation_mode", "half_pixel"),
        c.text("nearest_mode", "round_prefer_floor")));
  }
  const std::string ratio = c.text("keep_aspect_ratio_policy", "stretch");
  if (ratio != "stretch") {
    c.refuse(fmt::format("keep_aspect_ratio_policy must be stretch, got '{}'",
                         ratio));
  }
  constexpr double kMost = 4096;
  const std::vector<double> factors = factors_of(c, in);
  if (std::ssize(factors) != in.rank() - 2) {
    c.refuse(fmt::format("must have a factor for each spatial axis, got [{}]",
                         fmt::join(factors, ",")));
  }
  const bool whole = std::ranges::all_of(factors, [](double f) {
    return f >= 1 && f <= kMost && f == std::floor(f);
  });
  if (!whole || !same) return resize_freely(c, x, factors);
  const auto factor = [&](size_t i) {
    return static_cast<int64_t>(factors[i]);
  };
  const bool nearest = c.text("mode", "nearest") == "nearest";
  if (in.rank() == 3) {
    if (!nearest) c.refuse("mode must be nearest for sequences");
    return c.set_output(
        channels_first(c.add(UpSampling1D({.size = factor(0)}), {x})));
  }
  c.set_output(channels_first(
      c.add(UpSampling2D({.size = {factor(0), factor(1)},
                          .interpolation = nearest ? "nearest" : "bilinear"}),
            {x})));
}

}  // namespace octet::io::importing
