#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

namespace octet {
namespace {

// One row of softmax, and log(sum exp) of it.
double softmax_row(std::span<const float> x, std::span<float> y) {
  double top = x[0];
  for (const float v : x) top = std::max<double>(top, v);
  double sum = 0;
  for (const float v : x) sum += std::exp(v - top);
  for (size_t k = 0; k < x.size(); ++k) {
    y[k] = static_cast<float>(std::exp(x[k] - top) / sum);
  }
  return top + std::log(sum);
}

}  // namespace

Variable softmax(const Variable& x) {
  if (x.shape().rank() < 1 || x.shape()[-1] < 1) {
    throw ShapeError(
        fmt::format("softmax: expected at least one value on the "
                    "last axis, got {}",
                    x.shape().to_string()));
  }
  const size_t classes = static_cast<size_t>(x.shape()[-1]);
  const auto values = x.value().f32();
  Tensor y(x.shape());
  for (size_t row = 0; row < values.size(); row += classes) {
    softmax_row(values.subspan(row, classes), y.f32().subspan(row, classes));
  }
  return record("softmax", {x}, y, [y, classes](const Tensor& dy) {
    Tensor dx(y.shape());
    const auto p = y.f32();
    const auto g = dy.f32();
    const auto to = dx.f32();
    for (size_t row = 0; row < p.size(); row += classes) {
      double dot = 0;
      for (size_t k = row; k < row + classes; ++k) dot += g[k] * p[k];
      for (size_t k = row; k < row + classes; ++k) {
        to[k] = static_cast<float>(p[k] * (g[k] - dot));
      }
    }
    return std::vector{dx};
  });
}

Variable softmax_cross_entropy(const Variable& logits, const Tensor& labels) {
  const Shape& shape = logits.shape();
  if (shape.rank() != 2 || shape[0] < 1 || shape[1] < 1 ||
      labels.shape() != Shape{shape[0]}) {
    throw ShapeError(fmt::format(
        "softmax_cross_entropy: expected logits [n,classes] and labels [n], "
        "got {} and {}",
        shape.to_string(), labels.shape().to_string()));
  }
  const size_t n = static_cast<size_t>(shape[0]);
  const size_t classes = static_cast<size_t>(shape[1]);
  const auto label = labels.data<int64_t>();
  const auto values = logits.value().f32();
  Tensor gradient(shape);
  const auto d = gradient.f32();
  double loss = 0;
  for (size_t i = 0; i < n; ++i) {
    if (label[i] < 0 || label[i] >= shape[1]) {
      throw ValueError(fmt::format(
          "softmax_cross_entropy: expected labels in [0,{}), got {} at sample "
          "{}",
          classes, label[i], i));
    }
    const size_t right = i * classes + static_cast<size_t>(label[i]);
    const auto row = d.subspan(i * classes, classes);
    loss += softmax_row(values.subspan(i * classes, classes), row);
    loss -= values[right];
    d[right] -= 1;
    for (float& v : row) v /= static_cast<float>(n);
  }
  return record(
      "softmax_cross_entropy", {logits},
      Tensor::scalar(static_cast<float>(loss / static_cast<double>(n))),
      [gradient](const Tensor& dy) {
        Tensor dx = gradient.clone();
        for (float& v : dx.f32()) v *= dy.item();
        return std::vector{dx};
      });
}

}  // namespace octet
