// Normalization, and Dropout in inference. Statistics are computed in double.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <octet/runtime/parallel.h>

#include "channels.h"
#include "operators.h"
#include "strided_iterator.h"

namespace octet::io::run {
namespace {

constexpr int64_t kTrainingMode = 14;  // first opset with training_mode
constexpr int64_t kNoIsTest = 7;       // first opset without is_test

struct Statistics {
  double mean = 0;
  double variance = 0;  // of the population
};

// Statistics of `runs` runs of `count` values, `stride` apart.
Statistics statistics_of(const float* x, int64_t runs, int64_t count,
                         int64_t stride) {
  const auto total = static_cast<double>(runs * count);
  Statistics s;
  for (int64_t r = 0; r < runs; ++r) {
    for (int64_t i = 0; i < count; ++i) s.mean += x[r * stride + i];
  }
  s.mean /= total;
  for (int64_t r = 0; r < runs; ++r) {
    for (int64_t i = 0; i < count; ++i) {
      const double difference = x[r * stride + i] - s.mean;
      s.variance += difference * difference;
    }
  }
  s.variance /= total;
  return s;
}

// Returns input i, which must have a number for each channel.
const float* per_channel(const NodeContext& context, size_t i,
                         int64_t channels) {
  if (context.input(i).size() != channels) {
    context.refuse(fmt::format("input {} must have {} values, got {}", i,
                               channels, context.input(i).shape().to_string()));
  }
  return context.input(i).f32().data();
}

Channels image_channels(const NodeContext& context, const Tensor& x) {
  if (x.shape().rank() < 2) {
    context.refuse("input must be [n,c,...], got " + x.shape().to_string());
  }
  return {x.shape()[0], x.shape()[1],
          x.shape().slice(2, x.shape().rank()).size()};
}

// (x - mean) / sqrt(variance + epsilon) * scale + bias.
struct Affine {
  float mean, root, scale, bias;
  void operator()(const float* x, float* y, int64_t count) const {
    for (int64_t i = 0; i < count; ++i) {
      y[i] = (x[i] - mean) / root * scale + bias;
    }
  }
};

float root_of(double variance, float epsilon) {
  return static_cast<float>(std::sqrt(variance + epsilon));
}

// Normalizes with the statistics of the batch and updates running statistics.
Values train_batch_normalization(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Channels channels = image_channels(context, x);
  const float epsilon = context.number("epsilon", 1e-5f);
  const float momentum = context.number("momentum", 0.9f);
  const float* scale = per_channel(context, 1, channels.count);
  const float* bias = per_channel(context, 2, channels.count);
  const float* mean = per_channel(context, 3, channels.count);
  const float* variance = per_channel(context, 4, channels.count);
  Tensor y = context.make(dims_of(x), DType::f32);
  Tensor means = context.make({channels.count}, DType::f32);
  Tensor variances = context.make({channels.count}, DType::f32);
  const int64_t stride = channels.count * channels.inner;
  for (int64_t c = 0; c < channels.count; ++c) {
    const float* from = x.f32().data() + c * channels.inner;
    const Statistics s =
        statistics_of(from, channels.outer, channels.inner, stride);
    const Affine affine{static_cast<float>(s.mean),
                        root_of(s.variance, epsilon), scale[c], bias[c]};
    for (int64_t n = 0; n < channels.outer; ++n) {
      affine(from + n * stride,
             y.f32().data() + c * channels.inner + n * stride, channels.inner);
    }
    const auto running = [momentum](float before, double now) {
      return before * momentum + static_cast<float>(now) * (1 - momentum);
    };
    const auto at = static_cast<size_t>(c);
    means.f32()[at] = running(mean[c], s.mean);
    variances.f32()[at] = running(variance[c], s.variance);
  }
  return {y, means, variances};
}

// Normalizes groups of channels by their own statistics, with `scales` scales
// and biases over all channels.
Values normalized_groups(const NodeContext& context, int64_t groups,
                         int64_t scales) {
  const Tensor& x = context.input(0);
  const Channels channels = image_channels(context, x);
  const int64_t each = channels.count / std::max<int64_t>(groups, 1);
  const int64_t channels_each = channels.count / std::max<int64_t>(scales, 1);
  const float epsilon = context.number("epsilon", 1e-5f);
  const float* scale = per_channel(context, 1, scales);
  const float* bias = per_channel(context, 2, scales);
  Tensor y = context.make(dims_of(x), DType::f32);
  const float* from = x.f32().data();
  float* to = y.f32().data();
  parallel_for(channels.outer * groups, [&](int64_t i) {
    const int64_t first = i * each * channels.inner;
    const Statistics s =
        statistics_of(from + first, 1, each * channels.inner, 0);
    const float root = root_of(s.variance, epsilon);
    for (int64_t k = 0; k < each; ++k) {
      const int64_t at = (i % groups * each + k) / channels_each;
      const int64_t start = first + k * channels.inner;
      Affine{static_cast<float>(s.mean), root, scale[at], bias[at]}(
          from + start, to + start, channels.inner);
    }
  });
  return {y};
}

}  // namespace

Values batch_normalization(const NodeContext& context) {
  if (context.integer("training_mode", 0) != 0) {
    return train_batch_normalization(context);
  }
  if (context.opset() < kTrainingMode &&
      (context.output_count() > 1 ||
       (context.opset() < kNoIsTest && context.integer("is_test", 0) == 0))) {
    context.unsupported("training mode is not supported");
  }
  if (context.integer("spatial", 1) == 0) {
    context.unsupported("spatial must be 1, got 0");
  }
  const Tensor& x = context.input(0);
  const Channels channels = image_channels(context, x);
  const float epsilon = context.number("epsilon", 1e-5f);
  const float* scale = per_channel(context, 1, channels.count);
  const float* bias = per_channel(context, 2, channels.count);
  const float* mean = per_channel(context, 3, channels.count);
  const float* variance = per_channel(context, 4, channels.count);
  Tensor y = context.make(dims_of(x), DType::f32);
  const float* from = x.f32().data();
  float* to = y.f32().data();
  parallel_for(channels.outer * channels.count, [&](int64_t i) {
    const int64_t c = i % channels.count;
    Affine{mean[c], root_of(variance[c], epsilon), scale[c], bias[c]}(
        from + i * channels.inner, to + i * channels.inner, channels.inner);
  });
  return {y};
}

Values instance_normalization(const NodeContext& context) {
  const int64_t channels = image_channels(context, context.input(0)).count;
  return normalized_groups(context, channels, channels);
}

// Scale and bias are per group before opset 21 and per channel since then.
Values group_normalization(const NodeContext& context) {
  constexpr int64_t kPerChannel = 21;
  const int64_t channels = image_channels(context, context.input(0)).count;
  const int64_t groups = context.integer("num_groups", 0);
  if (groups < 1 || channels % groups != 0) {
    context.refuse(
        fmt::format("num_groups must divide {}, got {}", channels, groups));
  }
  return normalized_groups(context, groups,
                           context.opset() >= kPerChannel ? channels : groups);
}

// x divided by its root mean square, times a scale that broadcasts to x.
Values rms_normalization(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const int rank = x.shape().rank();
  const int axis = context.axis(context.integer("axis", -1), rank);
  const float epsilon = context.number("epsilon", 1e-5f);
  const int64_t width = x.shape().slice(axis, rank).size();
  Tensor y = context.make(dims_of(x), DType::f32);
  const float* from = x.f32().data();
  float* to = y.f32().data();
  parallel_for(x.shape().slice(0, axis).size(), [&](int64_t row) {
    double sum = 0;
    for (int64_t i = row * width; i < (row + 1) * width; ++i) {
      sum += double{from[i]} * double{from[i]};
    }
    const float root = root_of(sum / static_cast<double>(width), epsilon);
    for (int64_t i = row * width; i < (row + 1) * width; ++i) {
      to[i] = from[i] / root;
    }
  });
  Tensor scaled = combine<float, float, float>(
      context, y, context.input(1), [](float a, float b) { return a * b; });
  if (scaled.shape() != x.shape()) {
    context.refuse(fmt::format("scale must broadcast to {}, got {}",
                               x.shape().to_string(),
                               context.input(1).shape().to_string()));
  }
  return {scaled};
}

Values layer_normalization(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const int rank = x.shape().rank();
  const int axis = context.axis(context.integer("axis", -1), rank);
  const float epsilon = context.number("epsilon", 1e-5f);
  const int64_t rows = x.shape().slice(0, axis).size();
  const int64_t width = x.shape().slice(axis, rank).size();
  const float* scale = per_channel(context, 1, width);
  const float* bias =
      context.has_input(2) ? per_channel(context, 2, width) : nullptr;
  Dims kept = dims_of(x);
  for (int d = axis; d < rank; ++d) kept[static_cast<size_t>(d)] = 1;
  Tensor y = context.make(dims_of(x), DType::f32);
  Tensor means = context.make(kept, DType::f32);
  Tensor inverses = context.make(kept, DType::f32);
  const float* from = x.f32().data();
  float* to = y.f32().data();
  parallel_for(rows, [&](int64_t row) {
    const float* source = from + row * width;
    float* target = to + row * width;
    const Statistics s = statistics_of(source, 1, width, 0);
    const auto mean = static_cast<float>(s.mean);
    const float inverse = 1 / root_of(s.variance, epsilon);
    for (int64_t i = 0; i < width; ++i) {
      target[i] = (source[i] - mean) * inverse * scale[i];
      if (bias != nullptr) target[i] += bias[i];
    }
    means.f32()[static_cast<size_t>(row)] = mean;
    inverses.f32()[static_cast<size_t>(row)] = inverse;
  });
  return {y, means, inverses};
}

// x divided by a power of the sum of squares of neighboring channels.
Values local_response_normalization(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Channels channels = image_channels(context, x);
  const int64_t size = context.integer("size", 0);
  if (size < 1) {
    context.refuse(fmt::format("size must be positive, got {}", size));
  }
  const double alpha = context.number("alpha", 1e-4f);
  const double beta = context.number("beta", 0.75f);
  const double bias = context.number("bias", 1);
  const int64_t before = std::min((size - 1) / 2, channels.count);
  const int64_t after = std::min(size / 2, channels.count);
  Tensor y = context.make(dims_of(x), DType::f32);
  const float* from = x.f32().data();
  float* to = y.f32().data();
  channels.for_each([&](int64_t c, int64_t first) {
    const int64_t low = std::max<int64_t>(c - before, 0) - c;
    const int64_t high = std::min(c + after, channels.count - 1) - c;
    for (int64_t i = first; i < first + channels.inner; ++i) {
      double sum = 0;
      for (int64_t k = low; k <= high; ++k) {
        const double value = from[i + k * channels.inner];
        sum += value * value;
      }
      to[i] = static_cast<float>(
          from[i] /
          std::pow(bias + alpha / static_cast<double>(size) * sum, beta));
    }
  });
  return {y};
}

// Identity: the mask is all ones. Newer opsets have a boolean mask.
Values dropout(const NodeContext& context) {
  constexpr int64_t kBooleanMask = 10, kInputs = 12;
  const Tensor& x = context.input(0);
  const bool training = context.opset() < kNoIsTest
                            ? context.integer("is_test", 0) == 0
                            : context.opset() >= kInputs &&
                                  context.has_input(2) &&
                                  scalar<bool>(context, 2);
  if (training) {
    context.unsupported("training mode is not supported");
  }
  if (!context.wants(1)) return {x};
  Tensor mask = context.make(
      dims_of(x), context.opset() < kBooleanMask ? x.dtype() : DType::boolean);
  visit<bool, float>(context, mask.dtype(), [&]<class T>(T) {
    for (T& kept : mask.data<T>()) kept = T{1};
  });
  return {x, mask};
}

}  // namespace octet::io::run
