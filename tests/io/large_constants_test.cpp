// Weights that stay in the model until the file is written.
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/error.h>

#include "exported_model.h"
#include "io/onnx/export/export.h"
#include "support.h"

namespace octet::io {
namespace {

/// Weights above 64 KiB in all layouts, a layer called twice, a Dense after a
/// flattened image.
Model large_network() {
  const SymbolicTensor x = input({6, 4, 3});
  SymbolicTensor y =
      Conv2D({.filters = 96, .kernel_size = 3, .padding = Padding::same})(x);
  const LayerHandle twice = Conv2D({.filters = 96,
                                    .kernel_size = 3,
                                    .padding = Padding::same,
                                    .activation = "relu",
                                    .name = "twice"});
  y = Add()(std::vector{twice(twice(y)), y});
  y = Conv2DTranspose({.filters = 40, .kernel_size = 5, .strides = 2})(y);
  y = DepthwiseConv2D({.kernel_size = 21, .padding = Padding::same})(y);
  y = Flatten()(AveragePooling2D({.pool_size = 4})(y));
  y = Dense({.units = 150, .name = "dense"})(y);
  y = Dense({.units = 150})(Reshape({.target_shape = {3, 50}})(y));
  return Model(x, Dense({.units = 3})(Flatten()(y)), {.seed = 4});
}

Tensor some_images() {
  Tensor images({5, 6, 4, 3});
  Rng(2).fill_normal(images, 0, 1);
  return images;
}

std::set<std::string> large_names(const Model& model,
                                  const OnnxExportOptions& options = {}) {
  std::set<std::string> names;
  for (const auto& [name, constant] : build_onnx(model, options).large) {
    names.insert(name);
  }
  return names;
}

TEST(LargeConstants, AreWrittenUnchanged) {
  const Model model = large_network();
  EXPECT_THAT(large_names(model),
              testing::IsSupersetOf({"twice/kernel", "dense/kernel"}));
  EXPECT_GE(large_names(model).size(), 4U);
  const OnnxFile file = to_onnx(model);
  EXPECT_EQ(file.report.bytes, static_cast<int64_t>(file.bytes.size()));
  const Tensor samples = some_images();
  const Tensor expected = model.predict(samples);
  const Tensor got = onnx_reference_from_bytes(file.bytes)
                         .predict(samples.transposed({0, 3, 1, 2}));
  ASSERT_EQ(got.shape(), expected.shape());
  for (size_t i = 0; i < expected.f32().size(); ++i) {
    EXPECT_NEAR(got.f32()[i], expected.f32()[i],
                1e-5 * (1 + std::abs(expected.f32()[i])));
  }
}

TEST(LargeConstants, ProduceTheSameBytesAsDataInTheGraph) {
  const Model model = large_network();
  ExportedGraph exported = build_onnx(model, {});
  onnx::GraphProto& graph = *exported.model.mutable_graph();
  fill_in(graph, exported.large);
  onnx::ModelProto read;
  ASSERT_TRUE(read.ParseFromString(to_onnx(model).bytes));
  EXPECT_EQ(read.graph().input_size(), 1);
  std::map<std::string, std::string> expected;
  std::map<std::string, std::string> got;
  for (const auto& tensor : graph.initializer()) {
    expected[tensor.name()] = tensor.SerializeAsString();
  }
  for (const auto& tensor : read.graph().initializer()) {
    got[tensor.name()] = tensor.SerializeAsString();
  }
  EXPECT_EQ(got, expected);
}

TEST(LargeConstants, AreTheSameInAFileAndInMemory) {
  const TempFolder folder;
  const Model model = large_network();
  for (const OnnxExportOptions& options :
       {OnnxExportOptions{}, OnnxExportOptions{.fold_batch_norm = true},
        OnnxExportOptions{.opset = 21, .float16 = true}}) {
    export_onnx(model, folder / "m.onnx", options);
    EXPECT_EQ(read_file(folder / "m.onnx"), to_onnx(model, options).bytes);
  }
}

TEST(LargeConstants, AreNotUsedForQuantizedWeights) {
  Model model = quant::quantize_model(large_network());
  quant::calibrate(model,
                   Dataset(some_images(), Tensor::zeros({5}, DType::i64)));
  EXPECT_THAT(large_names(model),
              testing::Not(testing::Contains("twice/kernel")));
  EXPECT_TRUE(
      large_names(large_network(), {.opset = 21, .float16 = true}).empty());
}

TEST(LargeConstants, PassOnErrorsOfTheFile) {
  ExportedGraph exported = build_onnx(large_network(), {});
  int64_t left = 300'000;
  EXPECT_THROW(write_onnx(exported.model, exported.large,
                          [&](std::string_view bytes) {
                            left -= static_cast<int64_t>(bytes.size());
                            if (left < 0)
                              throw IoError("cannot_write", "disk", "full");
                          }),
               IoError);
}

}  // namespace
}  // namespace octet::io
