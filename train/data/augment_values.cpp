// Transforms of pixel values: brightness, contrast, cutout and mixup.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/train/data_loader.h>

#include "image_transform.h"

namespace octet::train {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();

void check_limits(const char* transform, float low, float high) {
  if (!(low <= high)) {
    throw ValueError(
        "out_of_range", transform,
        fmt::format("low must not exceed high, got {} and {}", low, high));
  }
}

/// Draws the logarithm of a Gamma(shape, 1) variate; for small shapes the
/// variate itself underflows.
/// Source: Marsaglia and Tsang, "A simple method for generating gamma
/// variables", 2000; shapes below 1 by section 6.
double log_gamma(Rng& rng, double shape) {
  const auto positive = [&rng] { return (rng.next() + 0.5) * 0x1p-32; };
  double result = 0;
  if (shape < 1) {
    result = std::log(positive()) / shape;
    shape += 1;
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = double{rng.normal()};
    const double v = std::pow(1 + c * x, 3);
    const double u = positive();
    if (v > 0 && std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) {
      return result + std::log(d * v);
    }
  }
}

float draw_beta(Rng& rng, float alpha) {
  const double a = log_gamma(rng, double{alpha});
  const double b = log_gamma(rng, double{alpha});
  return static_cast<float>(1 / (1 + std::exp(b - a)));
}

class Mixup final : public Transform {
 public:
  explicit Mixup(const MixupOptions& options) : options_(options) {
    if (options.classes < 2) {
      throw ValueError(
          "out_of_range", "mixup",
          fmt::format("classes must be at least 2, got {}", options.classes));
    }
    if (!(options.alpha > 0 && options.alpha <= kLargest)) {
      throw ValueError("out_of_range", "mixup",
                       fmt::format("alpha must be finite and positive, got {}",
                                   options.alpha));
    }
  }

  void apply(Batch& batch, const SampleStreams& streams) const override {
    const int64_t n = batch.size();
    const Tensor labels = soft_labels(batch.label());
    const std::vector<Tensor> inputs = batch.inputs;
    batch.label() = Tensor(labels.shape());
    for (Tensor& input : batch.inputs) input = Tensor(input.shape());
    const Tensor weights = batch.weights;
    if (!weights.empty()) batch.weights = Tensor(weights.shape());
    parallel_chunks(n, [&](int64_t first, int64_t last, int64_t) {
      for (int64_t i = first; i < last; ++i) {
        Rng rng = streams[i];
        const int64_t other = rng.below(n);
        const float share = draw_beta(rng, options_.alpha);
        for (size_t k = 0; k < inputs.size(); ++k) {
          mix(inputs[k], i, other, share, batch.inputs[k]);
        }
        mix(labels, i, other, share, batch.label());
        if (!weights.empty()) mix(weights, i, other, share, batch.weights);
      }
    });
  }

 private:
  /// Shapes: i64 [n] or f32 [n,classes] -> f32 [n,classes].
  Tensor soft_labels(const Tensor& labels) const {
    const Shape shape{labels.shape()[0], options_.classes};
    if (labels.dtype() == DType::f32) {
      if (labels.shape() != shape) {
        throw ShapeError(
            "shape_mismatch", "mixup",
            fmt::format("labels must have shape {}, got {}", shape.to_string(),
                        labels.shape().to_string()));
      }
      return labels;
    }
    if (labels.shape().rank() != 1) {
      throw ShapeError("invalid_shape", "mixup",
                       fmt::format("labels must have shape [n], got {}",
                                   labels.shape().to_string()));
    }
    return one_hot(labels, options_.classes);
  }

  /// to[i] = share * from[i] + (1 - share) * from[other], for rows.
  static void mix(const Tensor& from, int64_t i, int64_t other, float share,
                  Tensor& to) {
    const int64_t length = from.size() / from.shape()[0];
    const float* x = from.f32().data() + i * length;
    const float* y = from.f32().data() + other * length;
    float* out = to.f32().data() + i * length;
    for (int64_t k = 0; k < length; ++k) {
      out[k] = share * x[k] + (1 - share) * y[k];
    }
  }

  MixupOptions options_;
};

}  // namespace

std::shared_ptr<const Transform> random_brightness(
    const RandomBrightnessOptions& options) {
  check_range("random_brightness", "delta", options.delta, 0, kLargest);
  check_limits("random_brightness", options.low, options.high);
  return image_transform("random_brightness", Changes::values,
                         [options](const Image& image, Rng& rng, Scratch&) {
                           const float delta = draw(rng, options.delta);
                           for (int64_t i = 0; i < image.size(); ++i) {
                             image.pixels[i] =
                                 std::clamp(image.pixels[i] + delta,
                                            options.low, options.high);
                           }
                         });
}

std::shared_ptr<const Transform> random_contrast(
    const RandomContrastOptions& options) {
  check_range("random_contrast", "factor", options.factor, 0, 1);
  check_limits("random_contrast", options.low, options.high);
  return image_transform(
      "random_contrast", Changes::values,
      [options](const Image& image, Rng& rng, Scratch& means) {
        const float factor = 1 + draw(rng, options.factor);
        const auto c = static_cast<size_t>(image.c);
        means.resize(c);
        for (size_t k = 0; k < c; ++k) {
          double sum = 0;
          for (int64_t i = 0; i < image.h * image.w; ++i) {
            sum += double{image.pixels[i * image.c + static_cast<int64_t>(k)]};
          }
          means[k] =
              static_cast<float>(sum / static_cast<double>(image.h * image.w));
        }
        float* x = image.pixels;
        for (int64_t i = 0; i < image.h * image.w; ++i) {
          for (size_t k = 0; k < c; ++k, ++x) {
            *x = std::clamp(means[k] + factor * (*x - means[k]), options.low,
                            options.high);
          }
        }
      });
}

std::shared_ptr<const Transform> cutout(const CutoutOptions& options) {
  if (options.size < 1) {
    throw ValueError(
        "out_of_range", "cutout",
        fmt::format("size must be positive, got {}", options.size));
  }
  return image_transform(
      "cutout", Changes::values,
      [options](const Image& image, Rng& rng, Scratch&) {
        const int64_t size = std::min(options.size, 2 * (image.h + image.w));
        const int64_t y = rng.below(image.h) - size / 2;
        const int64_t x = rng.below(image.w) - size / 2;
        const int64_t left = std::max<int64_t>(x, 0);
        const int64_t right = std::min(x + size, image.w);
        const int64_t bottom = std::min(y + size, image.h);
        for (int64_t row = std::max<int64_t>(y, 0); row < bottom; ++row) {
          std::fill(image.row(row) + left * image.c,
                    image.row(row) + right * image.c, options.value);
        }
      });
}

std::shared_ptr<const Transform> mixup(const MixupOptions& options) {
  return std::make_shared<Mixup>(options);
}

}  // namespace octet::train
