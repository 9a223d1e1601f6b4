// Convolutions and matrix products.
#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "node.h"

namespace octet::io::tflite {
namespace {

// Positions of windows along an axis.
struct Axis {
  int64_t input = 0, output = 0, kernel = 1, stride = 1, dilation = 1, pad = 0;
};

Axis axis_of(int64_t input, int64_t kernel, int64_t stride, int64_t dilation,
             schema::Padding padding) {
  Axis axis{input, 0, kernel, stride, dilation, 0};
  const int64_t reach = (kernel - 1) * dilation + 1;
  if (padding == schema::Padding::SAME) {
    axis.output = (input + stride - 1) / stride;
    axis.pad =
        std::max<int64_t>((axis.output - 1) * stride + reach - input, 0) / 2;
  } else {
    axis.output = (input - reach + stride) / stride;
  }
  return axis;
}

void expect_images(const Node& node, const Tensor& x, const Tensor& w) {
  const Shape& s = x.shape();
  const Shape& k = w.shape();
  if (s.rank() == 4 && k.rank() == 4 && x.dtype() != DType::u8) return;
  throw FormatError("invalid_file", node.name,
                    fmt::format("expected images and a kernel of 4 axes, got "
                                "{} and {}",
                                s.to_string(), k.to_string()));
}

template <class Options>
void expect_window(const Node& node, const Options& o) {
  bool fits = o.stride_h > 0 && o.stride_w > 0;
  if constexpr (requires { o.dilation_h; }) {
    fits = fits && o.dilation_h > 0 && o.dilation_w > 0;
  }
  if (fits) return;
  throw FormatError(
      "invalid_file", node.name,
      fmt::format("strides and dilation must be positive, got strides "
                  "{}x{}",
                  o.stride_h, o.stride_w));
}

void expect_bias(const Node& node, size_t bias, int64_t channels) {
  if (!node.has_input(bias) || node.input(bias).size() == channels) return;
  throw FormatError(
      "invalid_file", node.name,
      fmt::format("bias {} for {} output channels",
                  node.input(bias).shape().to_string(), channels));
}

// Sums of int16 activations have 64 bits, unless the bias has 32.
template <class T, class Body>
void by_sum(const Node& node, size_t bias, T /*type*/, const Body& body) {
  if constexpr (std::is_same_v<T, int16_t>) {
    if (!node.has_input(bias) || node.input(bias).dtype() != DType::i32) {
      return body(int64_t{});
    }
  }
  body(int32_t{});
}

// Scales of the output channels, and the bias. Sum: int32_t or int64_t.
template <class T, class Sum>
class Requantization {
 public:
  /// `input` and `bias`: indices of the activation and the bias; weights are
  /// input 1. A dense layer multiplies a single weight scale in float.
  Requantization(const Node& node, size_t input, size_t bias, int64_t channels,
                 bool dense = false)
      : node_(node), out_(node.output_quant()) {
    const std::span<const float> scales = node.scales(1);
    const float in = node.quant(input).scale;
    const auto count = static_cast<size_t>(channels);
    if (scales.size() != 1 && scales.size() != count) {
      throw FormatError("invalid_file", node.name,
                        fmt::format("{} scales for {} output channels",
                                    scales.size(), channels));
    }
    for (size_t c = 0; c < count; ++c) {
      const float scale = scales[scales.size() == 1 ? 0 : c];
      const double product = dense && scales.size() == 1
                                 ? double{in * scale}
                                 : double{in} * double{scale};
      const double m = product / double{out_.scale};
      factors_.push_back(sizeof(Sum) == 8 ? node.factor64(m) : node.factor(m));
      if (dense && sizeof(T) == 2 && node.runtime == TfliteRounding::litert) {
        exact_.push_back(m);
      }
    }
    expect_bias(node, bias, channels);
    if (node.has_input(bias)) bias_ = node.input(bias).data<Sum>();
  }
  T operator()(Sum sum, int64_t channel, IntBounds bounds) const {
    const auto c = static_cast<size_t>(channel);
    if (!bias_.empty()) sum += bias_[c];
    const int32_t value = scaled(sum, c) + out_.zero_point;
    return clamped<T>(value, bounds.low, bounds.high);
  }

 private:
  // LiteRT's dense kernel of int16 values multiplies in float64.
  int32_t scaled(Sum sum, size_t channel) const {
    if (exact_.empty()) return node_.scaled(sum, factors_[channel]);
    return static_cast<int32_t>(
        std::round(static_cast<double>(sum) * exact_[channel]));
  }

  const Node& node_;
  NodeQuant out_;
  std::vector<FixedFactor> factors_;
  std::vector<double> exact_;
  std::span<const Sum> bias_ = {};
};

// Epilogue of float operators: bias and bounds.
class FloatEpilogue {
 public:
  FloatEpilogue(const Node& node, size_t bias, schema::Activation activation,
                int64_t channels)
      : bounds_(float_bounds(activation)) {
    expect_bias(node, bias, channels);
    if (node.has_input(bias)) bias_ = node.input(bias).f32();
  }
  float operator()(float sum, int64_t channel) const {
    if (!bias_.empty()) sum += bias_[static_cast<size_t>(channel)];
    return std::min(std::max(sum, bounds_.low), bounds_.high);
  }

 private:
  FloatBounds bounds_;
  std::span<const float> bias_ = {};
};

struct ConvSizes {
  Axis rows, columns;
  int64_t batch, in, out, group_in, group_out, multiplier;
  bool depthwise;
};

// Sums of products for each output value; T: element, W: weight, S: sum.
template <class S, class T, class W, class Put>
void convolve(const ConvSizes& s, std::span<const T> x, std::span<const W> w,
              S offset, const Put& put) {
  size_t at = 0;
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t i = 0; i < s.rows.output; ++i) {
      for (int64_t j = 0; j < s.columns.output; ++j) {
        for (int64_t o = 0; o < s.out; ++o, ++at) {
          S sum = 0;
          for (int64_t a = 0; a < s.rows.kernel; ++a) {
            const int64_t row =
                i * s.rows.stride + a * s.rows.dilation - s.rows.pad;
            if (row < 0 || row >= s.rows.input) continue;
            for (int64_t b = 0; b < s.columns.kernel; ++b) {
              const int64_t column =
                  j * s.columns.stride + b * s.columns.dilation - s.columns.pad;
              if (column < 0 || column >= s.columns.input) continue;
              const int64_t pixel =
                  ((n * s.rows.input + row) * s.columns.input + column) * s.in;
              const int64_t tap = a * s.columns.kernel + b;
              if (s.depthwise) {
                const auto from = static_cast<size_t>(pixel + o / s.multiplier);
                const auto of = static_cast<size_t>(tap * s.out + o);
                sum += (S{x[from]} + offset) * S{w[of]};
                continue;
              }
              const auto from =
                  static_cast<size_t>(pixel + o / s.group_out * s.group_in);
              const auto of = static_cast<size_t>(
                  (o * s.rows.kernel * s.columns.kernel + tap) * s.group_in);
              for (size_t c = 0; c < static_cast<size_t>(s.group_in); ++c) {
                sum += (S{x[from + c]} + offset) * S{w[of + c]};
              }
            }
          }
          put(at, sum, o);
        }
      }
    }
  }
}

Tensor run_convolution(const Node& node, const ConvSizes& s,
                       schema::Activation activation) {
  const Tensor& x = node.input(0);
  const Tensor& w = node.input(1);
  if (s.rows.output < 1 || s.columns.output < 1) {
    throw FormatError("invalid_file", node.name, "the window does not fit");
  }
  const Shape shape{s.batch, s.rows.output, s.columns.output, s.out};
  node.expect_size(shape);
  Tensor y = Tensor::zeros(shape, x.dtype());
  if (!node.quantized()) {
    const FloatEpilogue epilogue(node, 2, activation, s.out);
    const auto to = y.f32();
    convolve<float>(s, x.f32(), w.f32(), 0.0f,
                    [&](size_t at, float sum, int64_t channel) {
                      to[at] = epilogue(sum, channel);
                    });
    return y;
  }
  const IntBounds bounds = int_bounds(activation, node.output_quant());
  by_integer(x, [&]<class T>(T type) {
    by_sum(node, 2, type, [&]<class Sum>(Sum) {
      const Requantization<T, Sum> requantize(node, 0, 2, s.out);
      const auto to = y.data<T>();
      convolve<Sum>(s, x.data<T>(), w.data<int8_t>(),
                    Sum{-node.quant(0).zero_point},
                    [&](size_t at, Sum sum, int64_t channel) {
                      to[at] = requantize(sum, channel, bounds);
                    });
    });
  });
  return y;
}

}  // namespace

Tensor run_conv(const Node& node) {
  const auto& o = node.options<schema::Conv2DOptionsT>();
  const Shape& x = node.input(0).shape();
  const Shape& w = node.input(1).shape();
  expect_images(node, node.input(0), node.input(1));
  expect_window(node, o);
  if (w[3] < 1 || x[3] % w[3] != 0 || w[0] % (x[3] / w[3]) != 0) {
    throw FormatError("invalid_file", node.name,
                      fmt::format("kernel {} does not fit input {}",
                                  w.to_string(), x.to_string()));
  }
  const int64_t groups = x[3] / w[3];
  return run_convolution(
      node,
      {.rows = axis_of(x[1], w[1], o.stride_h, o.dilation_h, o.padding),
       .columns = axis_of(x[2], w[2], o.stride_w, o.dilation_w, o.padding),
       .batch = x[0],
       .in = x[3],
       .out = w[0],
       .group_in = w[3],
       .group_out = w[0] / groups,
       .multiplier = 1,
       .depthwise = false},
      o.activation);
}

Tensor run_depthwise_conv(const Node& node) {
  const auto& o = node.options<schema::DepthwiseConv2DOptionsT>();
  const Shape& x = node.input(0).shape();
  const Shape& w = node.input(1).shape();
  expect_images(node, node.input(0), node.input(1));
  expect_window(node, o);
  if (x[3] < 1 || w[3] % x[3] != 0) {
    throw FormatError("invalid_file", node.name,
                      fmt::format("kernel {} does not fit input {}",
                                  w.to_string(), x.to_string()));
  }
  return run_convolution(
      node,
      {.rows = axis_of(x[1], w[1], o.stride_h, o.dilation_h, o.padding),
       .columns = axis_of(x[2], w[2], o.stride_w, o.dilation_w, o.padding),
       .batch = x[0],
       .in = x[3],
       .out = w[3],
       .group_in = 1,
       .group_out = 1,
       .multiplier = w[3] / x[3],
       .depthwise = true},
      o.activation);
}

namespace {

// Adds each input pixel, times the kernel, to the outputs.
template <class S, class T, class W>
std::vector<S> scatter(const Node& node, const Shape& y, S offset,
                       std::span<const T> x, std::span<const W> w) {
  const auto& o = node.options<schema::TransposeConvOptionsT>();
  const Shape& s = node.input(2).shape();
  const Shape& k = node.input(1).shape();
  // Padding of the forward convolution, from the output to the input.
  const Axis rows = axis_of(y[1], k[1], o.stride_h, 1, o.padding);
  const Axis columns = axis_of(y[2], k[2], o.stride_w, 1, o.padding);
  std::vector<S> sums(static_cast<size_t>(y.size()), 0);
  for (int64_t n = 0; n < s[0]; ++n) {
    for (int64_t i = 0; i < s[1]; ++i) {
      for (int64_t j = 0; j < s[2]; ++j) {
        for (int64_t a = 0; a < k[1]; ++a) {
          const int64_t row = i * o.stride_h + a - rows.pad;
          if (row < 0 || row >= y[1]) continue;
          for (int64_t b = 0; b < k[2]; ++b) {
            const int64_t column = j * o.stride_w + b - columns.pad;
            if (column < 0 || column >= y[2]) continue;
            for (int64_t out = 0; out < k[0]; ++out) {
              S sum = 0;
              for (int64_t in = 0; in < k[3]; ++in) {
                const auto from = static_cast<size_t>(
                    ((n * s[1] + i) * s[2] + j) * s[3] + in);
                const auto of = static_cast<size_t>(
                    ((out * k[1] + a) * k[2] + b) * k[3] + in);
                sum += (S{x[from]} + offset) * S{w[of]};
              }
              sums[static_cast<size_t>(
                  ((n * y[1] + row) * y[2] + column) * y[3] + out)] += sum;
            }
          }
        }
      }
    }
  }
  return sums;
}

}  // namespace

Tensor run_transpose_conv(const Node& node) {
  const auto& o = node.options<schema::TransposeConvOptionsT>();
  const Tensor& x = node.input(2);
  const Tensor& w = node.input(1);
  expect_images(node, x, w);
  expect_window(node, o);
  const auto sizes = node.input(0).data<int32_t>();
  if (sizes.size() != 4 || sizes[1] < 1 || sizes[2] < 1 ||
      sizes[3] != w.shape()[0] || w.shape()[3] != x.shape()[3]) {
    throw FormatError("invalid_file", node.name, "the output shape is invalid");
  }
  const Shape shape{x.shape()[0], sizes[1], sizes[2], sizes[3]};
  node.expect_size(shape);
  Tensor y = Tensor::zeros(shape, x.dtype());
  const auto channels = static_cast<size_t>(shape[3]);
  if (x.dtype() == DType::f32) {
    const std::vector<float> sums =
        scatter<float>(node, shape, 0.0f, x.f32(), w.f32());
    const FloatEpilogue epilogue(node, 3, o.activation, shape[3]);
    for (size_t i = 0; i < sums.size(); ++i) {
      y.f32()[i] = epilogue(sums[i], static_cast<int64_t>(i % channels));
    }
    return y;
  }
  const IntBounds bounds = int_bounds(o.activation, node.output_quant());
  by_integer(x, [&]<class T>(T type) {
    by_sum(node, 3, type, [&]<class Sum>(Sum) {
      const std::vector<Sum> sums =
          scatter<Sum>(node, shape, Sum{-node.quant(2).zero_point}, x.data<T>(),
                       w.data<int8_t>());
      const Requantization<T, Sum> requantize(node, 2, 3, shape[3]);
      for (size_t i = 0; i < sums.size(); ++i) {
        y.data<T>()[i] =
            requantize(sums[i], static_cast<int64_t>(i % channels), bounds);
      }
    });
  });
  return y;
}

Tensor run_fully_connected(const Node& node) {
  const auto& o = node.options<schema::FullyConnectedOptionsT>();
  const Tensor& x = node.input(0);
  const Tensor& w = node.input(1);
  const int64_t depth = w.shape().rank() == 2 ? w.shape()[1] : 0;
  if (depth < 1 || x.size() % depth != 0) {
    throw FormatError(
        "invalid_file", node.name,
        fmt::format("weights {} do not fit input {}", w.shape().to_string(),
                    x.shape().to_string()));
  }
  const int64_t units = w.shape()[0];
  const int64_t rows = x.size() / depth;
  const Shape shape =
      o.keep_num_dims ? x.shape().with(-1, units) : Shape{rows, units};
  Tensor y = Tensor::zeros(shape, x.dtype());
  const auto dot = [&]<class T, class W, class S>(std::span<const T> a,
                                                  std::span<const W> b,
                                                  S offset, const auto& put) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t u = 0; u < units; ++u) {
        S sum = 0;
        for (int64_t d = 0; d < depth; ++d) {
          sum += (S{a[static_cast<size_t>(r * depth + d)]} + offset) *
                 S{b[static_cast<size_t>(u * depth + d)]};
        }
        put(static_cast<size_t>(r * units + u), sum, u);
      }
    }
  };
  if (!node.quantized()) {
    const FloatEpilogue epilogue(node, 2, o.activation, units);
    dot(x.f32(), w.f32(), 0.0f, [&](size_t at, float sum, int64_t u) {
      y.f32()[at] = epilogue(sum, u);
    });
    return y;
  }
  const IntBounds bounds = int_bounds(o.activation, node.output_quant());
  by_integer(x, [&]<class T>(T type) {
    by_sum(node, 2, type, [&]<class Sum>(Sum) {
      const Requantization<T, Sum> requantize(node, 0, 2, units, true);
      dot(x.data<T>(), w.data<int8_t>(), Sum{-node.quant(0).zero_point},
          [&](size_t at, Sum sum, int64_t u) {
            y.data<T>()[at] = requantize(sum, u, bounds);
          });
    });
  });
  return y;
}

}  // namespace octet::io::tflite
