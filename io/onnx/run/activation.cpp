// Activation functions.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include <octet/runtime/parallel.h>

#include "../tensors.h"
#include "map.h"
#include "operators.h"

namespace octet::io::run {
namespace {

constexpr int64_t kSoftmaxAxis = 13;  // first opset with a single axis

// Sizes before, along and after the normalized axes.
struct Runs {
  int64_t outer = 1;
  int64_t length = 1;
  int64_t inner = 1;
};

Runs softmax_runs(const NodeContext& context, const Shape& shape) {
  const bool one_axis = context.opset() >= kSoftmaxAxis;
  const int axis =
      context.axis(context.integer("axis", one_axis ? -1 : 1), shape.rank());
  Runs runs;
  for (int d = 0; d < shape.rank(); ++d) {
    int64_t& part = d < axis                 ? runs.outer
                    : d == axis || !one_axis ? runs.length
                                             : runs.inner;
    part *= shape[d];
  }
  return runs;
}

// Calls body(from, to, length, stride) for each run.
template <class Body>
Tensor for_each_run(const NodeContext& context, Body body) {
  const Tensor& x = context.input(0);
  Tensor y = context.make(dims_of(x), DType::f32);
  const Runs runs = softmax_runs(context, x.shape());
  const float* from = x.f32().data();
  float* to = y.f32().data();
  if (y.size() == 0) return y;
  parallel_chunks(
      runs.outer * runs.inner, [&](int64_t first, int64_t last, int64_t) {
        for (int64_t i = first; i < last; ++i) {
          const int64_t at =
              i / runs.inner * runs.length * runs.inner + i % runs.inner;
          body(from + at, to + at, runs.length, runs.inner);
        }
      });
  return y;
}

float largest(const float* x, int64_t length, int64_t stride) {
  float largest = x[0];
  for (int64_t i = 1; i < length; ++i) {
    largest = std::max(largest, x[i * stride]);
  }
  return largest;
}

Values leaky_relu(const NodeContext& context) {
  const float alpha = context.number("alpha", 0.01f);
  return map_floats(context, [=](float x) { return x < 0 ? alpha * x : x; });
}

Values elu(const NodeContext& context) {
  const float alpha = context.number("alpha", 1);
  return map_floats(context,
                    [=](float x) { return x < 0 ? alpha * std::expm1(x) : x; });
}

Values selu(const NodeContext& context) {
  const float alpha = context.number("alpha", 1.67326319217681884765625f);
  const float gamma = context.number("gamma", 1.05070102214813232421875f);
  return map_floats(context, [=](float x) {
    return gamma * (x < 0 ? alpha * std::expm1(x) : x);
  });
}

Values hard_sigmoid(const NodeContext& context) {
  const float alpha = context.number("alpha", 0.2f);
  const float beta = context.number("beta", 0.5f);
  return map_floats(context, [=](float x) {
    return std::clamp(alpha * x + beta, 0.0f, 1.0f);
  });
}

// x * P(X < x) of the normal distribution, or its tanh approximation.
Values gelu(const NodeContext& context) {
  const std::string approximate = context.text("approximate", "none");
  if (approximate == "none") {
    return map_floats(context, [](float x) {
      const double z = x;
      return static_cast<float>(0.5 * z * (1 + std::erf(z / std::sqrt(2.0))));
    });
  }
  if (approximate != "tanh") {
    context.refuse("approximate must be none or tanh, got '" +
                   printable(approximate) + "'");
  }
  return map_floats(context, [](float x) {
    const double z = x;
    const double inner =
        std::sqrt(2 / std::numbers::pi) * (z + 0.044715 * z * z * z);
    return static_cast<float>(0.5 * z * (1 + std::tanh(inner)));
  });
}

Values swish(const NodeContext& context) {
  const float alpha = context.number("alpha", 1);
  return map_floats(context,
                    [=](float x) { return x / (1 + std::exp(-alpha * x)); });
}

Values softmax(const NodeContext& context) {
  return {for_each_run(
      context, [](const float* x, float* y, int64_t length, int64_t stride) {
        const float top = largest(x, length, stride);
        double sum = 0;
        for (int64_t i = 0; i < length; ++i) {
          sum += y[i * stride] = std::exp(x[i * stride] - top);
        }
        for (int64_t i = 0; i < length; ++i) {
          y[i * stride] = static_cast<float>(y[i * stride] / sum);
        }
      })};
}

Values log_softmax(const NodeContext& context) {
  return {for_each_run(
      context, [](const float* x, float* y, int64_t length, int64_t stride) {
        const float top = largest(x, length, stride);
        double sum = 0;
        for (int64_t i = 0; i < length; ++i)
          sum += std::exp(x[i * stride] - top);
        const auto log_sum = static_cast<float>(std::log(sum));
        for (int64_t i = 0; i < length; ++i) {
          y[i * stride] = x[i * stride] - top - log_sum;
        }
      })};
}

// log(1 + e^x) without overflow.
template <class T>
T softplus(T x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

float mish(float x) {
  const double z = x;
  return static_cast<float>(z * std::tanh(softplus(z)));
}

}  // namespace

Operators activation_operators() {
  static constexpr NamedOperator kOperators[] = {
      {"Relu", of_numbers<[]<class T>(T x) { return x < T{} ? T{} : x; }>},
      {"LeakyRelu", leaky_relu},
      {"Elu", elu},
      {"Selu", selu},
      {"Sigmoid", of_floats<[](float x) { return 1 / (1 + std::exp(-x)); }>},
      {"HardSigmoid", hard_sigmoid},
      {"HardSwish", of_floats<[](float x) {
         return x * std::clamp(x / 6 + 0.5f, 0.0f, 1.0f);
       }>},
      {"Gelu", gelu},
      {"Mish", of_floats<mish>},
      {"Swish", swish},
      {"Tanh", of_floats<[](float x) { return std::tanh(x); }>},
      {"Softplus", of_floats<softplus<float>>},
      {"Softsign", of_floats<[](float x) { return x / (1 + std::fabs(x)); }>},
      {"Softmax", softmax},
      {"LogSoftmax", log_softmax},
  };
  return kOperators;
}

}  // namespace octet::io::run
