// Weight scales of channels whose weights are tiny compared to their bias. ONNX
// Runtime quantizes the bias to int32 with the scale of the input times the
// scale of the channel, so a tiny scale would make it overflow.
#include <cmath>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>

#include "onnx/check/check.h"
#include "tests/quant/folding.h"

namespace octet::io {
namespace {

constexpr int64_t kFilters = 4;

/// Returns a convolution whose weights are zero in channel 1 and scaled by
/// 1e-10 in channel 2.
Model with_tiny_weights() {
  const SymbolicTensor x = input({6, 5, 3});
  SymbolicTensor y =
      Conv2D({.filters = kFilters, .kernel_size = {3, 3}, .name = "conv"})(x);
  Model model(x, Conv2D({.filters = 3, .name = "last"})(ReLU()(y)));
  const auto parameters = model.layer("conv").parameters();
  Variable kernel = parameters[0].variable, bias = parameters[1].variable;
  Tensor w = kernel.value().clone();
  for (size_t i = 0; i < w.f32().size(); ++i) {
    if (i % kFilters == 1) w.f32()[i] = 0;
    if (i % kFilters == 2) w.f32()[i] *= 1e-10f;
  }
  kernel.assign(w);
  bias.assign(Tensor::of<float>({kFilters}, {0.1f, 0.8f, -0.9f, 0.0f}));
  return model;
}

const onnx::TensorProto& constant(const onnx::ModelProto& model,
                                  const std::string& name) {
  for (const auto& tensor : model.graph().initializer()) {
    if (tensor.name() == name) return tensor;
  }
  throw std::runtime_error("no constant " + name);
}

std::vector<float> floats_in(const onnx::TensorProto& tensor) {
  std::vector<float> values(tensor.raw_data().size() / sizeof(float));
  std::memcpy(values.data(), tensor.raw_data().data(),
              tensor.raw_data().size());
  return values;
}

TEST(WeightScales, KeepQuantizedBiasesInTheRangeOfInt32) {
  Model model = quant::quantize_model(with_tiny_weights());
  quant::calibrate(model, [](const Model& m) {
    (void)m.predict(noise({4, 6, 5, 3}));
  });
  for (const Target target : {Target::any, Target::tensorrt10}) {
    const std::string bytes =
        to_onnx(model, OnnxExportOptions::for_target(target)).bytes;
    const onnx::ModelProto file = parse_onnx(bytes);
    const onnx::NodeProto* conv = nullptr;
    std::map<std::string, const onnx::NodeProto*> producers;
    for (const auto& node : file.graph().node()) {
      if (conv == nullptr && node.op_type() == "Conv") conv = &node;
      producers[node.output(0)] = &node;
    }
    ASSERT_NE(conv, nullptr);
    const auto scale_of = [&](int input) {
      return floats_in(
          constant(file, producers.at(conv->input(input))->input(1)));
    };
    const std::vector<float> x = scale_of(0), w = scale_of(1);
    const std::vector<float> bias = floats_in(constant(file, conv->input(2)));
    ASSERT_EQ(w.size(), size_t{kFilters});
    for (size_t k = 0; k < kFilters; ++k) {
      const double quantized_bias = std::abs(bias[k]) / (double{x[0]} * w[k]);
      EXPECT_LT(quantized_bias, 1.01 * (1 << 30)) << k;
      if (k == 1 || k == 2) {
        EXPECT_GT(quantized_bias, 0.99 * (1 << 30)) << k;
      }
    }
    const Tensor images = noise({3, 6, 5, 3}, 5);
    const Tensor y = model.predict(images);
    const Tensor from_file = onnx_reference_from_bytes(bytes)
                                 .predict(images.transposed({0, 3, 1, 2}))
                                 .transposed({0, 2, 3, 1});
    for (size_t i = 0; i < y.f32().size(); ++i) {
      EXPECT_NEAR(from_file.f32()[i], y.f32()[i], 1e-5) << i;
    }
  }
}

}  // namespace
}  // namespace octet::io
