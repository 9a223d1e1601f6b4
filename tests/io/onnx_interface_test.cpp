// ONNX to ONNX: names, types and axis order of inputs and outputs.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>

#include "../testdata.h"
#include "onnx/export/interface.h"
#include "onnx_models.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

/// H, W and C differ; the outputs have two axis orders.
constexpr const char* kTwoHeads =
    "g (float[batch,3,6,10] image) => (float[batch,4,6,10] map,\n"
    "                                  float[batch,60,4] boxes) {\n"
    "  map = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (image, w)\n"
    "  last = Transpose <perm = [0,2,3,1]> (map)\n"
    "  boxes = Reshape (last, sizes)\n"
    "}";

onnx::ModelProto two_heads() {
  onnx::ModelProto model = model_of(kTwoHeads);
  std::vector<float> values(108);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i % 13) - 6;
  }
  *model.mutable_graph()->add_initializer() =
      float_tensor("w", {4, 3, 3, 3}, values);
  auto& sizes = *model.mutable_graph()->add_initializer();
  sizes.set_name("sizes");
  sizes.set_data_type(onnx::TensorProto::INT64);
  sizes.add_dims(3);
  for (const int64_t size : {0, 60, 4}) sizes.add_int64_data(size);
  return model;
}

std::vector<std::string> ports(const std::vector<OnnxTensorInfo>& tensors) {
  std::vector<std::string> result;
  for (const OnnxTensorInfo& tensor : tensors) {
    result.push_back(tensor.name + " " + tensor.type + to_string(tensor.shape));
  }
  return result;
}

int64_t transposes_in(const std::filesystem::path& path) {
  return std::ranges::count(inspect_onnx(path).nodes, "Transpose",
                            &OnnxNodeInfo::op);
}

Tensor random(const Shape& shape, uint64_t seed = 3) {
  Tensor x(shape);
  Rng(seed).fill_uniform(x, -1, 1);
  return x;
}

class Interface : public ::testing::Test {
 protected:
  std::filesystem::path save_as(const char* name,
                                const onnx::ModelProto& model) const {
    save(model, folder_ / name);
    return folder_ / name;
  }
  /// Expects the same interface and outputs from both files.
  void expect_alike(const std::filesystem::path& given,
                    const std::filesystem::path& written, const Tensor& x) {
    const OnnxReference a = load_onnx_reference(given);
    const OnnxReference b = load_onnx_reference(written);
    EXPECT_EQ(ports(b.inputs()), ports(a.inputs()));
    EXPECT_EQ(ports(b.outputs()), ports(a.outputs()));
    const std::vector<Tensor> inputs{x};
    const std::vector<Tensor> expected = a.predict(inputs);
    const std::vector<Tensor> answers = b.predict(inputs);
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(answers[i].shape(), expected[i].shape());
      ASSERT_EQ(answers[i].dtype(), expected[i].dtype());
      if (expected[i].dtype() != DType::f32) continue;
      for (size_t k = 0; k < expected[i].f32().size(); ++k) {
        // Sums of 27 numbers of magnitude up to 6, in another order.
        ASSERT_NEAR(answers[i].f32()[k], expected[i].f32()[k], 1e-4f);
      }
    }
  }

  TempFolder folder_;
};

TEST_F(Interface, IsPartOfTheImport) {
  const OnnxImport read = import_onnx(save_as("in.onnx", two_heads()));
  const OnnxInterface& interface = read.interface;
  ASSERT_EQ(interface.inputs.size(), 1u);
  EXPECT_EQ(interface.inputs[0].name, "image");
  EXPECT_EQ(interface.inputs[0].type, "float32");
  EXPECT_THAT(interface.inputs[0].axes, ElementsAre(0, 2, 3, 1));
  ASSERT_EQ(interface.outputs.size(), 2u);
  EXPECT_THAT(interface.outputs[0].axes, ElementsAre(0, 2, 3, 1));
  EXPECT_EQ(interface.outputs[1].name, "boxes");
  EXPECT_EQ(interface.batch_name, "batch");
  EXPECT_TRUE(interface.fits(read.model));
  EXPECT_EQ(onnx_interface(folder_ / "in.onnx"), interface);
}

TEST_F(Interface, OfTheExportIsThatOfTheImportedFile) {
  const auto given = save_as("in.onnx", two_heads());
  const OnnxImport read = import_onnx(given);
  export_onnx(read.model, folder_ / "out.onnx", {.interface = read.interface});
  expect_alike(given, folder_ / "out.onnx", random({2, 3, 6, 10}));
  EXPECT_EQ(transposes_in(folder_ / "out.onnx"), transposes_in(given));
}

TEST_F(Interface, IsPreservedByQuantizingAndFolding) {
  const auto given = save_as("in.onnx", two_heads());
  const OnnxImport read = import_onnx(given);
  const Tensor x = random({8, 6, 10, 3});
  Model int8 = quant::quantize_model(read.model);
  quant::calibrate(
      int8, [&](const Model& m) { (void)m.predict(std::vector<Tensor>{x}); });
  for (const bool fold : {false, true}) {
    export_onnx(int8, folder_ / "int8.onnx",
                {.fold_batch_norm = fold, .interface = read.interface});
    const OnnxReference written = load_onnx_reference(folder_ / "int8.onnx");
    EXPECT_EQ(ports(written.outputs()),
              ports(load_onnx_reference(given).outputs()));
    const std::vector<Tensor> nchw{x.transposed({0, 3, 1, 2})};
    const auto expected = load_onnx_reference(given).predict(nchw);
    const auto answers = written.predict(nchw);
    for (size_t i = 0; i < expected.size(); ++i) {
      double signal = 0, noise = 0;
      for (size_t k = 0; k < expected[i].f32().size(); ++k) {
        const double e = expected[i].f32()[k];
        signal += e * e;
        noise += (e - answers[i].f32()[k]) * (e - answers[i].f32()[k]);
      }
      EXPECT_GT(signal, 100 * noise) << i;  // 20 dB; about 0 if permuted
    }
  }
}

TEST_F(Interface, IsPreservedInOctetsFiles) {
  const auto given = save_as("in.onnx", two_heads());
  const OnnxImport read = import_onnx(given);
  save_model(read.model, folder_ / "m.h5", {.interface = read.interface});
  EXPECT_EQ(onnx_interface(folder_ / "m.h5"), read.interface);
  export_onnx(load_model(folder_ / "m.h5"), folder_ / "out.onnx",
              {.interface = onnx_interface(folder_ / "m.h5")});
  expect_alike(given, folder_ / "out.onnx", random({2, 3, 6, 10}));
  save_model(read.model, folder_ / "none.h5");
  EXPECT_TRUE(onnx_interface(folder_ / "none.h5").empty());
}

TEST_F(Interface, KeepsTheChannelsLast) {
  onnx::ModelProto model = model_of(
      "g (float[N,6,10,3] x) => (float[N,6,10,4] y) {\n"
      "  first = Transpose <perm = [0,3,1,2]> (x)\n"
      "  z = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (first, w)\n"
      "  y = Transpose <perm = [0,2,3,1]> (z)\n"
      "}");
  *model.mutable_graph()->add_initializer() =
      float_tensor("w", {4, 3, 3, 3}, std::vector<float>(108, 0.25f));
  const auto given = save_as("in.onnx", model);
  const OnnxImport read = import_onnx(given);
  export_onnx(read.model, folder_ / "out.onnx", {.interface = read.interface});
  expect_alike(given, folder_ / "out.onnx", random({2, 6, 10, 3}));
  EXPECT_EQ(transposes_in(folder_ / "out.onnx"), 2);
  export_onnx(
      read.model, folder_ / "first.onnx",
      {.interface = read.interface, .layout = OnnxLayout::channels_first});
  EXPECT_THAT(ports(inspect_onnx(folder_ / "first.onnx").outputs),
              ElementsAre("y float32[N,4,6,10]"));
  EXPECT_EQ(transposes_in(folder_ / "first.onnx"), 0);
}

TEST_F(Interface, LayoutOfOptionsTakesPrecedence) {
  const OnnxImport read = import_onnx(save_as("in.onnx", two_heads()));
  export_onnx(
      read.model, folder_ / "last.onnx",
      {.interface = read.interface, .layout = OnnxLayout::channels_last});
  EXPECT_THAT(ports(inspect_onnx(folder_ / "last.onnx").inputs),
              ElementsAre("image float32[batch,6,10,3]"));
  EXPECT_THAT(
      ports(inspect_onnx(folder_ / "last.onnx").outputs),
      ElementsAre("map float32[batch,6,10,4]", "boxes float32[batch,60,4]"));
}

TEST_F(Interface, KeepsAFixedBatch) {
  onnx::ModelProto model = two_heads();
  for (auto* value : {model.mutable_graph()->mutable_input(0),
                      model.mutable_graph()->mutable_output(0),
                      model.mutable_graph()->mutable_output(1)}) {
    value->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(0)
        ->set_dim_value(2);
  }
  const auto given = save_as("in.onnx", model);
  const OnnxImport read = import_onnx(given);
  EXPECT_EQ(read.interface.batch, 2);
  export_onnx(read.model, folder_ / "out.onnx", {.interface = read.interface});
  expect_alike(given, folder_ / "out.onnx", random({2, 3, 6, 10}));
  export_onnx(read.model, folder_ / "three.onnx",
              {.interface = read.interface, .batch = 3});
  EXPECT_THAT(ports(inspect_onnx(folder_ / "three.onnx").inputs),
              ElementsAre("image float32[3,3,6,10]"));
}

TEST_F(Interface, KeepsIntegersAndBooleans) {
  const auto given =
      save_as("in.onnx",
              model_of("g (int64[N,4] x) => (bool[N,4] y) {\n"
                       "  f = Cast <to = 1> (x)\n  y = Greater (f, zero)\n}"));
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(read_file(given)));
  *model.mutable_graph()->add_initializer() = float_tensor("zero", {}, {0.0f});
  save(model, given);
  const OnnxImport read = import_onnx(given);
  EXPECT_EQ(read.interface.inputs[0].type, "int64");
  EXPECT_EQ(read.interface.outputs[0].type, "bool");
  export_onnx(read.model, folder_ / "out.onnx", {.interface = read.interface});
  const Tensor y = load_onnx_reference(folder_ / "out.onnx")
                       .predict(Tensor::of<int64_t>({1, 4}, {-2, 0, 1, 300}));
  EXPECT_THAT(y.data<bool>(), ElementsAre(false, false, true, true));
}

TEST_F(Interface, RejectsArithmeticOnIntegersOfAnInput) {
  onnx::ModelProto model = model_of(
      "g (uint8[N,4] x) => (float[N,4] y) {\n"
      "  s = Add (x, x)\n  y = Cast <to = 1> (s)\n}");
  model.mutable_opset_import(0)->set_version(14);
  const auto given = save_as("in.onnx", model);
  EXPECT_EQ(failure_of<UnsupportedError>([&] { (void)load_onnx(given); }),
            (Failure{"unsupported_operator", "node 's' (Add)"}));
}

TEST_F(Interface, BytesAreMovedAndCast) {
  const auto given = save_as(
      "in.onnx", model_of("g (uint8[N,2,3,4] x) => (float[N,4,2,3] y) {\n"
                          "  t = Transpose <perm = [0,3,1,2]> (x)\n"
                          "  y = Cast <to = 1> (t)\n}"));
  const OnnxImport read = import_onnx(given);
  export_onnx(read.model, folder_ / "out.onnx", {.interface = read.interface});
  Tensor x(Shape{2, 2, 3, 4}, DType::u8);
  for (size_t i = 0; i < 48; ++i) {
    x.data<uint8_t>()[i] = static_cast<uint8_t>(5 * i);
  }
  expect_alike(given, folder_ / "out.onnx", x);
}

TEST_F(Interface, SharedFilesKeepTheirTypes) {
  for (const auto& [name, type] :
       {std::pair("uint8_input", "uint8"), std::pair("bool_input", "bool")}) {
    const auto given = testdata("faults/onnx/" + std::string(name) + ".onnx");
    if (!std::filesystem::exists(given)) GTEST_SKIP() << given;
    const OnnxImport read = import_onnx(given);
    EXPECT_EQ(read.interface.inputs.back().type, type);
    export_onnx(read.model, folder_ / "out.onnx",
                {.interface = read.interface});
    EXPECT_EQ(ports(inspect_onnx(folder_ / "out.onnx").inputs),
              ports(inspect_onnx(given).inputs));
  }
}

TEST_F(Interface, RejectsTheInterfaceOfAnotherModel) {
  const OnnxImport read = import_onnx(save_as("in.onnx", two_heads()));
  const SymbolicTensor x = input({4});
  const Model other(x, Dense({.units = 2})(x));
  EXPECT_EQ(failure_of<ValueError>(
                [&] { (void)to_onnx(other, {.interface = read.interface}); }),
            (Failure{"shape_mismatch", "ONNX interface"}));
  EXPECT_THROW(
      save_model(other, folder_ / "m.h5", {.interface = read.interface}),
      ValueError);
}

TEST_F(Interface, IsRejectedIfDamaged) {
  const Config good =
      to_config(OnnxInterface{.inputs = {{"x", "uint8", {0, 2, 3, 1}}},
                              .outputs = {{"y", "float32", {0, 1}}}});
  EXPECT_EQ(to_config(interface_from(good)), good);
  const auto with_port = [&](const Config& port) {
    Config config = good;
    config.set("inputs", Config::List{port});
    return config;
  };
  Config axes = good.at("inputs").as_list()[0];
  for (const Config& wrong :
       {Config(Config::List{1, 2}), Config(Config::List{0, 0}),
        Config(Config::List{0, 9}), Config(Config::List{"a"}), Config(3)}) {
    axes.set("axes", wrong);
    EXPECT_THROW((void)interface_from(with_port(axes)), FormatError);
  }
  Config type = good.at("inputs").as_list()[0];
  type.set("type", "complex64");
  EXPECT_THROW((void)interface_from(with_port(type)), FormatError);
  EXPECT_THROW((void)interface_from(with_port(Config("x"))), FormatError);
  EXPECT_THROW((void)interface_from(Config()), FormatError);
  EXPECT_THROW((void)interface_from(Config(good).set("batch", int64_t{-1})),
               FormatError);
}

TEST(OnnxTransposes, OfOutputsCancelThoseOfLayers) {
  const SymbolicTensor x = input({4, 6}, "x");
  const Model model(x, Permute({.dims = {2, 1}})(x));
  const OnnxInterface interface {
    .inputs = {{"x", "float32", {0, 2, 1}}}, .outputs = {
      {"y", "float32", {0, 1, 2}}
    }
  };
  const OnnxFile file = to_onnx(model, {.interface = interface});
  EXPECT_EQ(file.report.nodes, 1);  // the Identity from input to output
  const Tensor values = random({2, 6, 4});
  const Tensor y = onnx_reference_from_bytes(file.bytes).predict(values);
  EXPECT_TRUE(std::ranges::equal(y.f32(), values.f32()));
}

TEST(OnnxTransposes, OfLayersCancel) {
  const SymbolicTensor x = input({4, 6, 3}, "x");
  SymbolicTensor y = Permute({.dims = {3, 1, 2}, .name = "there"})(x);
  y = Permute({.dims = {2, 3, 1}, .name = "back"})(y);
  const Model model(x, Activation({.activation = "relu"})(y));
  const OnnxFile file = to_onnx(model);
  EXPECT_EQ(file.report.nodes, 1);
  const Tensor values = random({2, 4, 6, 3});
  const Tensor expected = model.predict(values).transposed({0, 3, 1, 2});
  const Tensor answer = onnx_reference_from_bytes(file.bytes)
                            .predict(values.transposed({0, 3, 1, 2}));
  EXPECT_TRUE(std::ranges::equal(answer.f32(), expected.f32()));
}

}  // namespace
}  // namespace octet::io
