// Files that onnx::checker and shape inference would accept or crash on, in
// inspect_onnx().

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/onnx.h>
#include <octet/runtime/error.h>

#include "onnx_models.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

onnx::TypeProto::Tensor& tensor_type(onnx::ValueInfoProto* value) {
  return *value->mutable_type()->mutable_tensor_type();
}

class CheckOnnx : public ::testing::Test {
 protected:
  std::string refusal(const onnx::ModelProto& model) {
    save(model, folder_ / "model.onnx");
    return error_of<FormatError>([&] { inspect_onnx(folder_ / "model.onnx"); });
  }
  std::string refusal(onnx::ModelProto model,
                      const std::function<void(onnx::ModelProto&)>& change) {
    change(model);
    return refusal(model);
  }
  std::string refusal_of_bytes(const std::string& bytes) {
    write_file(folder_ / "model.onnx", bytes);
    return error_of<FormatError>([&] { inspect_onnx(folder_ / "model.onnx"); });
  }
  std::string unsupported(const onnx::ModelProto& model) {
    save(model, folder_ / "model.onnx");
    return error_of<UnsupportedError>(
        [&] { inspect_onnx(folder_ / "model.onnx"); });
  }
  /// conv_model() with one attribute of its node set to `values`.
  std::string refusal_of_conv(const std::string& name,
                              const std::vector<int64_t>& values) {
    return refusal(conv_model(), [&](onnx::ModelProto& model) {
      auto& changed = attribute(*model.mutable_graph()->mutable_node(0), name);
      if (changed.has_i()) {
        changed.set_i(values[0]);
      } else {
        changed.mutable_ints()->Assign(values.begin(), values.end());
      }
    });
  }

  TempFolder folder_;
};

TEST_F(CheckOnnx, AcceptsSoundModels) {
  EXPECT_EQ(refusal(conv_model()), "");
  save(quantized_model(), folder_ / "model.onnx");
  EXPECT_NO_THROW(inspect_onnx(folder_ / "model.onnx"));
}

TEST_F(CheckOnnx, RejectsAMissingFile) {
  EXPECT_NE(error_of<IoError>([&] { inspect_onnx(folder_ / "none.onnx"); }),
            "");
}

TEST_F(CheckOnnx, RejectsAnEmptyFileAndNamesIt) {
  EXPECT_THAT(refusal_of_bytes(""),
              AllOf(HasSubstr("empty file"), HasSubstr("model.onnx")));
}

TEST_F(CheckOnnx, RejectsAForeignFile) {
  EXPECT_NE(refusal_of_bytes("this is no model at all"), "");
}

TEST_F(CheckOnnx, RejectsATruncatedFile) {
  const std::string bytes = conv_model().SerializeAsString();
  for (size_t size = 0; size < bytes.size(); size += 7) {
    EXPECT_NE(refusal_of_bytes(bytes.substr(0, size)), "") << size;
  }
}

TEST_F(CheckOnnx, RejectsStridesBelowOne) {
  EXPECT_THAT(
      refusal_of_conv("strides", {0, 0}),
      AllOf(HasSubstr("node 'conv' (Conv)"),
            HasSubstr("expected strides from 1 to"), HasSubstr("got 0")));
  EXPECT_THAT(refusal_of_conv("strides", {1, -1}), HasSubstr("strides"));
}

TEST_F(CheckOnnx, RejectsStridesBelowOneOfPooling) {
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
    EXPECT_THAT(refusal(model_of(
                    "g (float[N,3,8,8] x) => (float[N,3,4,4] y) {\n  y = " +
                    std::string(op) +
                    " <kernel_shape = [2,2], strides = [0,2]> (x)\n}")),
                HasSubstr("strides"))
        << op;
  }
}

TEST_F(CheckOnnx, RejectsStridesBelowOneInsideASubgraph) {
  onnx::ModelProto model = model_of(
      "g (bool c) => (float[1,1,4,4] y) {\n"
      "  y = If (c)\n"
      "}");
  auto* node = model.mutable_graph()->mutable_node(0);
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* branch = node->add_attribute();
    branch->set_name(name);
    branch->set_type(onnx::AttributeProto::GRAPH);
    *branch->mutable_g() = conv_model().graph();
    attribute(*branch->mutable_g()->mutable_node(0), "strides").set_ints(0, 0);
  }
  EXPECT_THAT(refusal(model), HasSubstr("strides"));
}

TEST_F(CheckOnnx, RejectsDilationsGroupsAndKernelsBelowOne) {
  EXPECT_THAT(refusal_of_conv("dilations", {0, 1}), HasSubstr("dilations"));
  EXPECT_THAT(refusal_of_conv("group", {0}), HasSubstr("group"));
  EXPECT_THAT(refusal_of_conv("group", {-3}), HasSubstr("group"));
  EXPECT_THAT(refusal_of_conv("kernel_shape", {0, 3}),
              HasSubstr("kernel_shape"));
}

TEST_F(CheckOnnx, RejectsNegativePadsButLetsPadCrop) {
  EXPECT_THAT(refusal_of_conv("pads", {0, 0, -1, 0}), HasSubstr("pads"));
  onnx::ModelProto pad = model_of(
      "g (float[4] x) => (float[2] y) {\n"
      "  y = Pad <pads = [-1,-1]> (x)\n"
      "}");
  pad.mutable_opset_import(0)->set_version(2);  // pads is an attribute there
  EXPECT_EQ(refusal(pad), "");
}

TEST_F(CheckOnnx, RejectsInitializersShorterOrLongerThanTheirShape) {
  for (const size_t bytes : {0u, 4u, 431u, 436u}) {
    EXPECT_THAT(
        refusal(
            conv_model(),
            [&](onnx::ModelProto& model) {
              initializer(model, "w").clear_float_data();
              initializer(model, "w").set_raw_data(std::string(bytes, '\0'));
            }),
        AllOf(HasSubstr("initializer 'w'"), HasSubstr("432 bytes")))
        << bytes;
  }
  EXPECT_THAT(
      refusal(conv_model(),
              [](onnx::ModelProto& model) {
                initializer(model, "w").mutable_float_data()->RemoveLast();
              }),
      HasSubstr("expected 108 values for float32 [4,3,3,3], got 107"));
  EXPECT_THAT(
      refusal(conv_model(),
              [](onnx::ModelProto& model) {
                initializer(model, "w").set_raw_data(std::string(432, '\0'));
              }),
      HasSubstr("and 108 values"));
  // Readers would use raw bytes that do not exist.
  EXPECT_THAT(refusal(conv_model(),
                      [](onnx::ModelProto& model) {
                        initializer(model, "w").set_raw_data("");
                      }),
              HasSubstr("got 0 bytes and 108 values"));
}

TEST_F(CheckOnnx, RejectsNegativeAndHugeDimensions) {
  const auto with_dim = [&](int64_t dim) {
    return refusal(conv_model(), [&](onnx::ModelProto& model) {
      initializer(model, "w").set_dims(1, dim);
    });
  };
  EXPECT_THAT(with_dim(-3), HasSubstr("dimensions >= 0, got -3"));
  EXPECT_THAT(with_dim(int64_t{1} << 40), HasSubstr("initializer 'w'"));
  EXPECT_THAT(with_dim(INT64_MAX), HasSubstr("initializer 'w'"));
  const auto with_input = [&](int64_t dim) {
    return refusal(conv_model(), [&](onnx::ModelProto& model) {
      tensor_type(model.mutable_graph()->mutable_input(0))
          .mutable_shape()
          ->mutable_dim(2)
          ->set_dim_value(dim);
    });
  };
  EXPECT_THAT(with_input(-2), HasSubstr("value 'x'"));
  EXPECT_THAT(with_input(int64_t{1} << 40), HasSubstr("value 'x'"));
}

TEST_F(CheckOnnx, RejectsAnUnknownElementType) {
  EXPECT_THAT(refusal(conv_model(),
                      [](onnx::ModelProto& model) {
                        initializer(model, "w").set_data_type(99);
                      }),
              HasSubstr("type 99"));
}

TEST_F(CheckOnnx, ChecksTensorsInAttributesToo) {
  onnx::ModelProto model = model_of(
      "g () => (float[2] y) {\n"
      "  y = Constant ()\n"
      "}");
  auto* value = model.mutable_graph()->mutable_node(0)->add_attribute();
  value->set_name("value");
  value->set_type(onnx::AttributeProto::TENSOR);
  *value->mutable_t() = float_tensor("", {2}, {1.0f});
  EXPECT_THAT(refusal(model), HasSubstr("expected 2 values"));
}

TEST_F(CheckOnnx, RejectsExternalDataEverywhere) {
  EXPECT_THAT(refusal(conv_model(),
                      [](onnx::ModelProto& model) {
                        auto& tensor = initializer(model, "w");
                        tensor.clear_float_data();
                        tensor.set_data_location(onnx::TensorProto::EXTERNAL);
                        auto* entry = tensor.add_external_data();
                        entry->set_key("location");
                        entry->set_value("../../etc/passwd");
                      }),
              HasSubstr("external data"));
}

TEST_F(CheckOnnx, RejectsUnknownOpsets) {
  const auto with_opset = [](int64_t opset) {
    onnx::ModelProto model = conv_model();
    model.mutable_opset_import(0)->set_version(opset);
    return model;
  };
  for (const int64_t opset : {-1, 0}) {
    EXPECT_THAT(refusal(with_opset(opset)),
                AllOf(HasSubstr("expected an opset from 1 to 26"),
                      HasSubstr("got " + std::to_string(opset))));
  }
  EXPECT_THAT(unsupported(with_opset(27)), HasSubstr("1 to 26, got 27"));
  for (const int64_t opset : {11, 17, 18, 23, 26}) {
    EXPECT_EQ(refusal(with_opset(opset)), "") << opset;
  }
  EXPECT_THAT(
      refusal(conv_model(),
              [](onnx::ModelProto& model) { model.clear_opset_import(); }),
      HasSubstr("one opset"));
  EXPECT_THAT(refusal(conv_model(),
                      [](onnx::ModelProto& model) {
                        *model.add_opset_import() = model.opset_import(0);
                      }),
              HasSubstr("one opset"));
}

TEST_F(CheckOnnx, RejectsUnknownIrVersions) {
  const auto with_version = [&](int64_t version) {
    return refusal(conv_model(), [&](onnx::ModelProto& model) {
      model.set_ir_version(version);
    });
  };
  for (const int64_t version : {INT64_MIN, int64_t{0}, int64_t{2}}) {
    EXPECT_THAT(with_version(version),
                HasSubstr("got " + std::to_string(version)));
  }
  for (const int64_t version : {int64_t{14}, INT64_MAX}) {
    onnx::ModelProto model = conv_model();
    model.set_ir_version(version);
    EXPECT_THAT(
        unsupported(model),
        HasSubstr("ONNX model: expected IR version 3 to 13, got " +
                  std::to_string(version) + "; save it with ir_version=13"));
  }
  for (const int64_t version : {4, 7, 8, 9, 10, 13}) {
    EXPECT_EQ(with_version(version), "");
  }
}

TEST_F(CheckOnnx, RejectsAModelWithoutAGraphOrOutputs) {
  EXPECT_THAT(refusal(conv_model(),
                      [](onnx::ModelProto& model) { model.clear_graph(); }),
              HasSubstr("expected a graph"));
  EXPECT_THAT(refusal(conv_model(),
                      [](onnx::ModelProto& model) {
                        model.mutable_graph()->clear_output();
                      }),
              HasSubstr("expected outputs"));
}

TEST_F(CheckOnnx, RejectsUncheckedFunctions) {
  EXPECT_THAT(refusal(conv_model(),
                      [](onnx::ModelProto& model) { model.add_functions(); }),
              HasSubstr("functions"));
}

TEST_F(CheckOnnx, PassesOnFindingsOfTheChecker) {
  EXPECT_THAT(refusal(conv_model(),
                      [](onnx::ModelProto& model) {
                        attribute(*model.mutable_graph()->mutable_node(0),
                                  "strides")
                            .set_name("stride");
                      }),
              AllOf(HasSubstr("ONNX checker"), HasSubstr("stride")));
  EXPECT_THAT(refusal(conv_model(),
                      [](onnx::ModelProto& model) {
                        model.mutable_graph()->mutable_node(0)->set_input(
                            0, "nowhere");
                      }),
              HasSubstr("nowhere"));
}

TEST_F(CheckOnnx, RejectsAnOutputWhoseRankContradictsItsNodes) {
  EXPECT_THAT(refusal(conv_model(),
                      [](onnx::ModelProto& model) {
                        tensor_type(model.mutable_graph()->mutable_output(0))
                            .mutable_shape()
                            ->add_dim();
                      }),
              HasSubstr("its nodes compute [N,4,6,6]"));
}

TEST_F(CheckOnnx, IgnoresStatedSizesThatContradictTheNodes) {
  EXPECT_EQ(refusal(conv_model(),
                    [](onnx::ModelProto& model) {
                      tensor_type(model.mutable_graph()->mutable_output(0))
                          .mutable_shape()
                          ->mutable_dim(2)
                          ->set_dim_value(99);
                    }),
            "");
}

TEST_F(CheckOnnx, SurvivesAConvolutionWhoseRanksDiffer) {
  // Without kernel_shape, onnx 1.12 reads beyond the image's dimensions.
  for (const char* op : {"Conv", "ConvInteger"}) {
    const bool integer = std::string(op) == "ConvInteger";
    const std::string type = integer ? "int8" : "float";
    onnx::ModelProto model =
        model_of("g (" + type + "[1,3,8] x, " + type + "[4,3,3,3,3] w) => (" +
                 (integer ? "int32" : "float") + "[1,4,6] y) {\n  y = " + op +
                 " (x, w)\n}");
    refusal(model);  // an error or none, but no crash
  }
}

TEST_F(CheckOnnx, RejectsAConvolutionByWeightsOfAnotherRank) {
  onnx::ModelProto model = model_of(
      "g (float[1,3,8,8] x, float w0) => (float[1,4,6,6] y) {\n"
      "  w = Abs (w0)\n"
      "  y = Conv (x, w)\n"
      "}");
  EXPECT_THAT(refusal(model), HasSubstr("rank at least 2, got rank 0"));
}

TEST_F(CheckOnnx, AllowsAConvolutionOfUnknownKernel) {
  onnx::ModelProto model = model_of(
      "g (float[1,3,8,8] x, float[N] w0, int64[R] shape) => "
      "(float[1,4,6,6] y) {\n"
      "  w = Reshape (w0, shape)\n"
      "  y = Conv (x, w)\n"
      "}");
  EXPECT_EQ(refusal(model), "");
}

TEST_F(CheckOnnx, RejectsALayerNormalizationAxisOutOfRange) {
  onnx::ModelProto model = model_of(
      "g (float[2,3] x, float[3] s) => (float[2,3] y, float m, float d) {\n"
      "  y, m, d = LayerNormalization <axis = -5> (x, s)\n"
      "}");
  model.mutable_opset_import(0)->set_version(17);
  model.set_ir_version(8);
  EXPECT_THAT(refusal(model), HasSubstr("axis from -2 to 1, got -5"));
}

class CheckQdq : public CheckOnnx {
 protected:
  std::string refusal_with_scales(const std::vector<float>& scales) {
    return refusal(quantized_model(), [&](onnx::ModelProto& model) {
      initializer(model, "ws") =
          float_tensor("ws", {static_cast<int64_t>(scales.size())}, scales);
      initializer(model, "wz") =
          int8_tensor("wz", {static_cast<int64_t>(scales.size())},
                      std::vector<int32_t>(scales.size(), 0));
    });
  }
  std::string refusal_with_axis(int64_t axis) {
    return refusal(quantized_model(), [&](onnx::ModelProto& model) {
      for (const int node : {2, 3}) {
        attribute(*model.mutable_graph()->mutable_node(node), "axis")
            .set_i(axis);
      }
    });
  }
};

TEST_F(CheckQdq, RejectsAMismatchOfScalesAndChannels) {
  EXPECT_THAT(refusal_with_scales({0.1f, 0.2f, 0.3f}),
              HasSubstr("expected 4 scales for axis 0 of [4,3,3,3], got 3"));
  EXPECT_EQ(refusal_with_scales({0.1f, 0.2f, 0.3f, 0.4f}), "");
}

TEST_F(CheckQdq, RejectsAnAxisOutOfRange) {
  EXPECT_THAT(refusal_with_axis(4), HasSubstr("axis from -4 to 3"));
  EXPECT_THAT(refusal_with_axis(-5), HasSubstr("axis from -4 to 3"));
  EXPECT_THAT(refusal_with_axis(INT64_MIN), HasSubstr("axis"));
  EXPECT_EQ(refusal_with_axis(-4), "");
}

TEST_F(CheckQdq, RejectsScalesThatAreNotFiniteAndPositive) {
  for (const float scale : {0.0f, -1.0f, NAN, INFINITY}) {
    EXPECT_THAT(refusal_with_scales({0.1f, 0.2f, scale, 0.4f}),
                AllOf(HasSubstr("scales > 0"), HasSubstr("index 2 of 'ws'")))
        << scale;
  }
}

TEST_F(CheckQdq, RejectsAZeroPointThatDoesNotFitTheScale) {
  EXPECT_THAT(refusal(quantized_model(),
                      [](onnx::ModelProto& model) {
                        initializer(model, "wz") = int8_tensor("wz", {1}, {0});
                      }),
              HasSubstr("zero point of shape [4]"));
}

}  // namespace
}  // namespace octet::io
