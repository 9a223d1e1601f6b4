#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

#include "autograd/channel_sums.h"

namespace octet {
namespace {

using autograd::Engine;
using autograd::Gradient;
using autograd::Node;
using autograd::Term;

void add_over_parts(std::initializer_list<std::vector<double>*> lists) {
  CrossShardReduction* const parts = cross_shard_reduction();
  if (parts == nullptr) return;
  std::vector<double> all;
  for (const auto* list : lists) {
    all.insert(all.end(), list->begin(), list->end());
  }
  parts->sum(all);
  auto at = all.begin();
  for (auto* list : lists) {
    std::copy_n(at, list->size(), list->begin());
    at += std::ssize(*list);
  }
}

// Computes a*z + b with a = gamma/sqrt(variance + epsilon) and b = beta -
// mean*a. With batch statistics the gradient of z is
//   a * (g - mean(g) - zhat * mean(g*zhat)),  zhat = (z - mean) * rstd,
// delivered deferred, as ca*g + cb*z + cc per channel.
// Source: Ioffe and Szegedy, "Batch Normalization", ICML 2015, section 3.
// In a sharded batch, the statistics and both means are of the whole batch;
// the gradients of gamma and beta are per shard.
struct BatchNormNode final : Node {
  using Node::Node;

  void backward(Engine& engine) override {
    autograd::ChannelSums s =
        autograd::channel_sums(Engine::collect(*this), z.now());
    if (s.g.empty() && batch_statistics && cross_shard_reduction() != nullptr) {
      // This shard's gradient is zero; the sums add the other shards.
      s = {.g = Tensor::zeros(shape),
           .sum = std::vector<double>(mean.size()),
           .sum_z = std::vector<double>(mean.size())};
    }
    Gradient dx;
    Tensor dgamma;
    Tensor dbeta;
    if (!s.g.empty()) {
      if (batch_statistics || gamma != nullptr) (void)z.read();
      const Shape channels{static_cast<int64_t>(mean.size())};
      Tensor ca(channels), cb(channels), cc(channels);
      dgamma = Tensor(channels);
      dbeta = Tensor(channels);
      const auto normalized = [&](size_t k) {
        return rstd[k] * (s.sum_z[k] - mean[k] * s.sum[k]);
      };
      for (size_t k = 0; k < mean.size(); ++k) {
        dgamma.f32()[k] = static_cast<float>(normalized(k));
        dbeta.f32()[k] = static_cast<float>(s.sum[k]);
      }
      // Subtracting the mean cancels constants: the sums of dx are zero, or
      // NaN.
      std::vector<double> totals;
      if (!batch_statistics || cross_shard_reduction() == nullptr) {
        for (size_t k = 0; k < mean.size(); ++k) {
          const double none = 0 * std::abs(s.sum[k] + s.sum_z[k]);
          totals.push_back(batch_statistics ? none
                                            : scale[k] * rstd[k] * s.sum[k]);
        }
      }
      if (batch_statistics) add_over_parts({&s.sum, &s.sum_z});
      for (size_t k = 0; k < mean.size(); ++k) {
        const double a = scale[k] * rstd[k];
        const double gz = rstd[k] * normalized(k) / count;
        ca.f32()[k] = static_cast<float>(a);
        cb.f32()[k] = static_cast<float>(-a * gz);
        cc.f32()[k] = static_cast<float>(a * (mean[k] * gz - s.sum[k] / count));
      }
      dx = autograd::plain_gradient(s.g);
      dx.totals = std::move(totals);
      dx.value.first.a = ca;
      if (batch_statistics) {
        dx.value.first.b = cc;
        Term through_z;
        through_z.t = z;
        through_z.a = cb;
        dx.value.second = through_z;
      }
    }
    engine.deliver(x, std::move(dx));
    engine.deliver(gamma, autograd::plain_gradient(dgamma));
    engine.deliver(beta, autograd::plain_gradient(dbeta));
  }
  void release() override { z = {}; }

  Node* x = nullptr;
  Node* gamma = nullptr;
  Node* beta = nullptr;
  autograd::SavedTensor z;
  std::vector<double> mean, rstd, scale;
  double count = 1;  // elements per channel, in the whole batch
  bool batch_statistics = false;
};

struct Moments {
  std::vector<double> mean, variance;
  double count = 1;  // elements per channel; batch statistics only
};

void check(const Variable& x, const Variable& gamma, const Variable& beta,
           size_t means, size_t variances, float epsilon) {
  if (x.shape().rank() < 2) {
    throw ShapeError(
        "invalid_shape", "batch_norm",
        fmt::format("needs at least 2 axes, got {}", x.shape().to_string()));
  }
  const Shape channels{x.shape()[-1]};
  const auto fits = [&](const char* what, const Shape& shape) {
    if (shape != channels) {
      throw ShapeError("shape_mismatch", "batch_norm",
                       fmt::format("{} must have shape {}, got {}", what,
                                   channels.to_string(), shape.to_string()));
    }
  };
  if (gamma) fits("gamma", gamma.shape());
  if (beta) fits("beta", beta.shape());
  fits("mean", {static_cast<int64_t>(means)});
  fits("variance", {static_cast<int64_t>(variances)});
  if (!(epsilon > 0)) {
    throw ValueError("out_of_range", "batch_norm",
                     fmt::format("epsilon must be positive, got {}", epsilon));
  }
}

// The normalized input t + b, with sums of t if a linear op computed them. The
// bias is not added: it only shifts the mean.
Term input_of(const Variable& x) {
  Node& node = *x.node();
  if (autograd::eager()) {
    return autograd::expression_of(autograd::value_of(node), &node).first;
  }
  const autograd::Expression* own = node.expression();
  // Even if the biased value has been computed: the sums are over t.
  const bool biased = own != nullptr && own->affine() && own->first.a.empty() &&
                      !own->first.b.empty();
  return biased ? own->first : node.term();
}

// Means of body(value, channel) over some channels, in double precision: chunks
// of images in parallel, added in order.
template <class Body>
void channel_means(const Tensor& z, const std::vector<size_t>& channels,
                   const Body& body, std::vector<double>& means) {
  const autograd::ImageShape images(z.shape());
  const size_t count = channels.size();
  std::vector<double> partial(static_cast<size_t>(chunk_count(images.n)) *
                              count);
  const float* values = z.f32().data();
  parallel_chunks(images.n, [&](int64_t first, int64_t last, int64_t chunk) {
    double* sums = partial.data() + static_cast<size_t>(chunk) * count;
    const float* at = values + first * images.size();
    const float* end = values + last * images.size();
    for (; at < end; at += images.c) {
      for (size_t i = 0; i < count; ++i) {
        sums[i] += body(at[channels[i]], channels[i]);
      }
    }
  });
  const double pixels =
      static_cast<double>(z.size()) / static_cast<double>(images.c);
  for (size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (size_t j = i; j < partial.size(); j += count) sum += partial[j];
    means[channels[i]] = sum / pixels;
  }
}

void find_in_two_passes(const Tensor& z, const std::vector<size_t>& channels,
                        Moments& m) {
  channel_means(
      z, channels, [](float v, size_t) { return double{v}; }, m.mean);
  channel_means(
      z, channels,
      [&](float v, size_t k) {
        const double d = v - m.mean[k];
        return d * d;
      },
      m.variance);
}

// Moments of z, with biased variance. The epilogue's sums are single precision
// within an image: if the mean is so large that the variance cancels, z is read
// in a second pass.
Moments batch_moments(const Tensor& z, const Tensor& sums) {
  const size_t c = static_cast<size_t>(z.shape()[-1]);
  const double count = static_cast<double>(z.size()) / static_cast<double>(c);
  Moments m{.mean = std::vector<double>(c), .variance = std::vector<double>(c)};
  std::vector<size_t> again;
  if (sums.empty()) {
    again.resize(c);
    std::iota(again.begin(), again.end(), size_t{0});
    find_in_two_passes(z, again, m);
    return m;
  }
  const float* at = sums.f32().data();
  for (int64_t n = 0; n < sums.shape()[0]; ++n, at += 2 * c) {
    for (size_t k = 0; k < c; ++k) {
      m.mean[k] += at[k];
      m.variance[k] += at[c + k];
    }
  }
  for (size_t k = 0; k < c; ++k) {
    m.mean[k] /= count;
    const double square = m.mean[k] * m.mean[k];
    m.variance[k] = m.variance[k] / count - square;
    if (m.variance[k] < 1e-3 * square) again.push_back(k);
  }
  if (!again.empty()) find_in_two_passes(z, again, m);
  return m;
}

// Combines the moments of all shards. Sums of squares in double are precise
// enough: a variance lost beside a float's square is below float rounding.
void merge_parts(Moments& m) {
  if (cross_shard_reduction() == nullptr) return;
  std::vector<double> count{m.count};
  for (size_t k = 0; k < m.mean.size(); ++k) {
    m.variance[k] = m.count * (m.variance[k] + m.mean[k] * m.mean[k]);
    m.mean[k] *= m.count;
  }
  add_over_parts({&count, &m.mean, &m.variance});
  m.count = count[0];
  for (size_t k = 0; k < m.mean.size(); ++k) {
    m.mean[k] /= m.count;
    m.variance[k] =
        std::max(0.0, m.variance[k] / m.count - m.mean[k] * m.mean[k]);
  }
}

Variable normalize(const Variable& x, const Term& input, const Variable& gamma,
                   const Variable& beta, const Moments& moments, float epsilon,
                   bool batch_statistics) {
  const size_t c = moments.mean.size();
  auto node = std::make_shared<BatchNormNode>("batch_norm", x.shape());
  node->depend_on(x.node());
  if (gamma) node->depend_on(gamma.node());
  if (beta) node->depend_on(beta.node());
  node->mean = moments.mean;
  node->count = moments.count;
  node->rstd.resize(c);
  node->scale.assign(c, 1.0);
  node->batch_statistics = batch_statistics;

  const Tensor& z = input.t.read();
  autograd::Expression e = autograd::expression_of(z, node.get());
  e.first.source = input.source;
  e.first.a = Tensor({static_cast<int64_t>(c)});
  e.first.b = Tensor({static_cast<int64_t>(c)});
  for (size_t k = 0; k < c; ++k) {
    node->rstd[k] = 1 / std::sqrt(moments.variance[k] + epsilon);
    if (gamma) node->scale[k] = gamma.value().f32()[k];
    const double shift = beta ? beta.value().f32()[k] : 0.0f;
    const double a = node->scale[k] * node->rstd[k];
    e.first.a.f32()[k] = static_cast<float>(a);
    e.first.b.f32()[k] = static_cast<float>(shift - moments.mean[k] * a);
  }
  if (node->needs_grad) {
    const auto target = [](const Variable& v) {
      return v && v.requires_grad() ? v.node().get() : nullptr;
    };
    node->x = target(x);
    node->gamma = target(gamma);
    node->beta = target(beta);
    node->z = z;
  } else {
    e.first.target = nullptr;
  }
  return autograd::wrap("batch_norm", std::move(e));
}

}  // namespace

Variable batch_norm(const Variable& x, const Variable& gamma,
                    const Variable& beta, const Tensor& mean,
                    const Tensor& variance, float epsilon) {
  const auto m = mean.f32();
  const auto v = variance.f32();
  check(x, gamma, beta, m.size(), v.size(), epsilon);
  for (const float value : v) {
    if (value < 0) {
      throw ValueError(
          "out_of_range", "batch_norm",
          fmt::format("variance must not be negative, got {}", value));
    }
  }
  Moments moments{.mean = {m.begin(), m.end()},
                  .variance = {v.begin(), v.end()}};
  const Term input = input_of(x);
  if (!input.b.empty()) {  // t + b - mean = t - (mean - b)
    const auto shift = input.b.f32();
    for (size_t k = 0; k < shift.size(); ++k) moments.mean[k] -= shift[k];
  }
  return normalize(x, input, gamma, beta, moments, epsilon, false);
}

Variable batch_norm_training(const Variable& x, const Variable& gamma,
                             const Variable& beta, std::span<float> moving_mean,
                             std::span<float> moving_variance, float momentum,
                             float epsilon) {
  check(x, gamma, beta, moving_mean.size(), moving_variance.size(), epsilon);
  if (!(momentum >= 0 && momentum <= 1)) {
    throw ValueError(
        "out_of_range", "batch_norm",
        fmt::format("momentum must be in [0,1], got {}", momentum));
  }
  if (x.shape().size() == 0) {
    throw ShapeError(
        "invalid_shape", "batch_norm",
        fmt::format("needs at least 1 sample, got {}", x.shape().to_string()));
  }
  const Term input = input_of(x);
  const Tensor& z = input.t.read();
  Moments moments = batch_moments(z, input.statistics);
  moments.count =
      static_cast<double>(z.size()) / static_cast<double>(moments.mean.size());
  merge_parts(moments);
  const auto shift = input.b.empty() ? std::span<const float>() : input.b.f32();
  const double keep = momentum;
  const CrossShardReduction* const parts = cross_shard_reduction();
  const bool moves = parts == nullptr || parts->first();
  for (size_t k = 0; moves && k < moments.mean.size(); ++k) {
    // The loss reports non-finite values; the statistics skip them.
    if (!std::isfinite(moments.mean[k] + moments.variance[k])) continue;
    const double batch_mean = moments.mean[k] + (shift.empty() ? 0 : shift[k]);
    float& mean = moving_mean[k];
    float& variance = moving_variance[k];
    mean = static_cast<float>(keep * mean + (1 - keep) * batch_mean);
    variance =
        static_cast<float>(keep * variance + (1 - keep) * moments.variance[k]);
  }
  return normalize(x, input, gamma, beta, moments, epsilon, true);
}

}  // namespace octet
