// Convolutions of few output channels, computed in pairs of outputs, and
// epilogues of one multiply-add per sum.
#include "programs.h"

namespace octet::programs {
namespace {

struct Narrow {
  Size2 x;
  int64_t c, k;
  Size2 kernel;
  WindowOptions options;
};

// Pairs: 2 * k values fill a vector, an even number of columns.
const Narrow kNarrow[] = {
    {{9, 12}, 3, 8, {3, 3}, {.strides = 2, .pads{0, 1, 0, 1}}},
    {{6, 8}, 3, 8, {3, 3}, {.strides = 1, .pads = 1}},
    {{5, 8}, 17, 8, {1, 1}, {.strides = 2}},
    {{7, 16}, 4, 8, {1, 2}, {.strides{1, 4}}},  // gaps between windows
    {{8, 10}, 5, 8, {3, 2}, {.dilation{2, 1}, .pads{0, 0, 1, 1}}},
    {{8, 10}, 3, 8, {3, 3}, {.dilation = 2, .pads = 2}},
    {{6, 7}, 3, 8, {3, 3}, {.pads = 1}},  // odd
    {{6, 8}, 1, 4, {3, 3}, {.pads = 1}},
    {{6, 8}, 3, 2, {3, 3}, {.pads = 1}},
    {{6, 8}, 3, 3, {3, 3}, {.pads = 1}},
    {{6, 6}, 8, 40, {1, 1}, {}},  // several short rows per tile
    {{3, 3}, 17, 33, {1, 1}, {}},
    {{5, 4}, 5, 17, {2, 1}, {}},
};

TEST_P(Programs, PairOutputsOfFewChannels) {
  for (const Narrow& n : kNarrow) {
    SCOPED_TRACE(testing::Message() << n.c << " to " << n.k << " channels, "
                                    << n.x.h << "x" << n.x.w);
    const Variable w = weight({n.kernel.h, n.kernel.w, n.c, n.k}, 3);
    const Variable next = weight({3, 3, n.k, 1}, 4);
    for (const auto& [low, high] : kRanges) {
      const QuantParams codes = qparams(0.02f, low, high);
      const Net conv = quantized_conv(w, codes, n.options);
      const Net one = [=](const Variable& x) {
        return fake_quantize(relu(norm(conv(x)), 6), qparams(0.03f, low, high));
      };
      // The input is quantized in a step; the output has the padding of its
      // consumer.
      expect_same(
          [=](const Variable& x) {
            return depthwise_conv2d(
                one(x), fake_quantize(next, channel_qparams(n.k, 2)),
                {.pads = 1});
          },
          {1, n.x.h, n.x.w, n.c}, 1);
      expect_same(one, {1, n.x.h, n.x.w, n.c}, 1);
      expect_same(conv, {1, n.x.h, n.x.w, n.c}, 1);
    }
  }
}

// Depthwise convolutions, whose pairs are adjacent pixels.
TEST_P(Programs, PairPixelsOfDepthwiseConvolutions) {
  for (const int64_t c : {1, 2, 4, 8, 12, 16}) {
    for (const Size2 image : {Size2{5, 6}, Size2{4, 7}, Size2{1, 20}}) {
      for (const WindowOptions& options :
           {WindowOptions{.pads = 1}, WindowOptions{.strides = 2, .pads = 1},
            WindowOptions{
                .strides{2, 1}, .dilation{1, 2}, .pads{1, 1, 2, 2}}}) {
        SCOPED_TRACE(testing::Message()
                     << c << " channels, " << image.h << "x" << image.w);
        const Shape sample{1, image.h, image.w, c};
        const Variable before = weight({1, 1, c, c}, 3);
        const Variable w = weight({3, 3, c, 1}, 4);
        const Net floats = [=](const Variable& x) {
          const Variable y = relu(norm(conv2d(x, before)));
          return relu(norm(depthwise_conv2d(y, w, options)), 1);
        };
        expect_same(floats, sample, 0);
        const Net codes = [=](const Variable& x) {
          const Variable y = fake_quantize(relu(norm(conv2d(x, before))),
                                           qparams(0.02f, 0, 127));
          const Variable z = depthwise_conv2d(
              y, fake_quantize(w, channel_qparams(c, 2)), options);
          return fake_quantize(relu(norm(z), 1), qparams(0.01f));
        };
        expect_same(codes, sample, 0);
      }
    }
  }
}

// Floats: affine epilogues of several short rows.
TEST_P(Programs, ShortRowsOfFloats) {
  for (const Narrow& n : kNarrow) {
    SCOPED_TRACE(testing::Message() << n.c << " to " << n.k << " channels");
    const Variable w = weight({n.kernel.h, n.kernel.w, n.c, n.k}, 3);
    const Variable next = weight({3, 3, n.k, 1}, 4);
    const Net net = [=](const Variable& x) {
      return depthwise_conv2d(relu(norm(conv2d(x, w, n.options)), 2), next,
                              {.pads = 1});
    };
    const int copies = count(capture(net, {1, n.x.h, n.x.w, n.c}), "evaluate");
    EXPECT_LE(copies, 1);
    expect_same_for_threads(net, {1, n.x.h, n.x.w, n.c}, copies);
  }
}

}  // namespace
}  // namespace octet::programs
