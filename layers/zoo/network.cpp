#include "network.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "base/checks.h"

namespace octet::zoo {
namespace {

Options complete(const Entry& own, Options options) {
  if (options.input.rank() == 0) options.input = own.input;
  if (options.input.rank() != own.input.rank()) {
    throw ShapeError(
        "invalid_shape", "input",
        fmt::format("must be one sample {}, such as {}, got {}",
                    own.input.rank() == 3 ? "[h,w,c]" : "[h,w]",
                    own.input.to_string(), options.input.to_string()));
  }
  if (options.classes == 0) options.classes = own.classes;
  if (own.classes == 0 && options.classes != 0) {
    throw ValueError(
        "unsupported_value", "classes",
        fmt::format("the network has no classifier, got {}", options.classes));
  }
  if (own.classes != 0) expect_count("classes", options.classes);
  if (own.alpha == 0 && options.alpha != 0) {
    throw ValueError("unsupported_value", "alpha",
                     fmt::format("the width of the network is fixed, got {}",
                                 options.alpha));
  }
  if (own.alpha != 0) {
    if (options.alpha == 0) options.alpha = own.alpha;
    if (!(options.alpha > 0 && options.alpha <= 64)) {
      throw ValueError("out_of_range", "alpha",
                       fmt::format("must be in (0,64], got {}", options.alpha));
    }
  }
  if (options.patch_size != 0) {
    if (own.name != "vit_tiny") {
      throw ValueError("unsupported_value", "patch_size",
                       fmt::format("the network has no patches, got {}",
                                   options.patch_size));
    }
    expect_count("patch_size", options.patch_size);
  }
  check_regularizer("l2", {.l2 = options.l2});
  if (options.name.empty()) options.name = own.name;
  return options;
}

}  // namespace

Model network(std::string_view name, const Options& options, const Body& body) {
  const auto frame = [&] {
    return options.input.rank() == 0
               ? fmt::format("in network '{}'", name)
               : fmt::format("in network '{}' for inputs {}", name,
                             options.input.to_string());
  };
  return with_context(frame, [&] {
    const Options o = complete(entry(name), options);
    const SymbolicTensor x = input(o.input);
    return Model(x, body(o, x), {.name = o.name, .seed = o.seed});
  });
}

SymbolicTensor Kernels::conv(const SymbolicTensor& x,
                             Conv2DOptions options) const {
  options.kernel_initializer = initializer;
  options.kernel_regularizer = {.l2 = l2};
  return Conv2D(options)(x);
}

SymbolicTensor Kernels::depthwise(const SymbolicTensor& x,
                                  DepthwiseConv2DOptions options) const {
  options.depthwise_initializer = initializer;
  options.depthwise_regularizer = {.l2 = l2};
  return DepthwiseConv2D(options)(x);
}

SymbolicTensor Kernels::dense(const SymbolicTensor& x,
                              DenseOptions options) const {
  options.kernel_initializer = initializer;
  options.kernel_regularizer = {.l2 = l2};
  return Dense(options)(x);
}

int64_t multiple_of_eight(double value) {
  const auto nearest = static_cast<int64_t>(value + 4) / 8 * 8;
  const int64_t result = std::max(int64_t{8}, nearest);
  return static_cast<double>(result) < 0.9 * value ? result + 8 : result;
}

Pads pads_of_stride_two(const SymbolicTensor& x, int64_t window) {
  const int64_t end = window / 2;
  const auto begin = [&](int axis) { return end - (1 - x.shape()[axis] % 2); };
  return {begin(1), end, begin(2), end};
}

void expect_multiples(const Shape& input, int64_t divisor) {
  if (input[0] % divisor == 0 && input[1] % divisor == 0) return;
  throw ShapeError(
      "invalid_shape", "input",
      fmt::format("height and width must be multiples of {}, got {}", divisor,
                  input.to_string()));
}

}  // namespace octet::zoo
