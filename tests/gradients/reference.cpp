#include "reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace octet::reference {
namespace {

int64_t at4(const Shape& s, int64_t a, int64_t b, int64_t c, int64_t d) {
  return ((a * s[1] + b) * s[2] + c) * s[3] + d;
}

}  // namespace

Array dense(const Array& x, const Array& kernel) {
  const int64_t depth = kernel.shape[0];
  const int64_t units = kernel.shape[1];
  Array y(x.shape.with(-1, units));
  for (int64_t row = 0; row < x.size() / depth; ++row)
    for (int64_t u = 0; u < units; ++u)
      for (int64_t c = 0; c < depth; ++c) {
        y[row * units + u] += x[row * depth + c] * kernel[c * units + u];
      }
  return y;
}

Array bias_add(const Array& x, const Array& bias) {
  Array y = x;
  for (int64_t i = 0; i < y.size(); ++i) y[i] += bias[i % bias.size()];
  return y;
}

Array add(const Array& x, const Array& y) {
  Array z = x;
  for (int64_t i = 0; i < z.size(); ++i) z[i] += y[i];
  return z;
}

Array relu(const Array& x, double max_value) {
  Array y = x;
  for (double& v : y.values) v = std::min(std::max(v, 0.0), max_value);
  return y;
}

Array batch_norm(const Array& x, const Array& gamma, const Array& beta,
                 const Array& mean, const Array& variance, double epsilon) {
  const int64_t c = gamma.size();
  Array y = x;
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t k = i % c;
    y[i] = gamma[k] * (x[i] - mean[k]) / std::sqrt(variance[k] + epsilon) +
           beta[k];
  }
  return y;
}

Array batch_norm_training(const Array& x, const Array& gamma, const Array& beta,
                          double epsilon) {
  const int64_t c = gamma.size();
  const double count = static_cast<double>(x.size() / c);
  Array mean({c});
  Array variance({c});
  for (int64_t i = 0; i < x.size(); ++i) mean[i % c] += x[i] / count;
  for (int64_t i = 0; i < x.size(); ++i) {
    variance[i % c] += (x[i] - mean[i % c]) * (x[i] - mean[i % c]) / count;
  }
  return batch_norm(x, gamma, beta, mean, variance, epsilon);
}

Array max_pool2d(const Array& x, Size2 window, const WindowOptions& o) {
  const Shape& xs = x.shape;
  const int64_t oh = window_positions(xs[1], window.h, o.strides.h,
                                      o.dilation.h, o.pads.top + o.pads.bottom);
  const int64_t ow = window_positions(xs[2], window.w, o.strides.w,
                                      o.dilation.w, o.pads.left + o.pads.right);
  Array y({xs[0], oh, ow, xs[3]});
  for (int64_t n = 0; n < xs[0]; ++n)
    for (int64_t i = 0; i < oh; ++i)
      for (int64_t j = 0; j < ow; ++j)
        for (int64_t c = 0; c < xs[3]; ++c) {
          double best = -std::numeric_limits<double>::infinity();
          for (int64_t p = 0; p < window.h; ++p)
            for (int64_t q = 0; q < window.w; ++q) {
              const int64_t h = i * o.strides.h + p * o.dilation.h - o.pads.top;
              const int64_t w =
                  j * o.strides.w + q * o.dilation.w - o.pads.left;
              if (h < 0 || h >= xs[1] || w < 0 || w >= xs[2]) continue;
              best = std::max(best, x[at4(xs, n, h, w, c)]);
            }
          y[at4(y.shape, n, i, j, c)] = best;
        }
  return y;
}

Array softmax(const Array& x) {
  const int64_t classes = x.shape[-1];
  Array y = x;
  for (int64_t row = 0; row < x.size(); row += classes) {
    double sum = 0;
    for (int64_t k = row; k < row + classes; ++k) sum += std::exp(x[k]);
    for (int64_t k = row; k < row + classes; ++k) y[k] = std::exp(x[k]) / sum;
  }
  return y;
}

Array softmax_cross_entropy(const Array& logits,
                            const std::vector<int64_t>& labels) {
  const Array p = softmax(logits);
  const int64_t classes = logits.shape[1];
  const int64_t n = logits.shape[0];
  Array loss(Shape{});
  for (int64_t i = 0; i < n; ++i) {
    loss[0] -= std::log(p[i * classes + labels[static_cast<size_t>(i)]]) /
               static_cast<double>(n);
  }
  return loss;
}

}  // namespace octet::reference
