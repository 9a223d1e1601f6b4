#include "loss_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/detail/shape_hint.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>

namespace octet::loss {
namespace {

// Fewer values are processed by a single thread.
constexpr int64_t kParallelSize = 1 << 14;

template <class Body>
void for_rows(size_t rows, int64_t size, const Body& body) {
  if (size < kParallelSize) {
    for (size_t i = 0; i < rows; ++i) body(i);
    return;
  }
  parallel_chunks(static_cast<int64_t>(rows),
                  [&](int64_t first, int64_t last, int64_t) {
                    for (int64_t i = first; i < last; ++i) {
                      body(static_cast<size_t>(i));
                    }
                  });
}

void check_weights(std::string_view name, int64_t n, const Tensor& weights) {
  if (weights.empty()) return;
  if (weights.shape() != Shape{n}) {
    throw ShapeError("shape_mismatch", name,
                     fmt::format("weights must have shape [{}], got {}", n,
                                 weights.shape().to_string()));
  }
  for (const float w : weights.f32()) {
    if (!(w >= 0.0f) || std::isinf(w)) {
      throw ValueError(
          "out_of_range", name,
          fmt::format("weights must be finite and not negative, got {}",
                      std::isnan(w) ? "nan" : fmt::format("{}", w)));
    }
  }
}

}  // namespace

Variable over_rows(std::string_view name, const Variable& x, const Row& row,
                   const LossOptions& loss_options) {
  const Tensor& weights = loss_options.weights;
  const int64_t n = x.shape()[0];
  check_weights(name, n, weights);
  const auto rows = static_cast<size_t>(n);
  const auto length = static_cast<size_t>(x.shape().size() / n);
  const auto weight = [&weights](size_t i) {
    return weights.empty() ? 1.0f : weights.f32()[i];
  };
  Tensor gradient(x.shape());
  std::vector<double> losses(rows);
  const bool mean = loss_options.reduction == Reduction::mean;
  const auto d = gradient.f32();
  for_rows(rows, x.shape().size(), [&](size_t i) {
    const auto to = d.subspan(i * length, length);
    losses[i] = row(i, to);
    if (!weights.empty()) {
      losses[i] *= double{weight(i)};
      for (float& v : to) v *= weight(i);
    }
    if (mean) {
      for (float& v : to) v /= static_cast<float>(n);
    }
  });
  if (mean) {
    double sum = 0;
    for (const double each : losses) sum += each;
    return record(
        name, {x},
        Tensor::scalar(static_cast<float>(sum / static_cast<double>(n))), {},
        [gradient](const Tensor& dy) {
          Tensor dx = gradient.clone();
          const float scale = dy.item();
          for (float& v : dx.f32()) v *= scale;
          return std::vector{dx};
        });
  }
  Tensor each(Shape{n});
  std::ranges::transform(losses, each.f32().begin(), [](double value) {
    return static_cast<float>(value);
  });
  return record(name, {x}, each, {}, [gradient, length](const Tensor& dy) {
    Tensor dx = gradient.clone();
    const auto to = dx.f32();
    const auto scale = std::as_const(dy).f32();
    for (size_t i = 0; i < to.size(); ++i) to[i] *= scale[i / length];
    return std::vector{dx};
  });
}

double log_sum_exp(std::span<const float> x, double temperature) {
  // Subtracting the maximum prevents overflow in exp().
  double top = x[0];
  for (const float v : x) top = std::max<double>(top, v);
  double sum = 0;
  for (const float v : x) sum += std::exp((v - top) / temperature);
  return top / temperature + std::log(sum);
}

void check_logits(std::string_view name, const Shape& logits) {
  if (logits.rank() < 2 || logits.size() < 1) {
    throw ShapeError(
        "invalid_shape", name,
        fmt::format("logits must be [n,...,classes] and not empty, got {}",
                    logits.to_string()));
  }
}

void check_labels(std::string_view name, const Shape& logits,
                  const Tensor& labels, std::optional<int64_t> ignored) {
  const Shape places = logits.slice(0, logits.rank() - 1);
  if (labels.shape() != places) {
    throw ShapeError(
        "shape_mismatch", name,
        fmt::format("logits {} need labels {}, got {}{}", logits.to_string(),
                    places.to_string(), labels.shape().to_string(),
                    label_shape_hint(labels.shape(), places)));
  }
  const int64_t classes = logits[-1];
  const size_t length = places.size() / places[0];
  const auto values = labels.data<int64_t>();
  for (size_t i = 0; i < values.size(); ++i) {
    if ((values[i] < 0 || values[i] >= classes) && values[i] != ignored) {
      throw ValueError(
          "out_of_range", name,
          fmt::format("labels must be in [0,{}){}, got {} at sample {}",
                      classes, ignored ? fmt::format(" or {}", *ignored) : "",
                      values[i], i / length));
    }
  }
}

void check_targets(std::string_view name, const Shape& outputs,
                   const Tensor& targets) {
  if (outputs.rank() < 1 || outputs.size() < 1 || targets.shape() != outputs) {
    throw ShapeError(
        "shape_mismatch", name,
        fmt::format("targets must have the shape of the outputs, [n,...], got "
                    "outputs {} and targets {}{}",
                    outputs.to_string(), targets.shape().to_string(),
                    label_shape_hint(targets.shape(), outputs, "targets")));
  }
  if (targets.dtype() != DType::f32) {
    throw ValueError(
        "dtype_mismatch", name,
        fmt::format("targets must be f32, got {}", to_string(targets.dtype())));
  }
}

void check_target_range(std::string_view name, const Tensor& targets,
                        float most) {
  for (const float t : targets.f32()) {
    if (!(t < 0 || t > most)) continue;  // the loss shows NaN
    throw ValueError(
        "out_of_range", name,
        fmt::format(
            "targets must be {}, got {}. Hint: map -1 and 1 to 0 and 1 with (t "
            "+ 1) / 2, 1 and 2 with t - 1, 0 and 255 with t / 255",
            std::isinf(most) ? "at least 0" : "in [0,1]", t));
  }
}

void check_share(std::string_view name, std::string_view option, float share) {
  // In this form NaN fails too.
  if (!(share >= 0.0f && share <= 1.0f)) {
    throw ValueError(
        "out_of_range", name,
        fmt::format("{} must be in [0,1], got {}", option,
                    std::isnan(share) ? "nan" : fmt::format("{}", share)));
  }
}

}  // namespace octet::loss
