#include <cmath>

#include "reference.h"

namespace octet::reference {
namespace {

int64_t row_length(const Array& x) { return x.size() / x.shape[0]; }

Array divided(Array x, double by) {
  for (double& v : x.values) v /= by;
  return x;
}

}  // namespace

Array cross_entropies(const Array& logits, const Array& targets,
                      double smoothing, double temperature,
                      const std::set<int64_t>& without) {
  const Array p = softmax(divided(logits, temperature));
  const int64_t classes = logits.shape[-1];
  const int64_t places = row_length(logits) / classes;
  Array y({logits.shape[0]});
  for (int64_t sample = 0; sample < y.size(); ++sample) {
    int64_t counted = 0;
    for (int64_t place = sample * places; place < (sample + 1) * places;
         ++place) {
      if (without.contains(place)) continue;
      ++counted;
      for (int64_t i = place * classes; i < (place + 1) * classes; ++i) {
        const double target = targets[i] * (1 - smoothing) +
                              smoothing / static_cast<double>(classes);
        y[sample] -= target * std::log(p[i]);
      }
    }
    if (counted > 0) y[sample] /= static_cast<double>(counted);
  }
  return y;
}

Array binary_cross_entropies(const Array& logits, const Array& targets,
                             double smoothing) {
  Array y({logits.shape[0]});
  for (int64_t i = 0; i < logits.size(); ++i) {
    const double s = 1 / (1 + std::exp(-logits[i]));
    const double t = targets[i] * (1 - smoothing) + 0.5 * smoothing;
    y[i / row_length(logits)] -= (t * std::log(s) + (1 - t) * std::log(1 - s)) /
                                 static_cast<double>(row_length(logits));
  }
  return y;
}

Array mean_errors(const Array& outputs, const Array& targets,
                  const std::function<double(double)>& of_error) {
  Array y({outputs.shape[0]});
  for (int64_t i = 0; i < outputs.size(); ++i) {
    y[i / row_length(outputs)] += of_error(outputs[i] - targets[i]) /
                                  static_cast<double>(row_length(outputs));
  }
  return y;
}

Array distillation_losses(const Array& logits, const Array& teacher,
                          const Array& targets, double temperature,
                          double alpha) {
  const Array p = softmax(divided(teacher, temperature));
  const Array q = softmax(divided(logits, temperature));
  Array y = cross_entropies(logits, targets, 0);
  for (double& v : y.values) v *= 1 - alpha;
  for (int64_t i = 0; i < p.size(); ++i) {
    y[i / logits.shape[1]] +=
        alpha * temperature * temperature * p[i] * std::log(p[i] / q[i]);
  }
  return y;
}

Array mean_loss(const Array& losses, const std::vector<double>& weights) {
  Array y(Shape{});
  for (int64_t i = 0; i < losses.size(); ++i) {
    y[0] += losses[i] *
            (weights.empty() ? 1.0 : weights[static_cast<size_t>(i)]) /
            static_cast<double>(losses.size());
  }
  return y;
}

Array one_hot(const std::vector<int64_t>& labels, int64_t classes) {
  Array y({static_cast<int64_t>(labels.size()), classes});
  for (size_t i = 0; i < labels.size(); ++i) {
    y[static_cast<int64_t>(i) * classes + labels[i]] = 1;
  }
  return y;
}

}  // namespace octet::reference
