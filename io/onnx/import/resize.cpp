// Resize and Upsample.
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/layers/interpolate.h>
#include <octet/layers/resizing.h>
#include <octet/layers/up_sampling1d.h>
#include <octet/layers/up_sampling2d.h>
#include <octet/runtime/error.h>

#include "converters.h"
#include "gather.h"
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

std::string coordinates_of(const Conversion& c) {
  const std::string where =
      c.text("coordinate_transformation_mode", "half_pixel");
  return where == "pytorch_half_pixel" ? "half_pixel" : where;
}

/// Whether Interpolate takes values from between the same pixels.
bool is_between_pixels(const Conversion& c) {
  const std::string mode = c.text("mode", "nearest");
  const std::string where = coordinates_of(c);
  return !is_upsample(c) && (mode == "linear" || mode == "cubic") &&
         (where == "half_pixel" || where == "align_corners" ||
          where == "asymmetric") &&
         c.integer("antialias", 0) == 0 && c.integer("exclude_outside", 0) == 0;
}

/// Of the pixels of x, [n,h,w,c] or [n,l,c].
std::vector<double> factors_of(const Conversion& c, const Shape& x) {
  const auto rank = static_cast<size_t>(x.rank());
  const int scales = is_upsample(c) ? 1 : 2;
  std::vector<double> factors;
  if (!is_upsample(c) && c.has(3)) {
    const Sizes sizes = c.sizes(3);
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

/// The pixel that a nearest Resize takes for pixel i of the result.
/// Source: ONNX Resize-19.
int64_t nearest_pixel(const Conversion& c, int64_t i, int64_t size,
                      double factor) {
  const std::string mode = c.text("nearest_mode", "round_prefer_floor");
  const bool asymmetric =
      c.text("coordinate_transformation_mode", "half_pixel") == "asymmetric";
  const auto place = static_cast<double>(i);
  const double x = asymmetric ? place / factor : (place + 0.5) / factor - 0.5;
  // How far it is from where the pixels on both sides meet.
  const double meeting = mode == "floor" ? std::round(x) : std::floor(x) + 0.5;
  const double distance = std::abs(x - meeting);
  const bool exact = static_cast<double>(static_cast<float>(factor)) == factor;
  if (distance < 1e-4 && !(exact && distance < 1e-9)) {
    c.refuse(
        fmt::format("expected pixels that no rounding decides, got pixel "
                    "{} by the factor {}",
                    i, factor));
  }
  const double on = distance < 1e-9 ? meeting : x;
  const double taken = mode == "floor"                ? std::floor(on)
                       : mode == "round_prefer_floor" ? std::ceil(on - 0.5)
                                                      : std::floor(on + 0.5);
  return std::clamp<int64_t>(static_cast<int64_t>(taken), 0, size - 1);
}

/// To another size: between pixels, or the nearest pixels by number.
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
    // Where the size is rounded, ONNX goes on with the factor that was given.
    const bool exact = std::abs(reached - target) <= 1e-6 * target;
    // PyTorch's form takes the first pixel for a single one.
    const bool first = target == 1 && size != 1 &&
                       c.text("coordinate_transformation_mode", "half_pixel") ==
                           "pytorch_half_pixel";
    if (!(target >= 1) || target > kMostPixels || !exact || first ||
        (in.rank() != 4 && !nearest)) {
      c.refuse(
          fmt::format("expected factors that give whole sizes of images, "
                      "got [{}]",
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
  if (nearest) return c.give(gathered(c, chosen));
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
  c.give(channels_first(c.add(layer(), {x})));
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
        "expected nearest (asymmetric, floor), or linear or cubic "
        "(half_pixel, align_corners, asymmetric) of pixels, got {} ({}, {})",
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
  if (!whole || !same) return resize_freely(c, x, factors);
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
