// Damaged, malicious or unsupported files are rejected quickly, with the object
// and the reason.
#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>

#include "keras_files.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// --- the project's corpus ----------------------------------------------------

class BadInputs : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder())) {
      GTEST_SKIP() << testdata() << ": expected the shared test data";
    }
  }
  static std::filesystem::path folder() { return testdata("bad_inputs"); }
  static std::vector<std::filesystem::path> files(const std::string& start) {
    std::vector<std::filesystem::path> result;
    for (const auto& entry : std::filesystem::directory_iterator(folder())) {
      const auto& path = entry.path();
      if (path.extension() == ".h5" &&
          path.filename().string().starts_with(start)) {
        result.push_back(path);
      }
    }
    std::ranges::sort(result);
    return result;
  }
};

TEST_F(BadInputs, ValidFilesLoad) {
  ASSERT_EQ(files("ok_").size(), 9u);
  for (const auto& path : files("ok_")) {
    SCOPED_TRACE(path.string());
    const Model model = load_keras(path);
    EXPECT_EQ(model.parameter_count(), 20);
    const Tensor y = model.predict(Tensor::full({1, 4, 4, 1}, 1));
    EXPECT_EQ(y.shape(), (Shape{1, 4, 4, 2}));
  }
}

const std::map<std::string, Failure>& reasons() {
  static const std::map<std::string, Failure> all{
      {"bad_json", {"malformed_file", "JSON"}},
      {"bad_json_deep", {"malformed_file", "JSON"}},
      {"bad_config_missing", {"missing_value", "model_config"}},
      {"bad_config_int", {"invalid_value", "model_config"}},
      {"bad_layer_names_missing", {"malformed_file", "layer_names"}},
      {"bad_layer_group_missing", {"malformed_file", "layer_names"}},
      {"bad_weight_missing", {"unknown_name", "'/model_weights/c/c/nope:0'"}},
      {"bad_weight_is_group",
       {"malformed_file", "'/model_weights/c/c/kernel:0'"}},
      {"bad_shape", {"shape_mismatch", "'/model_weights/c/c/kernel:0'"}},
      {"bad_rank", {"shape_mismatch", "'/model_weights/c/c/kernel:0'"}},
      {"bad_scalar", {"shape_mismatch", "'/model_weights/c/c/kernel:0'"}},
      {"bad_empty", {"shape_mismatch", "'/model_weights/c/c/kernel:0'"}},
      {"bad_string_dtype",
       {"unsupported_type", "'/model_weights/c/c/kernel:0'"}},
      {"bad_compound_dtype",
       {"unsupported_type", "'/model_weights/c/c/kernel:0'"}},
      {"bad_complex_dtype",
       {"unsupported_type", "'/model_weights/c/c/kernel:0'"}},
      {"bad_shape_bomb", {"shape_mismatch", "'/model_weights/c/c/kernel:0'"}},
      {"bad_dim_overflow", {"size_limit", "'/model_weights/c/c/kernel:0'"}},
      {"bad_soft_link_cycle", {"unsupported_format", "'/model_weights/c/c'"}},
      {"bad_external_link",
       {"unsupported_format", "'/model_weights/c/c/kernel:0'"}},
      {"bad_external_storage",
       {"shape_mismatch", "'/model_weights/c/c/kernel:0'"}},
      {"bad_nan", {"not_finite", "values"}},
      {"bad_weight_name_empty", {"invalid_value", "weight_names"}},
      {"bad_too_many_weights",
       {"count_mismatch", "weights of layer 'c' (Conv2D)"}},
      {"bad_cfg_stride0", {"out_of_range", "strides"}},
      {"bad_cfg_stride_neg", {"out_of_range", "strides"}},
      {"bad_cfg_kernel0", {"out_of_range", "kernel_size"}},
      {"bad_cfg_kernel_str", {"invalid_value", "configuration"}},
      {"bad_cfg_filters_huge", {"out_of_range", "filters"}},
      {"bad_cfg_filters_neg", {"out_of_range", "filters"}},
      {"bad_cfg_filters_float", {"invalid_value", "configuration"}},
      {"bad_cfg_padding", {"invalid_value", "padding"}},
      {"bad_cfg_data_format",
       {"shape_mismatch", "'/model_weights/c/c/kernel:0'"}},
      {"bad_cfg_groups", {"out_of_range", "groups"}},
      {"bad_cfg_activation", {"unknown_name", "activation"}},
      {"bad_cfg_name_missing", {"missing_value", "layers"}},
      {"bad_cfg_unknown_layer", {"unsupported_layer", "layers"}},
      {"bad_cfg_input_negative", {"out_of_range", "batch_input_shape"}},
      {"bad_cfg_no_layers", {"invalid_graph", "layers"}},
      {"bad_fn_cycle", {"invalid_graph", "the input of layer 'c' (Conv2D)"}},
      {"bad_fn_dangling", {"unknown_name", "the input of layer 'c' (Conv2D)"}},
      {"bad_fn_node_index",
       {"out_of_range", "the input of layer 'c' (Conv2D)"}},
      {"bad_fn_output", {"unknown_name", "output_layers"}},
      {"bad_fn_no_inbound", {"invalid_graph", "inbound_nodes"}},
      {"bad_truncated", {"malformed_file", "HDF5 file"}},
      {"bad_zero_length", {"unsupported_format", "file"}},
      {"bad_not_hdf5", {"truncated_file", "ZIP file"}},
  };
  return all;
}

TEST_F(BadInputs, BadFilesAreRejectedWithTheObjectAndTheReason) {
  for (const auto& path : files("bad_")) {
    const auto expected = reasons().find(path.stem().string());
    ASSERT_NE(expected, reasons().end()) << path;
    const auto load = [&] { (void)load_keras(path); };
    Failure failure = failure_of<FormatError>(load);
    if (!failed(failure)) failure = failure_of<UnsupportedError>(load);
    EXPECT_EQ(failure, expected->second) << path;
    EXPECT_THAT(failure.context, Contains("in file '" + path.string() + "'"));
  }
}

TEST_F(BadInputs, MutatedFilesAreLoadedOrRejected) {
  ASSERT_EQ(files("fuzz_").size(), 10u);
  for (const auto& path : files("fuzz_")) {
    try {
      EXPECT_EQ(load_keras(path).parameter_count(), 20);
    } catch (const FormatError& error) {
      EXPECT_THAT(error.context(), Contains("in file '" + path.string() + "'"));
    } catch (const UnsupportedError& error) {
      EXPECT_THAT(error.context(), Contains("in file '" + path.string() + "'"));
    }
  }
}

// --- architectures -----------------------------------------------------------

/// Returns load_keras' error for a file with this architecture and no weights.
template <class Expected = FormatError>
Failure refusal(const std::string& architecture,
                const KerasOptions& options = {}) {
  const TempFolder folder;
  KerasFile(architecture).write(folder / "m.h5");
  return failure_of<Expected>(
      [&] { (void)load_keras(folder / "m.h5", options); });
}

std::string after_input(const std::string& layer) {
  return keras_sequential({keras_input("i"), layer});
}

std::string after_tokens(const std::string& layer) {
  return keras_sequential({keras_input("i", "[null,4,6]"), layer});
}

TEST(KerasArchitecture, AllUnknownLayersAreListedAtOnce) {
  const std::string inner =
      keras_functional({keras_input("x", "[null,3]"),
                        keras_layer("Lambda", "f", "", R"([[["x",0,0]]])")},
                       R"([["x",0,0]])", R"([["f",0,0]])", "inner");
  std::string nested = inner;
  nested.pop_back();
  nested += R"(,"inbound_nodes":[[["i",0,0]]]})";
  const Failure failure = refusal<UnsupportedError>(keras_functional(
      {keras_input("i", "[null,3]"), nested,
       keras_layer("ConvLSTM2D", "memory", "", R"([[["inner",1,0]]])"),
       keras_layer("TFOpLambda", "mean", R"("function":"math.cumsum")",
                   R"([["memory",0,0,{"axis":1}]])"),
       keras_layer("pkg>Swish", "act", "", R"([[["mean",0,0]]])")},
      R"([["i",0,0]])", R"([["act",0,0]])"));
  EXPECT_EQ(failure, (Failure{"unsupported_layer", "layers"}));
  for (const char* layer :
       {"'f' (Lambda)", "'memory' (ConvLSTM2D)",
        "'mean' (TFOpLambda of math.cumsum)", "'act' (Swish)"}) {
    EXPECT_THAT(failure.message, HasSubstr(layer));
  }
}

TEST(KerasArchitecture, ImpossibleWeightsAreNotAllocated) {
  for (const std::string& layer :
       {keras_layer("Dense", "d", R"("units":2147483647)"),
        keras_layer("Conv2D", "d",
                    R"("filters":1000000000,"kernel_size":[3,3])"),
        keras_layer("SeparableConv2D", "d",
                    R"("filters":9,"kernel_size":[1048575,1048575],)"
                    R"("padding":"same")"),
        keras_layer("DepthwiseConv2D", "d",
                    R"("depth_multiplier":2000000000,"kernel_size":1)")}) {
    EXPECT_EQ(refusal(after_input(layer)),
              (Failure{"size_limit", "parameters"}))
        << layer;
  }
  // One per value of a sample.
  EXPECT_EQ(
      refusal(keras_sequential({keras_input("i", "[null,100000,100000,3]"),
                                keras_layer("PReLU", "d")})),
      (Failure{"size_limit", "parameters"}));
  // Many small arrays.
  std::vector<std::string> layers{keras_input("i")};
  for (int k = 0; k < 40; ++k) {
    layers.push_back(
        keras_layer("Dense", fmt::format("d{}", k), R"("units":1000)"));
  }
  EXPECT_EQ(refusal(keras_sequential(layers)),
            (Failure{"size_limit", "parameters"}));
}

TEST(KerasArchitecture, NestedModelsAreLimited) {
  std::string model = keras_functional(
      {keras_input("i"), keras_layer("ReLU", "x", "", R"([[["i",0,0]]])")},
      R"([["i",0,0]])", R"([["x",0,0]])", "x");
  for (int depth = 0; depth < 15; ++depth) {
    model.pop_back();
    model += R"(,"inbound_nodes":[[["i",0,0]],[["x",1,0]],[["x",2,0]],)"
             R"([["x",3,0]],[["x",4,0]],[["x",5,0]],[["x",6,0]],[["x",7,0]]]})";
    model = keras_functional({keras_input("i"), model}, R"([["i",0,0]])",
                             R"([["x",8,0]])", "x");
  }
  EXPECT_EQ(refusal(model), (Failure{"size_limit", "layers"}));
}

TEST(KerasArchitecture, ReportsMissingAndWronglyTypedEntries) {
  const std::map<std::string, Failure> texts{
      {"[1,2]", {"invalid_value", "configuration"}},
      {"{}", {"unknown_name", "configuration"}},
      {R"({"class_name":"Sequential"})", {"unknown_name", "configuration"}},
      {R"({"class_name":"Sequential","config":{}})",
       {"unknown_name", "configuration"}},
      {R"({"class_name":"Sequential","config":{"layers":{}}})",
       {"invalid_value", "configuration"}},
      {R"({"class_name":"Sequential","config":[{"class_name":"ReLU",)"
       R"("config":null}]})",
       {"missing_value", "layers"}},
      {keras_sequential({keras_input("i"), keras_input("j")}),
       {"invalid_graph", "layers"}},
      {keras_sequential({keras_input("i"), keras_layer("ReLU", "i")}),
       {"duplicate_name", "layers"}},
      {keras_sequential({keras_input("i", "[]"), keras_layer("ReLU", "r")}),
       {"invalid_shape", "batch_input_shape"}},
      {keras_sequential({keras_input("i", "[null,1,1,1,1,1,1,1,1]")}),
       {"invalid_shape", "shape"}},
      {after_input(keras_layer("ReLU", std::string(2000, 'x'))),
       {"size_limit", "layers"}},
      {after_input(keras_layer("Conv2D", "c",
                               R"("filters":2,)"
                               R"("kernel_size":3,"use_bias":2)")),
       {"invalid_value", "use_bias"}},
      {after_input(keras_layer("Conv2D", "c",
                               R"("filters":2,)"
                               R"("kernel_size":3,"data_format":"hw")")),
       {"invalid_value", "data_format"}},
      {after_tokens(keras_layer("TimeDistributed", "t")),
       {"unknown_name", "configuration"}},
      {after_tokens(keras_layer("EinsumDense", "e",
                                R"("equation":"abc","output_shape":[4,3])")),
       {"invalid_value", "equation"}},
      {after_tokens(keras_layer("EinsumDense", "e",
                                R"("equation":"abc,cdef->abdef",)"
                                R"("output_shape":[4,99999,99999,99])")),
       {"size_limit", "output_shape"}},
      {after_tokens(keras_layer("Conv1DTranspose", "c",
                                R"("filters":2,"kernel_size":[])")),
       {"invalid_shape", "kernel_size"}},
      {after_tokens(
           keras_layer("AdaptiveMaxPooling1D", "p", R"("output_size":[])")),
       {"invalid_shape", "output_size"}},
      {keras_functional({keras_input("i")}, "[]", R"([["i",0,0]])"),
       {"invalid_graph", "input_layers, output_layers"}},
      {keras_functional(
           {keras_input("i"), keras_layer("ReLU", "r", "", R"([[["i",0]]])")},
           R"([["i",0,0]])", R"([["r",0,0]])"),
       {"invalid_graph", "inbound_nodes"}},
      {keras_functional(
           {keras_input("i"), keras_layer("ReLU", "r", "", R"([[["i",0,1]]])")},
           R"([["i",0,0]])", R"([["r",0,0]])"),
       {"out_of_range", "the input of layer 'r' (ReLU)"}},
      {keras_functional(
           {keras_input("i"), keras_layer("ReLU", "r", "", R"([[["i",0,0]]])")},
           R"([["r",0,0]])", R"([["r",0,0]])"),
       {"invalid_graph", "input_layers"}},
      {keras_functional(
           {keras_input("i"), keras_input("j"),
            keras_layer("Add", "a", "", R"([[["i",0,0],["j",0,0]]])")},
           R"([["i",0,0]])", R"([["a",0,0]])"),
       {"invalid_graph", "input_layers"}},
      {keras_functional(
           {keras_input("i"), keras_layer("Dense", "d", R"("units":2)",
                                          R"([[["i",0,0],["i",0,0]]])")},
           R"([["i",0,0]])", R"([["d",0,0]])"),
       {"count_mismatch", "inputs"}},
  };
  for (const auto& [architecture, expected] : texts) {
    EXPECT_EQ(refusal(architecture), expected) << architecture.substr(0, 300);
  }
}

TEST(KerasArchitecture, ReportsUnsupportedFeatures) {
  const std::map<std::string, Failure> texts{
      {R"({"class_name":"MyModel","config":{"name":"x"}})",
       {"unsupported_model", "model"}},
      {after_input(keras_layer("BatchNormalization", "b", R"("axis":2)")),
       {"unsupported_attribute", "axis"}},
      {after_input(keras_layer("BatchNormalization", "b", R"("mode":2)")),
       {"unsupported_value", "mode"}},
      {after_input(keras_layer("LayerNormalization", "l", R"("axis":[1,2])")),
       {"unsupported_attribute", "axis"}},
      {after_input(keras_layer(
           "Dense", "d",
           R"("units":2,"dtype":{"class_name":"QuantizedDTypePolicy",)"
           R"("config":{"mode":"int8","source_name":"float32"}})")),
       {"unsupported_type", "dtype"}},
      {after_input(keras_layer("Dense", "d",
                               R"("units":2,"dtype":"int8_from_float32")")),
       {"unsupported_type", "dtype"}},
      {after_input(
           keras_layer("Dense", "d", R"("units":2,"activation":"glu")")),
       {"unknown_name", "activation"}},
      {keras_functional({keras_input("i"),
                         keras_layer("Dropout", "d", R"("rate":0.5)",
                                     R"([[["i",0,0,{"training":true}]]])")},
                        R"([["i",0,0]])", R"([["d",0,0]])"),
       {"unsupported_attribute", "inbound_nodes"}},
      {keras_functional({keras_input("i"),
                         keras_layer("ReLU", "r", "",
                                     R"([[["i",0,0,{"mask":["i",0,0]}]]])")},
                        R"([["i",0,0]])", R"([["r",0,0]])"),
       {"unsupported_attribute", "inbound_nodes"}},
      {keras_functional({keras_input("i", "[null,4,6]"),
                         keras_layer("MultiHeadAttention", "a",
                                     R"("num_heads":2,"key_dim":3)",
                                     R"([[["i",0,0,{"value":["i",0,0],)"
                                     R"("return_attention_scores":true}]]])")},
                        R"([["i",0,0]])", R"([["a",0,0]])"),
       {"unsupported_attribute", "return_attention_scores"}},
      {after_tokens(
           keras_layer("EinsumDense", "e",
                       R"("equation":"abc,bcd->abd","output_shape":[4,3])")),
       {"unsupported_attribute", "equation"}},
      {after_tokens(
           keras_layer("EinsumDense", "e",
                       R"("equation":"abc,cd->abd","output_shape":[4,3],)"
                       R"("bias_axes":"bd")")),
       {"unsupported_attribute", "equation"}},
      {after_tokens(
           keras_layer("AdaptiveAveragePooling1D", "p", R"("output_size":3)")),
       {"unsupported_attribute", "output_size"}},
      {keras_sequential(
           {keras_input("i", "[null,4,6,5,3]"),
            keras_layer("TimeDistributed", "t",
                        R"("layer":)" + keras_layer("UpSampling2D", "u",
                                                    R"("data_format":)"
                                                    R"("channels_first")"))}),
       {"unsupported_attribute", "data_format"}},
      {keras_functional({keras_input("i", "[null,4,6]"),
                         keras_layer("Attention", "a", R"("use_scale":true)",
                                     R"([[["i",0,0,{}],["i",0,0,{}]]])")},
                        R"([["i",0,0]])", R"([["a",0,0]])"),
       {"unsupported_attribute", "use_scale, score_mode"}},
      {keras_sequential(
           {keras_input("i", "[null,null,null,3]"), keras_layer("ReLU", "r")}),
       {"missing_value", "input shape"}},
      {keras_sequential({keras_layer("ReLU", "r")}),
       {"missing_value", "input shape"}},
  };
  for (const auto& [architecture, expected] : texts) {
    EXPECT_EQ(refusal<UnsupportedError>(architecture), expected)
        << architecture.substr(0, 300);
  }
}

TEST(KerasArchitecture, NamesFromFilesArePrintable) {
  const Failure failure = refusal<UnsupportedError>(
      after_input(keras_layer("Evil\\u001b[31m", "x\\u0007")));
  EXPECT_THAT(failure.message, HasSubstr("'x?' (Evil?[31m)"));
}

TEST(KerasArchitecture, LongChainsInAnyOrderAreRead) {
  std::vector<std::string> layers{keras_input("i")};
  constexpr int kLayers = 5000;
  for (int k = kLayers; k-- > 0;) {
    layers.push_back(
        keras_layer("ReLU", fmt::format("r{}", k), "",
                    k == 0 ? R"([[["i",0,0]]])"
                           : fmt::format(R"([[["r{}",0,0]]])", k - 1)));
  }
  const TempFolder folder;
  KerasFile(keras_functional(layers, R"([["i",0,0]])",
                             fmt::format(R"([["r{}",0,0]])", kLayers - 1)))
      .write(folder / "m.h5");
  const Model model = load_keras(folder / "m.h5");
  EXPECT_EQ(model.layers().size(), kLayers + 1u);
}

TEST(KerasArchive, ReportsMissingMembers) {
  const TempFolder folder;
  write_file(folder / "m.keras", "PK\x03\x04");
  EXPECT_EQ(
      failure_of<FormatError>([&] { (void)load_keras(folder / "m.keras"); }),
      (Failure{"truncated_file", "ZIP file"}));
  EXPECT_EQ(failure_of<IoError>([&] { (void)load_keras(folder / "none"); }),
            (Failure{"file_not_found", (folder / "none").string()}));
  write_file(folder / "m.json", "{}");
  EXPECT_EQ(
      failure_of<FormatError>([&] { (void)load_keras(folder / "m.json"); }),
      (Failure{"unsupported_format", "file"}));
  write_file(folder / "m.txt", "no model");
  EXPECT_EQ(
      failure_of<FormatError>([&] { (void)load_keras(folder / "m.txt"); }),
      (Failure{"unsupported_format", "file"}));
}

TEST(KerasFiles, AreDetectedByTheirContents) {
  EXPECT_TRUE(is_keras_file(keras_golden("k1_tf.h5")));
  EXPECT_TRUE(is_keras_file(keras_golden("k3_bfloat16.keras")));
  EXPECT_FALSE(is_keras_file(keras_golden("k1_tf.json")));
  EXPECT_FALSE(is_keras_file(keras_golden("none")));
  const TempFolder folder;
  // A user block of 1024 bytes before the file.
  write_file(folder / "m",
             std::string(1024, 'x') + read_file(keras_golden("k1_tf.h5")));
  EXPECT_TRUE(is_keras_file(folder / "m"));
}

}  // namespace
}  // namespace octet::io
