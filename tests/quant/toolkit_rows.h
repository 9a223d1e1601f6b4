// Rows of the toolkit's placement table, except 29, 30 and 33, which only test
// a case's entries. A letter marks a variant that the toolkit does not test.
// Source: tensorflow-quantization 0.2.0, tests and examples, for the positions;
// the counts follow from these and the networks.
#pragma once

#include "toolkit_table.h"

namespace octet::quant {
namespace table {

using Sites = std::vector<std::string>;

inline const Sites kNone{};
inline const Sites kInput{"input 0"};
inline const Sites kSecond{"input 1"};
inline const Sites kInputs{"input 0", "input 1"};
inline const Sites kBoth{"input 0", "kernel"};
inline const Sites kDepthwise{"input 0", "depthwise_kernel"};

inline const std::vector<int> kBlocks50{3, 4, 6, 3};
inline const std::vector<int> kBlocks101{3, 4, 23, 3};

inline QuantizeOptions full(QuantizationSpec spec = {},
                            std::vector<InsertionCase> cases = {}) {
  return {.spec = std::move(spec),
          .cases = std::move(cases),
          .policy = Policy::toolkit};
}
inline QuantizeOptions partial(QuantizationSpec spec) {
  return {.mode = QuantizationMode::partial,
          .spec = std::move(spec),
          .policy = Policy::toolkit};
}
inline QuantizeOptions warning(QuantizeOptions options) {
  options.on_unknown = OnUnknown::warn;
  return options;
}

inline std::vector<Expected> operator+(std::vector<Expected> a,
                                       const std::vector<Expected>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Classes that the toolkit quantizes by default.
inline const std::vector<Expected> kDefaults{
    {"Conv2D", kBoth},
    {"Dense", kBoth},
    {"DepthwiseConv2D", kDepthwise},
    {"AveragePooling2D", kInput},
    {"GlobalAveragePooling2D", kInput}};

/// Adds of a ResNet: the first of a stage joins two convolutions, of which the
/// first listed has no Q/DQ; the others join a shortcut and a convolution.
inline std::vector<Expected> adds(const std::vector<int>& blocks,
                                  std::string_view ending) {
  std::vector<Expected> result;
  for (size_t stage = 0; stage < blocks.size(); ++stage) {
    for (int i = 1; i <= blocks[stage]; ++i) {
      result.push_back({fmt::format("conv{}_block{}_{}", stage + 2, i, ending),
                        i == 1 ? kSecond : kInput});
    }
  }
  return result;
}

/// Adds and pools of ResNet v2, and the normalizations that begin a block or
/// end the network and so follow no convolution.
inline std::vector<Expected> adds_pools_norms(const std::vector<int>& blocks) {
  std::vector<Expected> result = adds(blocks, "out");
  for (size_t stage = 0; stage < blocks.size(); ++stage) {
    for (int i = 1; i <= blocks[stage]; ++i) {
      result.push_back(
          {fmt::format("conv{}_block{}_preact_bn", stage + 2, i), kInput});
    }
  }
  return result +
         std::vector<Expected>{{"post_bn", kInput}, {"MaxPooling2D", kInput}};
}

}  // namespace table

/// Rows 1 to 28, 29b and 41: modes and specs on the toolkit's own networks.
inline std::vector<ToolkitRow> toolkit_rows_of_small_networks() {
  using namespace table;
  const SpecOptions input_only{.quantize_weight = false};
  const SpecOptions weight_only{.quantize_input = false};
  const SpecOptions of_class{.is_keras_class = true};
  const SpecOptions first{.quantization_index = {0}};
  const SpecOptions second{.quantization_index = {1}};
  QuantizationSpec bn_and_concat = spec_of("batch_normalization_3");
  bn_and_concat.add("concatenate", {.quantization_index = {0, 1}});
  QuantizationSpec wrong_layer = spec_of("add", second);
  wrong_layer.add("wrong_layer");
  QuantizationSpec out_of_range = spec_of("add", {.quantization_index = {3}});
  out_of_range.add("dense");
  QuantizationSpec conv_and_dense;
  conv_and_dense.add({"conv2d_2", "dense"});
  const std::vector<Expected> residual{{"add", kSecond}, {"add_1", kSecond}};

  return {
      {"1", "otho", full(), {{"conv_0", kBoth}, {"conv_1", kBoth}}, {2, 2, 4}},
      {"2", "otho", partial(spec_of("conv_1")), {{"conv_1", kBoth}}, {1, 1, 2}},
      {"3",
       "otho",
       partial(spec_of("conv_0", input_only)),
       {{"conv_0", kInput}},
       {1, 0, 1}},
      {"4",
       "otho",
       partial(spec_of("conv_0", weight_only)),
       {{"conv_0", {"kernel"}}},
       {0, 1, 1}},
      {"5",
       "lotho",
       full(),
       {{"dconv_0", kDepthwise}, {"dconv_1", kDepthwise}},
       {2, 2, 4}},
      {"6",
       "lotho",
       partial(spec_of("dconv_1")),
       {{"dconv_1", kDepthwise}},
       {1, 1, 2}},
      {"7",
       "lotho",
       partial(spec_of("dconv_1", input_only)),
       {{"dconv_1", kInput}},
       {1, 0, 1}},
      {"8",
       "lotho",
       partial(spec_of("dconv_1", weight_only)),
       {{"dconv_1", {"depthwise_kernel"}}},
       {0, 1, 1}},
      {"9",
       "lobelia",
       full(),
       {{"dense_0", kBoth}, {"dense_1", kBoth}},
       {2, 2, 4}},
      {"10",
       "lobelia",
       partial(spec_of("dense_0")),
       {{"dense_0", kBoth}},
       {1, 1, 2}},
      {"11",
       "lobelia",
       partial(spec_of("dense_0", input_only)),
       {{"dense_0", kInput}},
       {1, 0, 1}},
      {"12",
       "lobelia",
       partial(spec_of("dense_1", weight_only)),
       {{"dense_1", {"kernel"}}},
       {0, 1, 1}},
      {"13", "merry", full(), kDefaults, {7, 7, 13}},
      {"14",
       "merry",
       full(bn_and_concat),
       kDefaults + std::vector<Expected>{{"batch_normalization_3", kInput},
                                         {"concatenate", kInputs}},
       {10, 7, 16}},
      {"15",
       "merry",
       partial(spec_of("concatenate",
                       {.quantize_weight = false, .quantization_index = {0}})),
       {{"concatenate", kInput}},
       {1, 0, 1}},
      {"16", "pippin", full(), kDefaults, {9, 9, 17}},
      {"17",
       "pippin",
       partial(spec_of("add", second)),
       {{"add", kSecond}},
       {1, 0, 1}},
      {"18",
       "pippin",
       full(spec_of("add", second)),
       kDefaults + std::vector<Expected>{{"add", kSecond}},
       {10, 9, 17}},
      {"19",
       "pippin",
       partial(spec_of("Conv2D", of_class)),
       {{"Conv2D", kBoth}},
       {7, 7, 13}},
      {"20",
       "pippin",
       warning(partial(wrong_layer)),
       {{"add", kSecond}},
       {1, 0, 1}},
      {"21",
       "pippin",
       warning(partial(out_of_range)),
       {{"dense", kBoth}},
       {1, 1, 2}},
      {"22", "frodo", full(), kDefaults, {9, 9, 17}},
      {"23",
       "frodo",
       full({}, {ResNetV1QDQCase()}),
       kDefaults + residual,
       {11, 9, 18}},
      {"24",
       "frodo",
       full(spec_of("add", first)),
       kDefaults + std::vector<Expected>{{"add", kInput}},
       {10, 9, 18}},
      {"25",
       "frodo",
       partial(conv_and_dense),
       {{"conv2d_2", kBoth}, {"dense", kBoth}},
       {2, 2, 4}},
      {"26",
       "frodo",
       full(spec_of("MaxPooling2D", of_class)),
       kDefaults + std::vector<Expected>{{"MaxPooling2D", kInput}},
       {11, 9, 19}},
      {"27",
       "frodo",
       full(spec_of("Add", of_class)),
       kDefaults + std::vector<Expected>{{"Add", kInputs}},
       {13, 9, 20}},
      {"28",
       "frodo",
       partial(spec_of("Conv2D", of_class)),
       {{"Conv2D", kBoth}},
       {7, 7, 13}},
      {"29b",
       "pippin",
       full({}, {ResNetV1QDQCase()}),
       kDefaults + residual,
       {11, 9, 18}},
      {"41", "sam", full(), kDefaults, {11, 11, 21}},
  };
}

/// Rows 31 to 40: the families of the model zoo with their cases.
inline std::vector<ToolkitRow> toolkit_rows_of_families() {
  using namespace table;
  const SpecOptions nothing{.quantize_input = false, .quantize_weight = false};
  const std::vector<Expected> squeeze_excite{{"Multiply", kInputs}};
  std::vector<Expected> mobilenet_v2 = kDefaults;
  for (const int block : {2, 4, 5, 7, 8, 9, 11, 12, 14, 15}) {
    mobilenet_v2.push_back({fmt::format("block_{}_add", block), kInput});
  }
  return {
      {"31",
       "resnet50",
       full({}, {ResNetV1QDQCase()}),
       kDefaults + adds(kBlocks50, "add"),
       {71, 54, 109}},
      {"31b", "resnet50", full(), kDefaults, {55, 54, 105}},
      {"31c",
       "resnet50",
       full(spec_of("Add", {.is_keras_class = true})),
       kDefaults + std::vector<Expected>{{"Add", kInputs}},
       {87, 54, 125}},
      {"32",
       "resnet50",
       full(spec_of("conv2_block1_1_conv", nothing), {ResNetV1QDQCase()}),
       kDefaults + adds(kBlocks50, "add") +
           std::vector<Expected>{{"conv2_block1_1_conv", kNone}},
       {70, 53, 108}},
      {"34",
       "resnet50_v2",
       full({}, {ResNetV2QDQCase()}),
       kDefaults + adds_pools_norms(kBlocks50),
       {92, 54, 130}},
      {"35",
       "resnet50_v2",
       full(spec_of("pool1_pool", nothing), {ResNetV2QDQCase()}),
       kDefaults + adds_pools_norms(kBlocks50) +
           std::vector<Expected>{{"pool1_pool", kNone}},
       {91, 54, 129}},
      {"36",
       "mobilenet",
       full({}, {MobileNetQDQCase()}),
       kDefaults,
       {29, 28, 57}},
      {"37",
       "mobilenet_v2",
       full({}, {MobileNetQDQCase()}),
       mobilenet_v2,
       {64, 53, 107}},
      {"38",
       "inception_v3",
       full({}, {InceptionQDQCase()}),
       kDefaults + std::vector<Expected>{{"MaxPooling2D", kInput}},
       {109, 95, 169}},
      // Its Adds follow a Dropout, which the case does not recognize before
      // normalization.
      {"39",
       "efficientnet_b0",
       full({}, {EfficientNetQDQCase()}),
       kDefaults + squeeze_excite + std::vector<Expected>{{"Add", kInputs}},
       {149, 82, 206}},
      {"39b",
       "efficientnet_b0 without Dropout",
       full({}, {EfficientNetQDQCase()}),
       kDefaults + squeeze_excite + std::vector<Expected>{{"Add", kSecond}},
       {140, 82, 197}},
      {"40 v1",
       "resnet101",
       full({}, {ResNetV1QDQCase()}),
       kDefaults + adds(kBlocks101, "add"),
       {139, 105, 211}},
      {"40 v2",
       "resnet101_v2",
       full({}, {ResNetV2QDQCase()}),
       kDefaults + adds_pools_norms(kBlocks101),
       {177, 105, 249}},
  };
}

}  // namespace octet::quant
