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

using ::testing::AllOf;
using ::testing::AnyOf;
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
      {"bad_json", {"@2001", ""}},
      {"bad_json_deep", {"@2002", ""}},
      {"bad_config_missing", {"@2003", ""}},
      {"bad_config_int", {"@2004", ""}},
      {"bad_layer_names_missing", {"@2005", ""}},
      {"bad_layer_group_missing", {"@2006", ""}},
      {"bad_weight_missing", {"@2007", ""}},
      {"bad_weight_is_group", {"@2008", ""}},
      {"bad_shape", {"@2009", ""}},
      {"bad_rank", {"@2010", ""}},
      {"bad_scalar", {"@2011", ""}},
      {"bad_empty", {"@2012", ""}},
      {"bad_string_dtype", {"@2013", ""}},
      {"bad_compound_dtype", {"@2014", ""}},
      {"bad_complex_dtype", {"@2015", ""}},
      {"bad_shape_bomb", {"@2016", ""}},
      {"bad_dim_overflow", {"@2017", ""}},
      {"bad_soft_link_cycle", {"@2018", ""}},
      {"bad_external_link", {"@2019", ""}},
      {"bad_external_storage", {"@2020", ""}},
      {"bad_nan", {"@2021", ""}},
      {"bad_weight_name_empty", {"@2022", ""}},
      {"bad_too_many_weights", {"@2023", ""}},
      {"bad_cfg_stride0", {"@2024", ""}},
      {"bad_cfg_stride_neg", {"@2025", ""}},
      {"bad_cfg_kernel0", {"@2026", ""}},
      {"bad_cfg_kernel_str", {"@2027", ""}},
      {"bad_cfg_filters_huge", {"@2028", ""}},
      {"bad_cfg_filters_neg", {"@2029", ""}},
      {"bad_cfg_filters_float", {"@2030", ""}},
      {"bad_cfg_padding", {"@2031", ""}},
      {"bad_cfg_data_format", {"@2032", ""}},
      {"bad_cfg_groups", {"@2033", ""}},
      {"bad_cfg_activation", {"@2034", ""}},
      {"bad_cfg_name_missing", {"@2035", ""}},
      {"bad_cfg_unknown_layer", {"@2036", ""}},
      {"bad_cfg_input_negative", {"@2037", ""}},
      {"bad_cfg_no_layers", {"@2038", ""}},
      {"bad_fn_cycle", {"@2039", ""}},
      {"bad_fn_dangling", {"@2040", ""}},
      {"bad_fn_node_index", {"@2041", ""}},
      {"bad_fn_output", {"@2042", ""}},
      {"bad_fn_no_inbound", {"@2043", ""}},
      {"bad_truncated", {"@2044", ""}},
      {"bad_zero_length", {"@2045", ""}},
      {"bad_not_hdf5", {"@2046", ""}},
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
    EXPECT_THAT(failure.message, HasSubstr(path.string()));
  }
}

TEST_F(BadInputs, MutatedFilesAreLoadedOrRejected) {
  ASSERT_EQ(files("fuzz_").size(), 10u);
  for (const auto& path : files("fuzz_")) {
    try {
      EXPECT_EQ(load_keras(path).parameter_count(), 20);
    } catch (const FormatError& error) {
      EXPECT_THAT(error.what(), HasSubstr(path.string()));
    } catch (const UnsupportedError& error) {
      EXPECT_THAT(error.what(), HasSubstr(path.string()));
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
       keras_layer("LSTM", "memory", "", R"([[["inner",1,0]]])"),
       keras_layer("TFOpLambda", "mean", R"("function":"math.cumsum")",
                   R"([["memory",0,0,{"axis":1}]])"),
       keras_layer("pkg>Swish", "act", "", R"([[["mean",0,0]]])")},
      R"([["i",0,0]])", R"([["act",0,0]])"));
  EXPECT_EQ(failure, (Failure{"unsupported_layer", "layers"}));
  for (const char* layer :
       {"'f' (Lambda)", "'memory' (LSTM)", "'mean' (TFOpLambda of math.cumsum)",
        "'act' (Swish)"}) {
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
    EXPECT_EQ(refusal(after_input(layer)), (Failure{"@1030", ""})) << layer;
  }
  // One per value of a sample.
  EXPECT_EQ(
      refusal(keras_sequential({keras_input("i", "[null,100000,100000,3]"),
                                keras_layer("PReLU", "d")})),
      (Failure{"@241", ""}));
  // Many small arrays.
  std::vector<std::string> layers{keras_input("i")};
  for (int k = 0; k < 40; ++k) {
    layers.push_back(
        keras_layer("Dense", fmt::format("d{}", k), R"("units":1000)"));
  }
  EXPECT_EQ(refusal(keras_sequential(layers)), (Failure{"@242", ""}));
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
  EXPECT_EQ(refusal(model), (Failure{"@243", ""}));
}

TEST(KerasArchitecture, ReportsMissingAndWronglyTypedEntries) {
  const std::map<std::string, Failure> texts{
      {"[1,2]", {"@2047", ""}},
      {"{}", {"@2048", ""}},
      {R"({"class_name":"Sequential"})", {"@2049", ""}},
      {R"({"class_name":"Sequential","config":{}})", {"@2050", ""}},
      {R"({"class_name":"Sequential","config":{"layers":{}}})", {"@2051", ""}},
      {R"({"class_name":"Sequential","config":[{"class_name":"ReLU",)"
       R"("config":null}]})",
       {"@2052", ""}},
      {keras_sequential({keras_input("i"), keras_input("j")}), {"@2053", ""}},
      {keras_sequential({keras_input("i"), keras_layer("ReLU", "i")}),
       {"@2054", ""}},
      {keras_sequential({keras_input("i", "[]"), keras_layer("ReLU", "r")}),
       {"@2055", ""}},
      {keras_sequential({keras_input("i", "[null,1,1,1,1,1,1,1,1]")}),
       {"@2056", ""}},
      {after_input(keras_layer("ReLU", std::string(2000, 'x'))), {"@2057", ""}},
      {after_input(keras_layer("Conv2D", "c",
                               R"("filters":2,)"
                               R"("kernel_size":3,"use_bias":2)")),
       {"@2058", ""}},
      {after_input(keras_layer("Conv2D", "c",
                               R"("filters":2,)"
                               R"("kernel_size":3,"data_format":"hw")")),
       {"@2059", ""}},
      {keras_functional({keras_input("i")}, "[]", R"([["i",0,0]])"),
       {"@2060", ""}},
      {keras_functional(
           {keras_input("i"), keras_layer("ReLU", "r", "", R"([[["i",0]]])")},
           R"([["i",0,0]])", R"([["r",0,0]])"),
       {"@2061", ""}},
      {keras_functional(
           {keras_input("i"), keras_layer("ReLU", "r", "", R"([[["i",0,1]]])")},
           R"([["i",0,0]])", R"([["r",0,0]])"),
       {"@2062", ""}},
      {keras_functional(
           {keras_input("i"), keras_layer("ReLU", "r", "", R"([[["i",0,0]]])")},
           R"([["r",0,0]])", R"([["r",0,0]])"),
       {"@2063", ""}},
      {keras_functional(
           {keras_input("i"), keras_input("j"),
            keras_layer("Add", "a", "", R"([[["i",0,0],["j",0,0]]])")},
           R"([["i",0,0]])", R"([["a",0,0]])"),
       {"@2064", ""}},
      {keras_functional(
           {keras_input("i"), keras_layer("Dense", "d", R"("units":2)",
                                          R"([[["i",0,0],["i",0,0]]])")},
           R"([["i",0,0]])", R"([["d",0,0]])"),
       {"@2065", ""}},
  };
  for (const auto& [architecture, expected] : texts) {
    EXPECT_EQ(refusal(architecture), expected) << architecture.substr(0, 300);
  }
}

TEST(KerasArchitecture, ReportsUnsupportedFeatures) {
  const std::map<std::string, Failure> texts{
      {R"({"class_name":"MyModel","config":{"name":"x"}})", {"@2066", ""}},
      {after_input(keras_layer("BatchNormalization", "b", R"("axis":2)")),
       {"@2067", ""}},
      {after_input(keras_layer("BatchNormalization", "b", R"("mode":2)")),
       {"@2068", ""}},
      {after_input(keras_layer("LayerNormalization", "l", R"("axis":[1,2])")),
       {"@2069", ""}},
      {after_input(keras_layer(
           "Dense", "d",
           R"("units":2,"dtype":{"class_name":"QuantizedDTypePolicy",)"
           R"("config":{"mode":"int8","source_name":"float32"}})")),
       {"@2070", ""}},
      {after_input(keras_layer("Dense", "d",
                               R"("units":2,"dtype":"int8_from_float32")")),
       {"@2071", ""}},
      {after_input(
           keras_layer("Dense", "d", R"("units":2,"activation":"glu")")),
       {"@2072", ""}},
      {keras_functional({keras_input("i"),
                         keras_layer("Dropout", "d", R"("rate":0.5)",
                                     R"([[["i",0,0,{"training":true}]]])")},
                        R"([["i",0,0]])", R"([["d",0,0]])"),
       {"@2073", ""}},
      {keras_functional({keras_input("i"),
                         keras_layer("ReLU", "r", "",
                                     R"([[["i",0,0,{"mask":["i",0,0]}]]])")},
                        R"([["i",0,0]])", R"([["r",0,0]])"),
       {"@2074", ""}},
      {keras_functional({keras_input("i", "[null,4,6]"),
                         keras_layer("MultiHeadAttention", "a",
                                     R"("num_heads":2,"key_dim":3)",
                                     R"([[["i",0,0,{"value":["i",0,0],)"
                                     R"("use_causal_mask":true}]]])")},
                        R"([["i",0,0]])", R"([["a",0,0]])"),
       {"@2075", ""}},
      {keras_sequential(
           {keras_input("i", "[null,null,null,3]"), keras_layer("ReLU", "r")}),
       {"@2076", ""}},
      {keras_sequential({keras_layer("ReLU", "r")}), {"@2077", ""}},
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
      (Failure{"@246", ""}));
  EXPECT_EQ(failure_of<IoError>([&] { (void)load_keras(folder / "none"); }),
            (Failure{"@247", ""}));
  write_file(folder / "m.json", "{}");
  EXPECT_EQ(
      failure_of<FormatError>([&] { (void)load_keras(folder / "m.json"); }),
      (Failure{"@248", ""}));
  write_file(folder / "m.txt", "no model");
  EXPECT_EQ(
      failure_of<FormatError>([&] { (void)load_keras(folder / "m.txt"); }),
      (Failure{"@249", ""}));
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
