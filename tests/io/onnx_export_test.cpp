// Structure and weights of exported models, parsed by the test. ONNX Runtime
// verifies their outputs (tests/oracle).

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/layers.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/system.h>

#include "exported_model.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

/// 0, 1, 2, ...: every weight identifies its origin.
void count_up(const Parameter& parameter) {
  Tensor value(parameter.variable.shape());
  float next = 0;
  for (float& element : value.f32()) element = next++;
  parameter.variable.assign(value);
}

TEST_F(ExportOnnx, WritesModelMetadata) {
  const OnnxExportReport report =
      export_model(small_cnn(), {.description = "a small network"});
  EXPECT_EQ(report.bytes,
            static_cast<int64_t>(std::filesystem::file_size(path_)));
  EXPECT_EQ(report.nodes, proto_.graph().node_size());
  EXPECT_EQ(report.qdq_pairs, 0);
  EXPECT_EQ(proto_.ir_version(), 7);
  ASSERT_EQ(proto_.opset_import_size(), 1);
  EXPECT_EQ(proto_.opset_import(0).version(), 13);
  EXPECT_EQ(proto_.producer_name(), "octet");
  EXPECT_EQ(proto_.producer_version(), version());
  EXPECT_EQ(proto_.doc_string(), "a small network");
  EXPECT_EQ(proto_.graph().name(), "small");
  EXPECT_THAT(metadata(), ElementsAre(Pair("input_layout", "NCHW")));
}

TEST_F(ExportOnnx, OmitsFactorsOf1AndOffsetsOf0) {
  const auto ops = [&](const RescalingOptions& options) {
    const SymbolicTensor x = input({4});
    export_model(Model(x, Rescaling(options)(x)));
    std::vector<std::string> result;
    for (const auto& node : proto_.graph().node()) {
      result.push_back(node.op_type());
    }
    return result;
  };
  EXPECT_THAT(ops({.scale = {0.5f}}), ElementsAre("Mul"));
  EXPECT_THAT(ops({.scale = {1}, .offset = {-1}}), ElementsAre("Add"));
  EXPECT_THAT(ops({.scale = {2}, .offset = {-1}}), ElementsAre("Mul", "Add"));
  EXPECT_THAT(ops({.scale = {1}}), ElementsAre("Mul"));
}

TEST_F(ExportOnnx, KeepsTheNamesOfTheClasses) {
  const SymbolicTensor x = input({4});
  const Model model(x, Dense({.units = 3})(x));
  export_model(model, {.classes = {"cat", "a \"dog\"", "cow"}});
  EXPECT_EQ(metadata().at("classes"),
            "[\n  \"cat\",\n  \"a \\\"dog\\\"\",\n  \"cow\"\n]");
  EXPECT_THROW(export_model(model, {.classes = {"cat", "dog"}}), ValueError);
}

TEST_F(ExportOnnx, HasNchwImagesAndADynamicBatch) {
  export_model(small_cnn());
  ASSERT_EQ(proto_.graph().input_size(), 1);
  EXPECT_EQ(proto_.graph().input(0).name(), "input");
  EXPECT_THAT(dims(proto_.graph().input(0)), ElementsAre("N", "3", "6", "4"));
  ASSERT_EQ(proto_.graph().output_size(), 1);
  EXPECT_EQ(proto_.graph().output(0).name(), "logits");
  EXPECT_THAT(dims(proto_.graph().output(0)), ElementsAre("N", "2"));
}

TEST_F(ExportOnnx, WritesOneNodePerLayerUnderItsName) {
  export_model(small_cnn());
  EXPECT_THAT(ops(), ElementsAre("Conv", "BatchNormalization", "Relu",
                                 "MaxPool", "Flatten", "Gemm"));
  EXPECT_EQ(node("Conv").name(), "conv");
  EXPECT_EQ(node("Gemm").name(), "dense");
  EXPECT_EQ(node("BatchNormalization").input_size(), 5);
  EXPECT_EQ(node("Gemm").output(0), "logits");
}

TEST_F(ExportOnnx, TransposesConvolutionKernelsToOihw) {
  const Model model = small_cnn();
  count_up(model.layer("conv").parameter("kernel"));
  export_model(model);
  const auto& w = initializer("conv/kernel");
  EXPECT_THAT(w.dims(), ElementsAre(5, kC, 3, 3));
  for (int64_t o = 0; o < 5; ++o) {
    for (int64_t c = 0; c < kC; ++c) {
      for (int64_t h = 0; h < 3; ++h) {
        for (int64_t v = 0; v < 3; ++v) {
          const int64_t hwio = ((h * 3 + v) * kC + c) * 5 + o;
          EXPECT_EQ(element(w, ((o * kC + c) * 3 + h) * 3 + v),
                    static_cast<float>(hwio));
        }
      }
    }
  }
}

TEST_F(ExportOnnx, OrdersRowsOfDenseForAFlattenedNchwImage) {
  const Model model = small_cnn();
  count_up(model.layer("dense").parameter("kernel"));
  export_model(model);
  // After pooling: 3 x 2 pixels of 5 channels.
  const auto& w = initializer("dense/kernel");
  EXPECT_THAT(w.dims(), ElementsAre(2, 30));
  for (int64_t unit = 0; unit < 2; ++unit) {
    for (int64_t c = 0; c < 5; ++c) {
      for (int64_t h = 0; h < 3; ++h) {
        for (int64_t v = 0; v < 2; ++v) {
          const int64_t keras = ((h * 2 + v) * 5 + c) * 2 + unit;
          EXPECT_EQ(element(w, unit * 30 + (c * 3 + h) * 2 + v),
                    static_cast<float>(keras));
        }
      }
    }
  }
}

TEST_F(ExportOnnx, LeavesAFlattenedImageInKerasOrder) {
  const auto x = input({kH, kW, kC});
  export_model(Model(x, Flatten()(x)), {.output_name = "features"});
  EXPECT_THAT(ops(), ElementsAre("Transpose", "Flatten"));
  EXPECT_THAT(node("Transpose").attribute(0).ints(), ElementsAre(0, 2, 3, 1));
  EXPECT_EQ(proto_.graph().output(0).name(), "features");
  EXPECT_THAT(dims(proto_.graph().output(0)), ElementsAre("N", "72"));
}

TEST_F(ExportOnnx, LeavesAnImageAsNchwAndReportsIt) {
  const auto x = input({kH, kW, kC});
  export_model(Model(x, ReLU()(x)), {.output_name = "image"});
  EXPECT_THAT(dims(proto_.graph().output(0)), ElementsAre("N", "3", "6", "4"));
  EXPECT_THAT(metadata(), ElementsAre(Pair("input_layout", "NCHW"),
                                      Pair("output_layout", "NCHW")));
}

TEST_F(ExportOnnx, DoesNotTransposeVectors) {
  const auto x = input({7});
  export_model(Model(x, Dense({.units = 2})(x)));
  EXPECT_THAT(dims(proto_.graph().input(0)), ElementsAre("N", "7"));
  EXPECT_THAT(ops(), ElementsAre("Gemm"));
  EXPECT_TRUE(metadata().empty());
}

TEST_F(ExportOnnx, WritesDenseOnPixelsAsAConvolution) {
  const auto x = input({kH, kW, kC});
  const Model model(x, Dense({.units = 5, .name = "dense"})(x));
  count_up(model.layer("dense").parameter("kernel"));
  export_model(model);
  EXPECT_THAT(ops(), ElementsAre("Conv"));
  EXPECT_THAT(dims(proto_.graph().output(0)), ElementsAre("N", "5", "6", "4"));
  const auto& w = initializer("dense/kernel");
  EXPECT_THAT(w.dims(), ElementsAre(5, kC, 1, 1));
  for (int64_t o = 0; o < 5; ++o) {
    for (int64_t c = 0; c < kC; ++c) {
      EXPECT_EQ(element(w, o * kC + c), static_cast<float>(c * 5 + o));
    }
  }
}

TEST_F(ExportOnnx, WritesDenseOnTokensAsAMatrixProduct) {
  const auto x = input({5, 3});
  export_model(Model(x, Dense({.units = 2, .name = "dense"})(x)));
  EXPECT_THAT(ops(), ElementsAre("MatMul", "Add"));
  EXPECT_THAT(initializer("dense/kernel").dims(), ElementsAre(3, 2));
  EXPECT_THAT(dims(proto_.graph().output(0)), ElementsAre("N", "5", "2"));
}

TEST_F(ExportOnnx, NormalizesTheChannelsOfImagesAndTheLastAxisOfOthers) {
  const auto x = input({kH, kW, kC});
  export_model(Model(x, LayerNormalization({.name = "norm"})(x)));
  EXPECT_THAT(ops(), ElementsAre("ReduceMean", "Sub", "Pow", "ReduceMean",
                                 "Add", "Sqrt", "Div", "Mul", "Add"));
  EXPECT_EQ(node("ReduceMean").attribute(0).ints(0), 1);
  EXPECT_THAT(initializer("norm/gamma").dims(), ElementsAre(kC, 1, 1));
  const auto t = input({5, 3});
  export_model(Model(t, LayerNormalization({.name = "norm"})(t)));
  EXPECT_EQ(node("ReduceMean").attribute(0).ints(0), -1);
  EXPECT_THAT(initializer("norm/gamma").dims(), ElementsAre(3));
}

TEST_F(ExportOnnx, MovesTheAxisOfSoftmaxWithTheLayout) {
  const std::vector<std::pair<int64_t, int64_t>> axes{
      {-1, 1}, {1, 2}, {2, 3}, {3, 1}};
  for (const auto& [keras, stored] : axes) {
    const auto x = input({kH, kW, kC});
    export_model(Model(x, Softmax({.axis = keras})(x)));
    EXPECT_EQ(node("Softmax").attribute(0).i(), stored);
  }
}

TEST_F(ExportOnnx, KeepsTheWeightsOfASharedLayerOnce) {
  const auto x = input({7});
  const Dense dense({.units = 7, .name = "dense"});
  export_model(Model(x, dense(dense(x))));
  EXPECT_EQ(proto_.graph().initializer_size(), 2);
  EXPECT_EQ(proto_.graph().node(0).name(), "dense");
  EXPECT_EQ(proto_.graph().node(1).name(), "dense_1");
}

TEST_F(ExportOnnx, IsReproducible) {
  const Model model = small_cnn();
  export_model(model);
  const std::string first = read_file(path_);
  export_model(model);
  EXPECT_EQ(read_file(path_), first);
}

TEST_F(ExportOnnx, ReturnsTheBytesAndReportOfTheFile) {
  const Model model = small_cnn();
  const OnnxExportReport report = export_model(model, {.opset = 15});
  const OnnxFile file = to_onnx(model, {.opset = 15});
  EXPECT_EQ(file.bytes, read_file(path_));
  EXPECT_EQ(file.report.bytes, report.bytes);
  EXPECT_EQ(file.report.nodes, report.nodes);
  EXPECT_EQ(file.report.qdq_pairs, report.qdq_pairs);
}

TEST_F(ExportOnnx, WritesTheRequestedOpset) {
  for (int opset = 13; opset <= 21; ++opset) {
    export_model(small_cnn(), {.opset = opset});
    EXPECT_EQ(proto_.opset_import(0).version(), opset);
    EXPECT_EQ(proto_.ir_version(), opset >= 21   ? 10
                                   : opset >= 19 ? 9
                                   : opset >= 15 ? 8
                                                 : 7);
  }
}

TEST_F(ExportOnnx, ComputesTheSameInEveryOpset) {
  const SymbolicTensor x = input({7, 17});
  const Model model(x, LayerNormalization()(x));
  const Tensor samples = noise({3, 7, 17});
  const auto first =
      bits(onnx_reference_from_bytes(to_onnx(model).bytes).predict(samples));
  for (int opset = 14; opset <= 21; ++opset) {
    const OnnxFile file = to_onnx(model, {.opset = opset});
    EXPECT_EQ(bits(onnx_reference_from_bytes(file.bytes).predict(samples)),
              first)
        << opset;
  }
}

TEST_F(ExportOnnx, FixesTheBatchOfInputsAndOutputs) {
  const SymbolicTensor x = input({4, 6, 3});
  const Model model(x, Conv2D({.filters = 17})(ReLU()(x)));
  for (const int64_t batch : {1, 3, 17}) {
    const OnnxReference fixed =
        onnx_reference_from_bytes(to_onnx(model, {.batch = batch}).bytes);
    EXPECT_EQ(to_string(fixed.inputs()[0].shape),
              fmt::format("[{},3,4,6]", batch));
    EXPECT_EQ(std::get<int64_t>(fixed.outputs()[0].shape->at(0)), batch);
    const Tensor samples = noise({batch, 3, 4, 6});
    EXPECT_EQ(
        bits(fixed.predict(samples)),
        bits(onnx_reference_from_bytes(to_onnx(model).bytes).predict(samples)));
    EXPECT_THROW((void)fixed.predict(noise({batch + 1, 3, 4, 6})), ShapeError);
  }
}

TEST_F(ExportOnnx, ExpandsConstantsOnlyWithoutBroadcasting) {
  const SymbolicTensor x = input({2});
  const auto constant = [](const SymbolicTensor& like) {
    return Constant({.value = Tensor::of<float>({2}, {3, -5})})(like);
  };
  const auto count = [&](const char* op) {
    return std::ranges::count(proto_.graph().node(), op,
                              &onnx::NodeProto::op_type);
  };
  export_model(Model(x, Maximum()({x, constant(x)})));
  EXPECT_EQ(count("Expand"), 0);
  export_model(Model(x, Concatenate()({x, constant(x)})));
  EXPECT_EQ(count("Expand"), 1);
  // As a model output of its own: one row per sample, too.
  const SymbolicTensor y = ReLU()(x);
  export_model(Model({x}, {y, constant(y)}));
  const std::vector<Tensor> outputs = load_onnx_reference(path_).predict(
      std::vector{Tensor::of<float>({2, 2}, {1, -1, 2, -2})});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(values(outputs[0]), ElementsAre(1, 0, 2, 0));
  EXPECT_THAT(values(outputs[1]), ElementsAre(3, -5, 3, -5));
}

TEST_F(ExportOnnx, RejectsOptionsOutOfRange) {
  const Model model = small_cnn();
  for (const int64_t batch : {int64_t{-1}, (int64_t{1} << 20) + 1}) {
    EXPECT_EQ(failure_of<ValueError>(
                  [&] { export_onnx(model, path_, {.batch = batch}); }),
              (Failure{"out_of_range", "ONNX batch"}));
  }
  for (const int opset : {-1, 12, 22}) {
    EXPECT_EQ(failure_of<ValueError>(
                  [&] { export_onnx(model, path_, {.opset = opset}); }),
              (Failure{"out_of_range", "ONNX opset"}));
  }
  const auto refused = [&](const OnnxExportOptions& options) {
    return failure_of<ValueError>([&] { export_onnx(model, path_, options); });
  };
  EXPECT_EQ(refused({.input_name = ""}),
            (Failure{"missing_value", "ONNX input name"}));
  EXPECT_EQ(refused({.output_name = ""}),
            (Failure{"missing_value", "ONNX output name"}));
  EXPECT_EQ(refused({.input_name = "x", .output_name = "x"}),
            (Failure{"duplicate_name", "ONNX names"}));
  EXPECT_TRUE(folder_.empty());
}

TEST_F(ExportOnnx, RejectsWeightsThatAreNotFiniteAndWritesNothing) {
  const Model model = small_cnn();
  model.layer("bn").parameter("gamma").variable.mutable_value()[3] = NAN;
  EXPECT_EQ(failure_of<ValueError>([&] { export_onnx(model, path_); }),
            (Failure{"not_finite", "initializer 'bn/gamma'"}));
  EXPECT_TRUE(folder_.empty());
}

class WithoutOnnxForm final : public Layer {
 public:
  std::string class_name() const override { return "Mystery"; }
  Config config() const override { return Config::Object{}; }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return inputs[0];
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return inputs[0];
  }
};

TEST_F(ExportOnnx, NamesALayerWithoutOnnxFormAndKeepsTheOldFile) {
  export_model(small_cnn());
  const std::string before = read_file(path_);
  const auto x = input({7});
  const LayerHandle mystery(std::make_shared<WithoutOnnxForm>());
  mystery->set_name("strange");
  const Model model(x, mystery(x));
  EXPECT_EQ(failure_of<UnsupportedError>([&] { export_onnx(model, path_); }),
            (Failure{"unsupported_layer", "Mystery 'strange'"}));
  EXPECT_EQ(read_file(path_), before);
}

TEST_F(ExportOnnx, ReportsAMissingFolder) {
  EXPECT_EQ(failure_of<IoError>([&] {
              export_onnx(small_cnn(), folder_ / "none/model.onnx");
            }).code,
            "file_not_found");
}

}  // namespace
}  // namespace octet::io
