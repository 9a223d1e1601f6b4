// Files of trtexec in the forms of its versions, and latencies by layer.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/engine_profile.h>
#include <octet/layers/layers.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/quantize_model.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "../facts.h"
#include "../support.h"
#include "../temp_folder.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Two convolutions and a residual sum: conv1 has 9 times the multiply-adds of
/// conv2.
Model profiled_network() {
  const SymbolicTensor image = input({4, 4, 2}, "image");
  SymbolicTensor x = Conv2D({.filters = 2,
                             .kernel_size = 3,
                             .padding = Padding::same,
                             .name = "conv1"})(image);
  x = ReLU({.name = "relu"})(x);
  SymbolicTensor y =
      Conv2D({.filters = 2, .kernel_size = 1, .name = "conv2"})(x);
  x = Add({.name = "add"})({x, y});
  return Model(image, Flatten({.name = "flatten"})(x), {.seed = 1});
}

class EngineProfileTest : public ::testing::Test {
 protected:
  EngineProfile read(const std::string& profile,
                     const std::string& layers = "") const {
    write_file(folder_ / "p.json", profile);
    if (layers.empty()) return read_engine_profile(folder_ / "p.json");
    write_file(folder_ / "l.json", layers);
    return read_engine_profile(folder_ / "p.json", folder_ / "l.json");
  }
  TempFolder folder_;
};

// As exportJSONProfile() of trtexec writes it: since 8.4 with medians.
constexpr const char* kProfile86 = R"([
  { "count" : 200 }
, { "name" : "Reformatting CopyNode for Input Tensor 0 to conv1 + relu", "timeMs" : 2, "averageMs" : 0.01, "medianMs" : 0.02, "percentage" : 10 }
, { "name" : "conv1 + relu", "timeMs" : 20, "averageMs" : 0.1, "medianMs" : 0.2, "percentage" : 60 }
, { "name" : "conv2 + add", "timeMs" : 10, "averageMs" : 0.05, "medianMs" : 0.06, "percentage" : 30 }
]
)";

TEST_F(EngineProfileTest, ReadsTensorrt8WithNamesOnly) {
  const EngineProfile profile = read(
      kProfile86,
      R"({"Layers": ["Reformatting CopyNode for Input Tensor 0 to conv1 + relu"
,"conv1 + relu"
,"conv2 + add"
],
"Bindings": ["input"
,"logits"
]})");
  ASSERT_EQ(profile.layers.size(), 3u);
  EXPECT_DOUBLE_EQ(profile.milliseconds, 0.28);
  EXPECT_TRUE(profile.layers[0].nodes.empty());
  EXPECT_THAT(profile.layers[1].nodes, ElementsAre("conv1", "relu"));
  const LayerTimes times = layer_times(profile, profiled_network());
  ASSERT_EQ(times.layers.size(), 2u);
  EXPECT_EQ(times.layers[0].layer, "conv1");
  EXPECT_DOUBLE_EQ(times.layers[0].milliseconds, 0.2);
  EXPECT_EQ(times.layers[1].layer, "conv2");
  EXPECT_DOUBLE_EQ(times.layers[1].milliseconds, 0.06);
  EXPECT_DOUBLE_EQ(times.conversions, 0.02);
  EXPECT_EQ(times.unknown, 0);
  EXPECT_THAT(times.to_string(), HasSubstr("71.4 %"));
}

TEST_F(EngineProfileTest, ReadsMeansOfOlderFiles) {
  const EngineProfile profile = read(R"([
  { "count" : 4 }
, { "name" : "conv1", "timeMs" : 8, "averageMs" : 2, "percentage" : 80 }
, { "name" : "conv2", "timeMs" : 2, "percentage" : 20 }
])");
  EXPECT_EQ(profile.layers[0].milliseconds, 2);
  EXPECT_EQ(profile.layers[1].milliseconds, 0.5);
}

TEST_F(EngineProfileTest, ReadsMetadataOfTensorrt10And11) {
  const std::string profile = R"([
  { "count" : 10 }
, { "name" : "__myl_Quantize_1", "timeMs" : 1, "averageMs" : 0.1, "medianMs" : 0.1, "percentage" : 1 }
, { "name" : "__myl_ConvReluConvAdd_2", "timeMs" : 1, "averageMs" : 1, "medianMs" : 1.0, "percentage" : 1 }
, { "name" : "__myl_Other_3", "timeMs" : 1, "averageMs" : 0.3, "medianMs" : 0.3, "percentage" : 1 }
])";
  for (const char* inputs : {"Bindings", "I/O Tensors"}) {
    for (const char* separator : {"\\u001e", "\\u001f", "\x1f", ""}) {
      const EngineProfile read_profile =
          read(profile, std::string(R"({"Layers": [{
  "Name": "__myl_Quantize_1", "LayerType": "kgen", "Inputs": [],
  "Outputs": [{"Name": "q", "Format/Datatype": "Int8"}],
  "Metadata": "[ONNX Layer: image/quantize]"
},{
  "Name": "__myl_ConvReluConvAdd_2", "LayerType": "conv",
  "Outputs": [{"Name": "y", "Location": "Device", "Dimensions": [1,2,4,4], "Format/Datatype": "Row major Int8 format"}],
  "Metadata": "[ONNX Layer: quant_conv1])") +
                            separator +
                            "[ONNX Layer: quant_conv1/kernel/dequantize]" +
                            separator + "[ONNX Layer: relu]" + separator +
                            "[ONNX Layer: quant_conv2]" + separator +
                            R"([ONNX Layer: quant_add]"
},{"Name": "__myl_Other_3", "LayerType": "kgen", "Metadata": ""}
],")" + inputs + R"(": ["input", "logits"]})");
      const LayerTimes times = layer_times(read_profile, profiled_network());
      ASSERT_EQ(times.layers.size(), 2u);
      // In proportion to the multiply-adds.
      EXPECT_DOUBLE_EQ(times.layers[0].milliseconds, 0.9);
      EXPECT_DOUBLE_EQ(times.layers[1].milliseconds, 0.1);
      EXPECT_EQ(times.layers[0].type, "INT8");
      EXPECT_DOUBLE_EQ(times.conversions, 0.1);
      EXPECT_DOUBLE_EQ(times.unknown, 0.3);
    }
  }
}

TEST_F(EngineProfileTest, RefusesOtherFiles) {
  const auto code = [&](const std::string& profile, const std::string& layers) {
    const auto f =
        failure_of<FormatError>([&] { (void)read(profile, layers); });
    EXPECT_THAT(f.message, HasSubstr(".json"));
    return f.code;
  };
  for (const char* bad :
       {"{}", "[", "[]", "[{\"count\": 3}]", "[{\"name\": \"a\"}]",
        "[{\"name\": \"a\", \"medianMs\": -1}]",
        "[{\"name\": \"a\", \"medianMs\": \"x\"}]", "[1]"}) {
    EXPECT_EQ(code(bad, ""), "invalid_profile") << bad;
  }
  for (const char* bad : {"[]", "{", "{\"Layers\": 1}", "{\"Layers\": [{}]}",
                          "{\"Layers\": [1]}"}) {
    EXPECT_EQ(code(kProfile86, bad), "invalid_profile") << bad;
  }
  EXPECT_EQ(code(kProfile86, "{\"Layers\": [\"other\"]}"), "profile_mismatch");
  EXPECT_THROW((void)read_engine_profile(folder_ / "none.json"), IoError);
  // An engine of another model.
  const EngineProfile other =
      read("[{\"count\": 1}, {\"name\": \"x\", \"medianMs\": 1}]");
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)layer_times(other, profiled_network());
            }).code,
            "profile_mismatch");
}

TEST_F(EngineProfileTest, ServesMixedPrecisionUnderALatencyBudget) {
  const Model model = profiled_network();
  const Model int8 = quant::quantize_model(model);
  const EngineProfile wide = read(kProfile86);
  EngineProfile narrow = wide;
  for (EngineLayer& layer : narrow.layers) layer.milliseconds /= 2;
  const std::vector<quant::LayerLatency> latencies =
      layer_latencies(int8, wide, narrow);
  ASSERT_EQ(latencies.size(), 2u);
  EXPECT_EQ(latencies[0].layer, "conv1");
  EXPECT_DOUBLE_EQ(latencies[0].wide, 0.2);
  EXPECT_DOUBLE_EQ(latencies[0].narrow, 0.1);
  Tensor x({8, 4, 4, 2});
  Rng(1).fill_uniform(x, -1, 1);
  const Dataset data(x, std::vector<NamedTensor>{});
  const quant::MixedPrecision mixed = quant::auto_mixed_precision(
      model, data, {.latency = 0.17, .latencies = latencies});
  EXPECT_LE(mixed.latency.value(), 0.17);
  // Only conv1 saves enough.
  EXPECT_EQ(mixed.layers[0].bits, 4);
  EXPECT_EQ(mixed.layers[1].bits, 8);
  narrow.layers.pop_back();
  EXPECT_EQ(failure_of<NotFoundError>([&] {
              (void)layer_latencies(int8, wide, narrow);
            }).subject,
            "conv2");
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)layer_latencies(model, wide, narrow);
            }).code,
            "not_quantized");
}

}  // namespace
}  // namespace octet::io
