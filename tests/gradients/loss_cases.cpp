#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>

#include <octet/runtime/rng.h>

#include "cases.h"

namespace octet {
namespace {

using reference::Array;
using Arrays = std::vector<Array>;
using Variables = std::vector<Variable>;

void add_softmax(std::vector<GradientCase>& cases) {
  for (const Shape& x : {Shape{1, 1}, Shape{3, 10}, Shape{2, 3, 17}}) {
    cases.push_back({"softmax",
                     dims(x),
                     {x},
                     [](const Variables& v) { return softmax(v[0]); },
                     [](const Arrays& a) { return reference::softmax(a[0]); }});
  }
  for (const Shape& x : {Shape{1, 1}, Shape{3, 5, 2}}) {
    cases.push_back({"regularization_loss",
                     dims(x),
                     {x},
                     [](const Variables& v) {
                       return regularization_loss(v[0], 0.25f, 1.5f);
                     },
                     [](const Arrays& a) {
                       Array y(Shape{});
                       for (const double v : a[0].values) {
                         y[0] += 0.25 * std::fabs(v) + 1.5 * v * v;
                       }
                       return y;
                     }});
  }
}

/// Labels, targets and weights of a case, in both precisions.
struct Given {
  Shape label_shape;
  std::vector<int64_t> labels;
  Tensor targets;
  Tensor teacher;
  Tensor weights;
  std::vector<double> weight_values;

  explicit Given(const Shape& x)
      : targets(x), teacher(x), weights(Shape{x[0]}) {
    Rng rng = Rng(5).child(dims(x));
    rng.fill_normal(teacher, 0, 1);
    for (float& t : targets.f32()) t = rng.uniform();
    label_shape = x.slice(0, std::max(1, x.rank() - 1));
    for (int64_t i = 0; i < label_shape.size(); ++i) {
      labels.push_back((7 * i + 1) % x[-1]);
    }
    for (int64_t i = 0; i < x[0]; ++i) {
      // One of three samples has weight 0.
      weights.f32()[static_cast<size_t>(i)] =
          i == 2 ? 0.0f : 0.5f + rng.uniform();
    }
    weight_values.assign(weights.f32().begin(), weights.f32().end());
  }
  Tensor label_tensor() const {
    return Tensor::of<int64_t>(label_shape, labels);
  }
  /// Labels with 255 at ignored positions.
  Tensor labels_without(const std::set<int64_t>& places) const {
    Tensor result = label_tensor();
    for (const int64_t place : places) {
      result.data<int64_t>()[static_cast<size_t>(place)] = 255;
    }
    return result;
  }
};

using LossOp = std::function<Variable(const Variable&, const Given&,
                                      const Tensor& weights, Reduction)>;
using LossReference = std::function<Array(const Array&, const Given&)>;

/// The loss as mean, weighted, and per sample.
void add_loss(std::vector<GradientCase>& cases, const std::string& op,
              const std::string& variant, const std::vector<Shape>& shapes,
              const LossOp& loss, const LossReference& reference) {
  for (const Shape& x : shapes) {
    const Given given(x);
    const auto name = [&](const char* form) {
      return (variant.empty() ? "" : variant + "_") + form + "_" + dims(x);
    };
    cases.push_back({op,
                     name("mean"),
                     {x},
                     [=](const Variables& v) {
                       return loss(v[0], given, {}, Reduction::mean);
                     },
                     [=](const Arrays& a) {
                       return reference::mean_loss(reference(a[0], given), {});
                     }});
    cases.push_back({op,
                     name("weighted"),
                     {x},
                     [=](const Variables& v) {
                       return loss(v[0], given, given.weights, Reduction::mean);
                     },
                     [=](const Arrays& a) {
                       return reference::mean_loss(reference(a[0], given),
                                                   given.weight_values);
                     }});
    cases.push_back({op,
                     name("each"),
                     {x},
                     [=](const Variables& v) {
                       return loss(v[0], given, {}, Reduction::none);
                     },
                     [=](const Arrays& a) { return reference(a[0], given); }});
  }
}

void add_cross_entropies(std::vector<GradientCase>& cases) {
  const std::vector<Shape> shapes = {{1, 1}, {3, 17}, {5, 3}, {3, 2, 3, 5}};
  for (const float s : {0.0f, 0.1f}) {
    const std::string variant = s == 0 ? "" : "smooth";
    add_loss(
        cases, "softmax_cross_entropy", variant, shapes,
        [s](const Variable& x, const Given& g, const Tensor& w, Reduction r) {
          return softmax_cross_entropy(x, g.label_tensor(),
                                       {.label_smoothing = s}, {w, r});
        },
        [s](const Array& x, const Given& g) {
          return reference::cross_entropies(
              x, reference::one_hot(g.labels, x.shape[-1]), double{s});
        });
    // All positions of the second sample are ignored.
    const std::set<int64_t> without = {0, 4, 6, 7, 8, 9, 10, 11};
    add_loss(
        cases, "softmax_cross_entropy", variant + "ignored", {{3, 2, 3, 5}},
        [=](const Variable& x, const Given& g, const Tensor& w, Reduction r) {
          return softmax_cross_entropy(
              x, g.labels_without(without),
              {.label_smoothing = s, .ignore_label = 255}, {w, r});
        },
        [=](const Array& x, const Given& g) {
          return reference::cross_entropies(
              x, reference::one_hot(g.labels, x.shape[-1]), double{s}, 1,
              without);
        });
    add_loss(
        cases, "categorical_cross_entropy", variant, shapes,
        [s](const Variable& x, const Given& g, const Tensor& w, Reduction r) {
          return categorical_cross_entropy(x, g.targets, {.label_smoothing = s},
                                           {w, r});
        },
        [s](const Array& x, const Given& g) {
          // Smoothing is not rescaled for targets that do not sum to 1.
          return reference::cross_entropies(x, Array(g.targets), double{s});
        });
    add_loss(
        cases, "binary_cross_entropy", variant, {{1}, {3, 17}, {2, 3, 4, 3}},
        [s](const Variable& x, const Given& g, const Tensor& w, Reduction r) {
          return binary_cross_entropy(x, g.targets, {.label_smoothing = s},
                                      {w, r});
        },
        [s](const Array& x, const Given& g) {
          return reference::binary_cross_entropies(x, Array(g.targets),
                                                   double{s});
        });
  }
  for (const float alpha : {0.0f, 0.7f, 1.0f}) {
    add_loss(
        cases, "distillation_loss",
        "alpha" + std::to_string(static_cast<int>(10 * alpha)),
        {{1, 1}, {3, 17}, {5, 3}},
        [alpha](const Variable& x, const Given& g, const Tensor& w,
                Reduction r) {
          return distillation_loss(x, g.teacher, g.label_tensor(),
                                   {.temperature = 2.5f, .alpha = alpha},
                                   {w, r});
        },
        [alpha](const Array& x, const Given& g) {
          return reference::distillation_losses(
              x, Array(g.teacher), reference::one_hot(g.labels, x.shape[1]),
              2.5, double{alpha});
        });
  }
}

void add_regression_losses(std::vector<GradientCase>& cases) {
  const std::vector<Shape> shapes = {{1}, {5, 1}, {3, 17}, {2, 3, 4, 3}};
  add_loss(
      cases, "mean_squared_error", "", shapes,
      [](const Variable& x, const Given& g, const Tensor& w, Reduction r) {
        return mean_squared_error(x, g.teacher, {w, r});
      },
      [](const Array& x, const Given& g) {
        return reference::mean_errors(x, Array(g.teacher),
                                      [](double e) { return e * e; });
      });
  add_loss(
      cases, "mean_absolute_error", "", shapes,
      [](const Variable& x, const Given& g, const Tensor& w, Reduction r) {
        return mean_absolute_error(x, g.teacher, {w, r});
      },
      [](const Array& x, const Given& g) {
        return reference::mean_errors(x, Array(g.teacher),
                                      [](double e) { return std::fabs(e); });
      });
  add_loss(
      cases, "huber", "", shapes,
      [](const Variable& x, const Given& g, const Tensor& w, Reduction r) {
        return huber(x, g.teacher, {.delta = 0.75f}, {w, r});
      },
      [](const Array& x, const Given& g) {
        return reference::mean_errors(x, Array(g.teacher), [](double e) {
          const double size = std::fabs(e);
          return size <= 0.75 ? 0.5 * e * e : 0.75 * size - 0.5 * 0.75 * 0.75;
        });
      });
}

}  // namespace

void add_loss_cases(std::vector<GradientCase>& cases) {
  add_softmax(cases);
  add_cross_entropies(cases);
  add_regression_losses(cases);
}

}  // namespace octet
