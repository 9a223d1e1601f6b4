// Compares programs with the captured ops: bit-identical on every instruction
// set.
#pragma once

#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/detail/program_capture.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/program.h>
#include <octet/runtime/system.h>

#include "../support.h"
#include "every_isa.h"

namespace octet::programs {

using Net = std::function<Variable(const Variable&)>;

class Programs : public EveryIsa {};

inline Program capture(const Net& net, const Shape& sample) {
  const NoGradGuard no_grad;
  ProgramCapture capture;
  const Variable x = capture.input(sample);
  const Program::Function run = [net](std::span<const Variable> in) {
    return net(in[0]);
  };
  const Variable y = capture.call("net", {&x, 1}, run, [&] { return run; });
  return capture.finish({&y, 1});
}

inline int count(const Program& program, const std::string& op) {
  int result = 0;
  for (const ProgramStep& step : program.steps()) result += step.op == op;
  return result;
}

// Compares for a single sample, a few, and more than a chunk.
inline void expect_same(const Net& net, const Shape& sample, int evaluations) {
  const Program program = capture(net, sample);
  EXPECT_EQ(count(program, "call"), 0);
  EXPECT_EQ(count(program, "evaluate"), evaluations);
  for (const int64_t n : {1, 3, 21}) {
    SCOPED_TRACE(n);
    Tensor x = noise(sample.with(0, n), 7);
    for (float& v : x.f32()) v *= 3;
    Tensor expected;
    {
      const NoGradGuard no_grad;
      expected = net(Variable(x)).value();
    }
    Tensor y(expected.shape());
    ASSERT_TRUE(program.run({&x, 1}, {&y, 1}));
    EXPECT_EQ(bits(y), bits(expected));
  }
}

// Compares with 1, 2 and 3 threads.
inline void expect_same_for_threads(const Net& net, const Shape& sample,
                                    int evaluations) {
  const int before = num_threads();
  for (const int threads : {1, 2, 3}) {
    SCOPED_TRACE(testing::Message() << threads << " threads");
    set_num_threads(threads);
    expect_same(net, sample, evaluations);
  }
  set_num_threads(before);
}

inline QuantParams qparams(float scale, int low = -128, int high = 127) {
  return {.scale = Tensor::scalar(scale), .low = low, .high = high};
}

// Signed, unsigned, and with various zero points.
struct Range {
  int low, high;
};
inline constexpr Range kRanges[] = {
    {-128, 127}, {0, 255}, {-200, 55}, {-255, 0}, {-60, 195}};

inline QuantParams channel_qparams(int64_t channels, int axis = 3) {
  Tensor scale = noise({channels}, 5);
  for (float& v : scale.f32()) v = 0.01f + 0.005f * v;
  return {.scale = scale, .axis = axis};
}

inline Variable weight(const Shape& shape, uint64_t seed = 2) {
  return Variable(noise(shape, seed));
}

inline Variable norm(const Variable& x, uint64_t seed = 11) {
  const Shape c{x.shape()[-1]};
  Tensor variance = noise(c, seed);
  for (float& v : variance.f32()) v = 1 + 0.5f * v;
  return batch_norm(x, weight(c, seed + 1), weight(c, seed + 2),
                    noise(c, seed + 3), variance, 1e-3f);
}

// A convolution of quantized values.
inline Net quantized_conv(const Variable& w, const QuantParams& of_x,
                          const WindowOptions& options = {.pads = 1}) {
  return [=](const Variable& x) {
    return conv2d(fake_quantize(x, of_x),
                  fake_quantize(w, channel_qparams(w.shape()[3])), options);
  };
}

// As layers are captured, one by one.
inline Variable call(ProgramCapture& capture, const std::string& name,
                     const Variable& in, const Net& net) {
  const Program::Function run = [net](std::span<const Variable> v) {
    return net(v[0]);
  };
  return capture.call(name, {&in, 1}, run, [&] { return run; });
}

}  // namespace octet::programs
