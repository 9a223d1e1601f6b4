// Files with indices, masks, initial states and sequences with the steps first:
// export, import and both again. ONNX Runtime judges in
// tests/oracle/import_graphs.py and compare_layers.py.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/embedding.h>
#include <octet/layers/layers.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/quantize_model.h>
#include <octet/runtime/error.h>

#include "../layers/support.h"
#include "import_refusal.h"
#include "onnx_models.h"
#include "onnx_round_trip.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Tensor padded_ids() {
  return Tensor::of<int64_t>({3, 5}, {1, 2, 3, 4, 5, 6, 7, 0, 0, 0,  //
                                      0, 8, 0, 9, 0});
}

SymbolicTensor words(const SymbolicTensor& ids, bool mask_zero) {
  return Embedding({.input_dim = 10,
                    .output_dim = 4,
                    .mask_zero = mask_zero,
                    .name = "words"})(ids);
}

template <class Layers>
Model network(const Layers& layers) {
  const SymbolicTensor ids = input({5}, "ids");
  Model model(ids, layers(words(ids, true)), {.name = "text"});
  shake(model);
  return model;
}

std::vector<std::string> operators_of(const OnnxFile& file) {
  onnx::ModelProto model;
  model.ParseFromString(file.bytes);
  std::vector<std::string> result;
  for (const auto& node : model.graph().node()) {
    result.push_back(node.op_type());
  }
  return result;
}

void expect_same(const Model& model, const OnnxFile& file) {
  const Tensor x = padded_ids();
  expect_equal(onnx_reference_from_bytes(file.bytes).predict(x),
               model.predict(x));
}

TEST(OnnxIndices, AreInt64Inputs) {
  const SymbolicTensor ids = input({5}, "ids");
  const Model model(ids, Dense({.units = 2})(words(ids, false)));
  shake(model);
  const OnnxFile file = to_onnx(model);
  TempFolder folder;
  write_file(folder / "m.onnx", file.bytes);
  EXPECT_THAT(ports_of(inspect_onnx(folder / "m.onnx")),
              Contains("input int64[N,5]"));
  EXPECT_THAT(operators_of(file), Not(Contains("Cast")));
  expect_same(model, file);
  const OnnxImport again = import_onnx(folder / "m.onnx");
  EXPECT_THAT(names(again.model), Contains("words"));
  EXPECT_EQ(bits(again.model.predict(padded_ids())),
            bits(model.predict(padded_ids())));
  expect_round_trip(again, folder, {padded_ids()});
}

TEST(OnnxIndices, SelectRowsAfterACast) {
  for (const std::string type : {"float", "int32", "int64", "uint8"}) {
    TempFolder folder;
    onnx::ModelProto model = model_of("g (" + type +
                                      "[N,4] x) => (float[N,4,3] y) {\n"
                                      "  i = Cast <to = 7> (x)\n"
                                      "  y = Gather <axis = 0> (table, i)\n"
                                      "}");
    add_noise(model, "table", {9, 3});
    save(model, folder / "m.onnx");
    const OnnxImport read = import_onnx(folder / "m.onnx");
    EXPECT_THAT(index_limits(read.model), ElementsAre(9));
    const Tensor x = tensor({2, 4}, {0, 8, 3, 3, 1, 2, 7, 5});
    const Tensor y = read.model.predict(x);
    const Tensor table =
        read.model.layers().back()->parameters()[0].variable.value();
    EXPECT_EQ(values(y)[5], values(table)[8 * 3 + 2]);
    EXPECT_THROW((void)read.model.predict(tensor({1, 4}, {0, 9, 0, 0})),
                 ValueError);
    export_onnx(read.model, folder / "out.onnx", {.interface = read.interface});
    EXPECT_EQ(ports_of(inspect_onnx(folder / "out.onnx")),
              ports_of(inspect_onnx(folder / "m.onnx")));
  }
}

TEST(OnnxIndices, MayBeComparedButNotComputedWith) {
  const auto graph = [](const std::string& node) {
    onnx::ModelProto model = model_of(
        "g (int64[N,4] x) => (float[N,4] y)\n"
        "<int64 zero = {0}> {\n" +
        node + "\n}");
    return model;
  };
  TempFolder folder;
  save(graph("e = Equal(x, zero)\n y = Cast <to = 1> (e)"), folder / "m.onnx");
  const OnnxImport read = import_onnx(folder / "m.onnx");
  EXPECT_THAT(values(read.model.predict(tensor({1, 4}, {0, 1, 0, 3}))),
              ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(
      import_refusal(graph("e = Add(x, zero)\n y = Cast <to = 1> (e)")).message,
      HasSubstr("arithmetic with int64"));
}

TEST(OnnxMasks, AreExportedWithRecurrentLayers) {
  for (const bool sequences : {false, true}) {
    for (const bool backwards : {false, true}) {
      const Model model = network([&](const SymbolicTensor& x) {
        SymbolicTensor y = LSTM({.units = 3,
                                 .return_sequences = true,
                                 .go_backwards = backwards,
                                 .keep_order = true})(x);
        y = SimpleRNN({.units = 3,
                       .return_sequences = true,
                       .go_backwards = backwards,
                       .zero_output_for_mask = true})(y);
        return GRU({.units = 2,
                    .return_sequences = sequences,
                    .go_backwards = backwards})(y);
      });
      const OnnxFile file = to_onnx(model);
      EXPECT_THAT(operators_of(file), Contains("CumSum"));
      expect_same(model, file);
    }
  }
}

TEST(OnnxMasks, AreExportedWithAttentionAndPooling) {
  for (const bool causal : {false, true}) {
    const Model model = network([&](const SymbolicTensor& x) {
      const SymbolicTensor y = multi_head_attention(
          x, x, {.num_heads = 2, .key_dim = 3, .causal = causal});
      return GlobalAveragePooling1D()(y);
    });
    expect_same(model, to_onnx(model));
  }
}

TEST(OnnxMasks, PersistInModelFiles) {
  const Model model = network([](const SymbolicTensor& x) {
    return bidirectional(x, LSTM({.units = 3, .return_sequences = true}));
  });
  TempFolder folder;
  save_model(model, folder / "m.h5");
  EXPECT_EQ(bits(load_model(folder / "m.h5").predict(padded_ids())),
            bits(model.predict(padded_ids())));
}

TEST(OnnxIndices, StayFloatBesideQuantizedLayers) {
  const Model model = network([](const SymbolicTensor& x) {
    return Dense({.units = 3, .name = "scores"})(
        GlobalAveragePooling1D({.name = "mean"})(x));
  });
  Model int8 = quant::quantize_model(model);
  quant::calibrate(int8,
                   [&](const Model& m) { (void)m.predict(padded_ids()); });
  const OnnxFile file = to_onnx(int8);
  EXPECT_GE(file.report.qdq_pairs, 2);
  EXPECT_THAT(operators_of(file), Contains("Gather"));
  expect_same(int8, file);
}

TEST(OnnxRecurrent, TakesStepsFirst) {
  onnx::ModelProto model = graph_model(
      "(float[6,N,3] x, float[1,N,2] h, float[1,N,2] c) => "
      "(float[6,N,2] y, float[1,N,2] hn)",
      "all, hn = LSTM <hidden_size = 2> (x, W, R, B, , h, c)\n"
      "y = Squeeze(all, one)");
  add_noise(model, "W", {1, 8, 3});
  add_noise(model, "R", {1, 8, 2});
  add_noise(model, "B", {1, 16});
  onnx::TensorProto& one = *model.mutable_graph()->add_initializer();
  one.set_name("one");
  one.set_data_type(onnx::TensorProto::INT64);
  one.add_dims(1);
  one.add_int64_data(1);
  TempFolder folder;
  save(model, folder / "m.onnx");
  const OnnxImport read = import_onnx(folder / "m.onnx");
  EXPECT_EQ(read.model.inputs()[0].shape(), (Shape{Shape::kAnySize, 6, 3}));
  EXPECT_EQ(read.interface.inputs[0].axes, (std::vector{1, 0, 2}));
  expect_round_trip(read, folder,
                    {noise({6, 4, 3}), noise({1, 4, 2}), noise({1, 4, 2})});
  const std::vector<Tensor> x{noise({4, 6, 3}), noise({4, 1, 2}),
                              noise({4, 1, 2})};
  std::vector<Tensor> in_file;
  for (const Tensor& each : x) in_file.push_back(each.transposed({1, 0, 2}));
  const auto expected = load_onnx_reference(folder / "m.onnx").predict(in_file);
  const auto y = read.model.predict(x);
  ASSERT_EQ(y.size(), 2u);
  for (size_t i = 0; i < y.size(); ++i) {
    expect_equal(y[i].transposed({1, 0, 2}), expected[i]);
  }
}

}  // namespace
}  // namespace octet::io
