// Pointwise functions of quantized values, by tables.
#include <limits>
#include <utility>
#include <vector>

#include "../../runtime/kernels/kernels.h"
#include "programs.h"

namespace octet::programs {
namespace {

const std::vector<std::pair<const char*, Net>> kFunctions = {
    {"swish", [](const Variable& x) { return swish(x); }},
    {"sigmoid", [](const Variable& x) { return sigmoid(x); }},
    {"hard_swish", [](const Variable& x) { return hard_swish(x); }},
    {"gelu", [](const Variable& x) { return gelu(x); }},
    {"tanh", [](const Variable& x) { return tanh(x); }},
    {"elu of relu6", [](const Variable& x) { return elu(relu(x, 6)); }},
    {"relu", [](const Variable& x) { return relu(x); }},
    {"requantized", [](const Variable& x) { return x; }},
};

TEST_P(Programs, MapQuantizedValuesByTables) {
  const Variable first = weight({3, 3, 3, 7});
  const Variable last = weight({3, 3, 7, 5}, 4);
  for (const auto& [name, function] : kFunctions)
    for (const auto& [low, high] : kRanges) {
      SCOPED_TRACE(testing::Message() << name << " from " << low);
      const QuantParams before = qparams(0.03f, low, high);
      const QuantParams after = qparams(0.02f, -128, 127);
      const Net quantized = [=, &function = function](const Variable& x) {
        const Variable y = conv2d(x, first, {.pads = 1});
        return function(fake_quantize(y, before));
      };
      const Net net = [=](const Variable& x) {
        return quantized_conv(last, after)(quantized(x));
      };
      expect_same_for_threads(net, {1, 6, 5, 3}, 1);
      EXPECT_EQ(count(capture(net, {1, 6, 5, 3}), "look_up"), 1);
      const Net floats = [=](const Variable& x) {
        return softmax(quantized(x));
      };
      expect_same(floats, {1, 6, 5, 3}, 1);
    }
}

TEST_P(Programs, MapToSeveralFormats) {
  const Variable first = weight({3, 3, 3, 8});
  const Variable last = weight({3, 3, 8, 5}, 4);
  const Net net = [=](const Variable& x) {
    const Variable y =
        fake_quantize(conv2d(x, first, {.pads = 1}), qparams(0.03f, 0, 255));
    const Variable z = swish(y);
    const Variable a = quantized_conv(last, qparams(0.02f))(z);
    const Variable b = quantized_conv(last, qparams(0.04f, 0, 127))(z);
    return add(add(a, b), conv2d(z, last, {.pads = 1}));
  };
  expect_same_for_threads(net, {1, 6, 5, 3}, 1);
  EXPECT_EQ(count(capture(net, {1, 6, 5, 3}), "look_up"), 3);
}

TEST_P(Programs, LookUpAnyNumberOfBytes) {
  uint8_t table[256], from[300];
  for (int i = 0; i < 256; ++i) table[i] = static_cast<uint8_t>(i * 37 + 11);
  for (int i = 0; i < 300; ++i) from[i] = static_cast<uint8_t>(i * 91 + i / 7);
  for (const int n : {0, 1, 15, 31, 32, 33, 63, 64, 65, 127, 257, 300}) {
    std::vector<uint8_t> to(301, 77);
    kernels::table().look_up(table, from, to.data(), n);
    for (int i = 0; i < 300; ++i) {
      EXPECT_EQ(to[static_cast<size_t>(i)], i < n ? table[from[i]] : 77);
    }
  }
}

// Into slices, and of pooled values.
TEST_P(Programs, MapPartsOfConcatenations) {
  const Variable first = weight({3, 3, 3, 6});
  const Variable last = weight({3, 3, 12, 5}, 4);
  for (const auto& [low, high] : kRanges) {
    const QuantParams range = qparams(0.03f, low, high);
    const Net net = [=](const Variable& x) {
      const Variable y = fake_quantize(conv2d(x, first, {.pads = 1}), range);
      return quantized_conv(
          last, qparams(0.02f))(concatenate({hard_swish(y), y}, -1));
    };
    expect_same_for_threads(net, {1, 6, 5, 3}, 1);
    EXPECT_EQ(count(capture(net, {1, 6, 5, 3}), "look_up"), 2);
  }
}

TEST_P(Programs, MapSequencesAndRows) {
  const Net net = [](const Variable& x) {
    const Variable y = dense(x, weight({5, 17}));
    const Variable z = gelu(fake_quantize(y, qparams(0.02f)));
    return dense(fake_quantize(z, qparams(0.01f)),
                 fake_quantize(weight({17, 3}), channel_qparams(3, 1)));
  };
  expect_same_for_threads(net, {1, 7, 5}, 0);
  expect_same_for_threads(net, {1, 5}, 0);
}

}  // namespace
}  // namespace octet::programs
