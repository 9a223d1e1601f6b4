// Q/DQ pairs of exported models, parsed by the test.
#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/quant.h>
#include <octet/runtime/error.h>
#include <octet/runtime/rng.h>

#include "exported_model.h"

namespace octet::io {
namespace {

Dataset random_images(int64_t count) {
  Rng rng(7);
  Tensor images({count, kH, kW, kC});
  rng.fill_normal(images, 0.0f, 1.0f);
  return Dataset(images, Tensor::zeros({count}, DType::i64));
}

class ExportQuantized : public ExportOnnx {
 protected:
  static Model calibrated() {
    Model model = quant::quantize_model(small_cnn());
    quant::calibrate(model, random_images(32));
    return model;
  }
};

TEST_F(ExportQuantized, PutsPairsAtTheDataAndWeightsOfConvAndGemm) {
  const OnnxExportReport report = export_model(calibrated());
  EXPECT_EQ(report.qdq_pairs, 4);
  EXPECT_EQ(metadata().count("quantization"), 1u);
  const OnnxSummary summary = inspect_onnx(path_);
  ASSERT_EQ(summary.qdq_pairs.size(), 4u);
  int64_t weights = 0;
  for (const OnnxQdqPair& pair : summary.qdq_pairs) {
    EXPECT_EQ(pair.type, "int8");
    const bool weight = pair.kind == "weight";
    weights += weight;
    EXPECT_EQ(pair.axis.has_value(), weight);
    if (weight) {
      EXPECT_EQ(pair.axis, 0);
    }
    EXPECT_EQ(pair.scales, !weight                               ? 1
                           : pair.tensor == "quant_dense/kernel" ? 2
                                                                 : 5);
  }
  EXPECT_EQ(weights, 2);
  // The bias is not quantized.
  EXPECT_EQ(node("Gemm").input(2), "quant_dense/bias");
}

TEST_F(ExportQuantized, WritesAxisOnPairsPerChannelOnly) {
  export_model(calibrated());
  for (const auto& node : proto_.graph().node()) {
    if (node.op_type() != "QuantizeLinear" &&
        node.op_type() != "DequantizeLinear") {
      continue;
    }
    ASSERT_EQ(node.input_size(), 3);
    const auto& scale = initializer(node.input(1));
    const auto& zero_point = initializer(node.input(2));
    EXPECT_EQ(node.attribute_size(), scale.dims_size());
    EXPECT_EQ(zero_point.dims_size(), scale.dims_size());
    EXPECT_EQ(zero_point.data_type(), onnx::TensorProto::INT8);
    EXPECT_EQ(zero_point.raw_data().find_first_not_of('\0'), std::string::npos);
  }
}

TEST_F(ExportQuantized, StoresQuantizedWeights) {
  export_model(calibrated());
  const auto& w = initializer("quant_conv/kernel");
  for (const auto& node : proto_.graph().node()) {
    if (node.op_type() != "QuantizeLinear" || node.input(0) != w.name()) {
      continue;
    }
    const auto& scales = initializer(node.input(1));
    for (int64_t i = 0; i < 5 * kC * 9; ++i) {
      const float scale = element(scales, i / (kC * 9));
      const float code = std::nearbyint(element(w, i) / scale);
      EXPECT_LE(std::fabs(code), 127.0f);
      EXPECT_EQ(element(w, i), code * scale);
    }
    return;
  }
  FAIL() << "the kernel is not quantized";
}

TEST_F(ExportQuantized, QuantizesTheWeightsOfASharedLayerOnce) {
  const auto x = input({7});
  const Dense dense({.units = 7, .name = "dense"});
  Model model = quant::quantize_model(Model(x, dense(dense(x))));
  Rng rng(7);
  Tensor vectors({16, 7});
  rng.fill_normal(vectors, 0.0f, 1.0f);
  quant::calibrate(model, Dataset(vectors, Tensor::zeros({16}, DType::i64)));
  // The weights, the input and the tensor between the two calls.
  EXPECT_EQ(export_model(model).qdq_pairs, 3);
}

TEST_F(ExportQuantized, NamesAQuantizerThatIsNotCalibrated) {
  const Model model = quant::quantize_model(small_cnn());
  EXPECT_EQ(failure_of<ValueError>([&] { export_onnx(model, path_); }),
            (Failure{"not_calibrated", "quantizer 'input_layer'"}));
  EXPECT_TRUE(folder_.empty());
}

}  // namespace
}  // namespace octet::io
