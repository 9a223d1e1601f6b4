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

// Required content of the messages besides the file name.
const std::map<std::string, std::vector<std::string>>& reasons() {
  static const std::map<std::string, std::vector<std::string>> all{
      {"bad_json", {"JSON, line 1"}},
      {"bad_json_deep", {"at most 100 levels"}},
      {"bad_config_missing", {"model_config", "KerasOptions::architecture"}},
      {"bad_config_int", {"model_config", "string of JSON"}},
      {"bad_layer_names_missing", {"layer_names", "'model_weights'"}},
      {"bad_layer_group_missing", {"model_weights/zzz"}},
      {"bad_weight_missing", {"'c'", "nope", "got none"}},
      {"bad_weight_is_group", {"'c'", "expected a dataset, got a group"}},
      {"bad_shape",
       {"'kernel' of layer 'c' (Conv2D)", "[3,3,1,2]", "[3,3,5,2]"}},
      {"bad_rank", {"'kernel' of layer 'c'", "[9,2]"}},
      {"bad_scalar", {"'kernel' of layer 'c'", "[3,3,1,2]"}},
      {"bad_empty", {"'kernel' of layer 'c'", "[3,3,0,2]"}},
      {"bad_string_dtype", {"'kernel' of layer 'c'", "floats", "strings"}},
      {"bad_compound_dtype", {"'kernel' of layer 'c'", "compound"}},
      {"bad_complex_dtype", {"'kernel' of layer 'c'", "compound"}},
      {"bad_shape_bomb", {"'kernel' of layer 'c'", "[1048576,1048576]"}},
      {"bad_dim_overflow", {"'kernel' of layer 'c'", "2147483648"}},
      {"bad_soft_link_cycle", {"hard link", "soft link"}},
      {"bad_external_link", {"hard link", "external link"}},
      {"bad_external_storage", {"'kernel' of layer 'c'"}},
      {"bad_nan", {"'kernel' of layer 'c'", "finite", "nan"}},
      {"bad_weight_name_empty", {"layer 'c'", "weight_names", "empty"}},
      {"bad_too_many_weights", {"layer 'c'", "expected 2", "got 3"}},
      {"bad_cfg_stride0", {"'c' (Conv2D)", "strides", "at least 1, got 0"}},
      {"bad_cfg_stride_neg", {"'c' (Conv2D)", "strides", "got -1"}},
      {"bad_cfg_kernel0", {"'c' (Conv2D)", "kernel_size", "got 0"}},
      {"bad_cfg_kernel_str", {"'c' (Conv2D)", "kernel_size", "a string"}},
      {"bad_cfg_filters_huge", {"'c' (Conv2D)", "filters", "at most"}},
      {"bad_cfg_filters_neg", {"'c' (Conv2D)", "filters", "got -2"}},
      {"bad_cfg_filters_float", {"'c' (Conv2D)", "filters", "an integer"}},
      {"bad_cfg_padding", {"'c' (Conv2D)", "padding", "'reflect'"}},
      {"bad_cfg_data_format", {"'c' (Conv2D)", "[3,3,4,2]", "[3,3,1,2]"}},
      {"bad_cfg_groups", {"'c' (Conv2D)", "groups", "got 3"}},
      {"bad_cfg_activation", {"'c' (Conv2D)", "activation", "'swishy'"}},
      {"bad_cfg_name_missing", {"Conv2D", "name"}},
      {"bad_cfg_unknown_layer", {"'c' (Lambda)", "KerasOptions::layers"}},
      {"bad_cfg_input_negative", {"'i' (InputLayer)", "got -4"}},
      {"bad_cfg_no_layers", {"layers", "got none"}},
      {"bad_fn_cycle", {"'c' (Conv2D)", "cycle"}},
      {"bad_fn_dangling", {"'c' (Conv2D)", "'ghost'"}},
      {"bad_fn_node_index", {"'i' (InputLayer)", "call 7"}},
      {"bad_fn_output", {"output_layers", "'ghost'"}},
      {"bad_fn_no_inbound", {"'c' (Conv2D)", "inbound_nodes"}},
      {"bad_truncated", {"truncated"}},
      {"bad_zero_length", {"empty file"}},
      {"bad_not_hdf5", {"ZIP"}},
  };
  return all;
}

TEST_F(BadInputs, BadFilesAreRejectedWithTheObjectAndTheReason) {
  for (const auto& path : files("bad_")) {
    const auto expected = reasons().find(path.stem().string());
    ASSERT_NE(expected, reasons().end()) << path;
    std::string text;
    try {
      (void)load_keras(path);
      ADD_FAILURE() << path << " loads";
    } catch (const FormatError& error) {
      text = error.what();
    } catch (const UnsupportedError& error) {
      text = error.what();
    }
    EXPECT_THAT(text, HasSubstr(path.string()));
    for (const std::string& words : expected->second) {
      EXPECT_THAT(text, HasSubstr(words)) << path;
    }
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
std::string refusal(const std::string& architecture,
                    const KerasOptions& options = {}) {
  const TempFolder folder;
  KerasFile(architecture).write(folder / "m.h5");
  return error_of<Expected>(
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
  const std::string text = refusal<UnsupportedError>(keras_functional(
      {keras_input("i", "[null,3]"), nested,
       keras_layer("LSTM", "memory", "", R"([[["inner",1,0]]])"),
       keras_layer("TFOpLambda", "mean", R"("function":"math.cumsum")",
                   R"([["memory",0,0,{"axis":1}]])"),
       keras_layer("pkg>Swish", "act", "", R"([[["mean",0,0]]])")},
      R"([["i",0,0]])", R"([["act",0,0]])"));
  EXPECT_THAT(text,
              AllOf(HasSubstr("'f' (Lambda)"), HasSubstr("'memory' (LSTM)"),
                    HasSubstr("'mean' (TFOpLambda of math.cumsum)"),
                    HasSubstr("'act' (Swish)")));
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
    const std::string text = refusal(after_input(layer));
    EXPECT_THAT(text, AllOf(HasSubstr("'d'"),
                            HasSubstr("the file or the memory limit has left")))
        << layer;
  }
  // One per value of a sample.
  EXPECT_THAT(
      refusal(keras_sequential({keras_input("i", "[null,100000,100000,3]"),
                                keras_layer("PReLU", "d")})),
      HasSubstr("the file or the memory limit has left"));
  // Many small arrays.
  std::vector<std::string> layers{keras_input("i")};
  for (int k = 0; k < 40; ++k) {
    layers.push_back(
        keras_layer("Dense", fmt::format("d{}", k), R"("units":1000)"));
  }
  EXPECT_THAT(refusal(keras_sequential(layers)),
              HasSubstr("the file or the memory limit has left"));
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
  EXPECT_THAT(refusal(model), HasSubstr("at most 100000 calls"));
}

TEST(KerasArchitecture, ReportsMissingAndWronglyTypedEntries) {
  const std::map<std::string, std::string> texts{
      {"[1,2]", "expected an object, got a list"},
      {"{}", "expected an entry 'class_name'"},
      {R"({"class_name":"Sequential"})", "expected an entry 'config'"},
      {R"({"class_name":"Sequential","config":{}})",
       "expected an entry 'layers'"},
      {R"({"class_name":"Sequential","config":{"layers":{}}})",
       "expected a list"},
      {R"({"class_name":"Sequential","config":[{"class_name":"ReLU",)"
       R"("config":null}]})",
       "a name of each"},
      {keras_sequential({keras_input("i"), keras_input("j")}),
       "the InputLayer to be the first"},
      {keras_sequential({keras_input("i"), keras_layer("ReLU", "i")}),
       "each name once, got 'i' twice"},
      {keras_sequential({keras_input("i", "[]"), keras_layer("ReLU", "r")}),
       "expected a batch and sizes"},
      {keras_sequential({keras_input("i", "[null,1,1,1,1,1,1,1,1]")}),
       "at most 8 dimensions"},
      {after_input(keras_layer("ReLU", std::string(2000, 'x'))),
       "at most 1000 characters"},
      {after_input(keras_layer("Conv2D", "c",
                               R"("filters":2,)"
                               R"("kernel_size":3,"use_bias":2)")),
       "use_bias: expected true or false, got 2"},
      {after_input(keras_layer("Conv2D", "c",
                               R"("filters":2,)"
                               R"("kernel_size":3,"data_format":"hw")")),
       "channels_last or channels_first, got 'hw'"},
      {keras_functional({keras_input("i")}, "[]", R"([["i",0,0]])"),
       "at least one of each"},
      {keras_functional(
           {keras_input("i"), keras_layer("ReLU", "r", "", R"([[["i",0]]])")},
           R"([["i",0,0]])", R"([["r",0,0]])"),
       "in layer 'r' (ReLU)"},
      {keras_functional(
           {keras_input("i"), keras_layer("ReLU", "r", "", R"([[["i",0,1]]])")},
           R"([["i",0,0]])", R"([["r",0,0]])"),
       "output 1"},
      {keras_functional(
           {keras_input("i"), keras_layer("ReLU", "r", "", R"([[["i",0,0]]])")},
           R"([["r",0,0]])", R"([["r",0,0]])"),
       "expected an InputLayer, got layer 'r' (ReLU)"},
      {keras_functional(
           {keras_input("i"), keras_input("j"),
            keras_layer("Add", "a", "", R"([[["i",0,0],["j",0,0]]])")},
           R"([["i",0,0]])", R"([["a",0,0]])"),
       "got none for layer 'j' (InputLayer)"},
      {keras_functional(
           {keras_input("i"), keras_layer("Dense", "d", R"("units":2)",
                                          R"([[["i",0,0],["i",0,0]]])")},
           R"([["i",0,0]])", R"([["d",0,0]])"),
       "in layer 'd' (Dense)"},
  };
  for (const auto& [architecture, words] : texts) {
    EXPECT_THAT(refusal(architecture), HasSubstr(words))
        << architecture.substr(0, 300);
  }
}

TEST(KerasArchitecture, ReportsUnsupportedFeatures) {
  const std::map<std::string, std::string> texts{
      {R"({"class_name":"MyModel","config":{"name":"x"}})",
       "got the class 'MyModel', whose code is not in the file"},
      {after_input(keras_layer("BatchNormalization", "b", R"("axis":2)")),
       "axis: expected that of the channels"},
      {after_input(keras_layer("BatchNormalization", "b", R"("mode":2)")),
       "in layer 'b' (BatchNormalization)"},
      {after_input(keras_layer("LayerNormalization", "l", R"("axis":[1,2])")),
       "in layer 'l' (LayerNormalization)"},
      {after_input(keras_layer(
           "Dense", "d",
           R"("units":2,"dtype":{"class_name":"QuantizedDTypePolicy",)"
           R"("config":{"mode":"int8","source_name":"float32"}})")),
       "integers with scales"},
      {after_input(keras_layer("Dense", "d",
                               R"("units":2,"dtype":"int8_from_float32")")),
       "integers with scales"},
      {after_input(
           keras_layer("Dense", "d", R"("units":2,"activation":"glu")")),
       "'glu'"},
      {keras_functional({keras_input("i"),
                         keras_layer("Dropout", "d", R"("rate":0.5)",
                                     R"([[["i",0,0,{"training":true}]]])")},
                        R"([["i",0,0]])", R"([["d",0,0]])"),
       "training=True"},
      {keras_functional({keras_input("i"),
                         keras_layer("ReLU", "r", "",
                                     R"([[["i",0,0,{"mask":["i",0,0]}]]])")},
                        R"([["i",0,0]])", R"([["r",0,0]])"),
       "the argument 'mask'"},
      {keras_functional({keras_input("i", "[null,4,6]"),
                         keras_layer("MultiHeadAttention", "a",
                                     R"("num_heads":2,"key_dim":3)",
                                     R"([[["i",0,0,{"value":["i",0,0],)"
                                     R"("use_causal_mask":true}]]])")},
                        R"([["i",0,0]])", R"([["a",0,0]])"),
       "use_causal_mask"},
      {keras_sequential(
           {keras_input("i", "[null,null,null,3]"), keras_layer("ReLU", "r")}),
       "KerasOptions::input_shapes"},
      {keras_sequential({keras_layer("ReLU", "r")}),
       "expected known sizes, got none"},
  };
  for (const auto& [architecture, words] : texts) {
    EXPECT_THAT(refusal<UnsupportedError>(architecture), HasSubstr(words))
        << architecture.substr(0, 300);
  }
}

TEST(KerasArchitecture, NamesFromFilesArePrintable) {
  const std::string text = refusal<UnsupportedError>(
      after_input(keras_layer("Evil\\u001b[31m", "x\\u0007")));
  EXPECT_THAT(text, HasSubstr("'x?' (Evil?[31m)"));
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
  EXPECT_THAT(
      error_of<FormatError>([&] { (void)load_keras(folder / "m.keras"); }),
      HasSubstr("ZIP"));
  EXPECT_THAT(error_of<IoError>([&] { (void)load_keras(folder / "none"); }),
              HasSubstr("none"));
  write_file(folder / "m.json", "{}");
  EXPECT_THAT(
      error_of<FormatError>([&] { (void)load_keras(folder / "m.json"); }),
      HasSubstr("got JSON. Hint: KerasOptions::architecture"));
  write_file(folder / "m.txt", "no model");
  EXPECT_THAT(
      error_of<FormatError>([&] { (void)load_keras(folder / "m.txt"); }),
      HasSubstr("got a text file"));
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
