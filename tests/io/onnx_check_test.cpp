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

onnx::TypeProto::Tensor& tensor_type(onnx::ValueInfoProto* value) {
  return *value->mutable_type()->mutable_tensor_type();
}

class CheckOnnx : public ::testing::Test {
 protected:
  Failure refusal(const onnx::ModelProto& model) {
    save(model, folder_ / "model.onnx");
    return failure_of<FormatError>(
        [&] { inspect_onnx(folder_ / "model.onnx"); });
  }
  Failure refusal(onnx::ModelProto model,
                  const std::function<void(onnx::ModelProto&)>& change) {
    change(model);
    return refusal(model);
  }
  Failure refusal_of_bytes(const std::string& bytes) {
    write_file(folder_ / "model.onnx", bytes);
    return failure_of<FormatError>(
        [&] { inspect_onnx(folder_ / "model.onnx"); });
  }
  Failure unsupported(const onnx::ModelProto& model) {
    save(model, folder_ / "model.onnx");
    return failure_of<UnsupportedError>(
        [&] { inspect_onnx(folder_ / "model.onnx"); });
  }
  /// conv_model() with one attribute of its node set to `values`.
  Failure refusal_of_conv(const std::string& name,
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
  EXPECT_EQ(refusal(conv_model()).code, "no error");
  save(quantized_model(), folder_ / "model.onnx");
  EXPECT_NO_THROW(inspect_onnx(folder_ / "model.onnx"));
}

TEST_F(CheckOnnx, RejectsAMissingFile) {
  EXPECT_EQ(
      failure_of<IoError>([&] { inspect_onnx(folder_ / "none.onnx"); }).code,
      "file_not_found");
}

TEST_F(CheckOnnx, RejectsAnEmptyFileAndNamesIt) {
  EXPECT_EQ(refusal_of_bytes(""), (Failure{"unsupported_format", "file"}));
}

TEST_F(CheckOnnx, RejectsAForeignFile) {
  EXPECT_EQ(refusal_of_bytes("this is no model at all"),
            (Failure{"unsupported_format", "file"}));
}

TEST_F(CheckOnnx, RejectsATruncatedFile) {
  const std::string bytes = conv_model().SerializeAsString();
  for (size_t size = 0; size < bytes.size(); size += 7) {
    EXPECT_NE(refusal_of_bytes(bytes.substr(0, size)).code, "no error") << size;
  }
}

TEST_F(CheckOnnx, RejectsStridesBelowOne) {
  EXPECT_EQ(refusal_of_conv("strides", {0, 0}),
            (Failure{"invalid_graph", "node 'conv' (Conv)"}));
  EXPECT_EQ(refusal_of_conv("strides", {1, -1}),
            (Failure{"invalid_graph", "node 'conv' (Conv)"}));
}

TEST_F(CheckOnnx, RejectsStridesBelowOneOfPooling) {
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
    EXPECT_EQ(
        refusal(
            model_of("g (float[N,3,8,8] x) => (float[N,3,4,4] y) {\n  y = " +
                     std::string(op) +
                     " <kernel_shape = [2,2], strides = [0,2]> (x)\n}"))
            .code,
        "invalid_graph")
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
  EXPECT_EQ(refusal(model), (Failure{"invalid_graph", "node 'conv' (Conv)"}));
}

TEST_F(CheckOnnx, RejectsDilationsGroupsAndKernelsBelowOne) {
  EXPECT_EQ(refusal_of_conv("dilations", {0, 1}),
            (Failure{"invalid_graph", "node 'conv' (Conv)"}));
  EXPECT_EQ(refusal_of_conv("group", {0}),
            (Failure{"invalid_graph", "node 'conv' (Conv)"}));
  EXPECT_EQ(refusal_of_conv("group", {-3}),
            (Failure{"invalid_graph", "node 'conv' (Conv)"}));
  EXPECT_EQ(refusal_of_conv("kernel_shape", {0, 3}),
            (Failure{"invalid_graph", "node 'conv' (Conv)"}));
}

TEST_F(CheckOnnx, RejectsNegativePadsButLetsPadCrop) {
  EXPECT_EQ(refusal_of_conv("pads", {0, 0, -1, 0}),
            (Failure{"invalid_graph", "node 'conv' (Conv)"}));
  onnx::ModelProto pad = model_of(
      "g (float[4] x) => (float[2] y) {\n"
      "  y = Pad <pads = [-1,-1]> (x)\n"
      "}");
  pad.mutable_opset_import(0)->set_version(2);  // pads is an attribute there
  EXPECT_EQ(refusal(pad).code, "no error");
}

TEST_F(CheckOnnx, RejectsInitializersShorterOrLongerThanTheirShape) {
  for (const size_t bytes : {0u, 4u, 431u, 436u}) {
    EXPECT_EQ(
        refusal(
            conv_model(),
            [&](onnx::ModelProto& model) {
              initializer(model, "w").clear_float_data();
              initializer(model, "w").set_raw_data(std::string(bytes, '\0'));
            }),
        (Failure{"invalid_graph", "initializer 'w'"}))
        << bytes;
  }
  EXPECT_EQ(
      refusal(conv_model(),
              [](onnx::ModelProto& model) {
                initializer(model, "w").mutable_float_data()->RemoveLast();
              }),
      (Failure{"invalid_graph", "initializer 'w'"}));
  EXPECT_EQ(
      refusal(conv_model(),
              [](onnx::ModelProto& model) {
                initializer(model, "w").set_raw_data(std::string(432, '\0'));
              }),
      (Failure{"invalid_graph", "initializer 'w'"}));
  // Readers would use raw bytes that do not exist.
  EXPECT_EQ(refusal(conv_model(),
                    [](onnx::ModelProto& model) {
                      initializer(model, "w").set_raw_data("");
                    }),
            (Failure{"invalid_graph", "initializer 'w'"}));
}

TEST_F(CheckOnnx, RejectsNegativeAndHugeDimensions) {
  const auto with_dim = [&](int64_t dim) {
    return refusal(conv_model(), [&](onnx::ModelProto& model) {
      initializer(model, "w").set_dims(1, dim);
    });
  };
  EXPECT_EQ(with_dim(-3), (Failure{"invalid_graph", "initializer 'w'"}));
  EXPECT_EQ(with_dim(int64_t{1} << 40),
            (Failure{"size_limit", "initializer 'w'"}));
  EXPECT_EQ(with_dim(INT64_MAX), (Failure{"size_limit", "initializer 'w'"}));
  const auto with_input = [&](int64_t dim) {
    return refusal(conv_model(), [&](onnx::ModelProto& model) {
      tensor_type(model.mutable_graph()->mutable_input(0))
          .mutable_shape()
          ->mutable_dim(2)
          ->set_dim_value(dim);
    });
  };
  EXPECT_EQ(with_input(-2), (Failure{"invalid_graph", "value 'x'"}));
  EXPECT_EQ(with_input(int64_t{1} << 40),
            (Failure{"invalid_graph", "value 'x'"}));
}

TEST_F(CheckOnnx, RejectsAnUnknownElementType) {
  EXPECT_EQ(refusal(conv_model(),
                    [](onnx::ModelProto& model) {
                      initializer(model, "w").set_data_type(99);
                    }),
            (Failure{"invalid_graph", "initializer 'w'"}));
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
  EXPECT_EQ(
      refusal(model),
      (Failure{"invalid_graph", "node 'y' (Constant), attribute 'value'"}));
}

TEST_F(CheckOnnx, RejectsExternalDataEverywhere) {
  EXPECT_EQ(refusal(conv_model(),
                    [](onnx::ModelProto& model) {
                      auto& tensor = initializer(model, "w");
                      tensor.clear_float_data();
                      tensor.set_data_location(onnx::TensorProto::EXTERNAL);
                      auto* entry = tensor.add_external_data();
                      entry->set_key("location");
                      entry->set_value("../../etc/passwd");
                    }),
            (Failure{"invalid_graph", "initializer 'w'"}));
}

TEST_F(CheckOnnx, RejectsUnknownOpsets) {
  const auto with_opset = [](int64_t opset) {
    onnx::ModelProto model = conv_model();
    model.mutable_opset_import(0)->set_version(opset);
    return model;
  };
  for (const int64_t opset : {-1, 0}) {
    EXPECT_EQ(refusal(with_opset(opset)),
              (Failure{"unsupported_version", "ONNX model"}));
  }
  EXPECT_EQ(unsupported(with_opset(29)),
            (Failure{"unsupported_version", "ONNX model"}));
  for (const int64_t opset : {11, 17, 18, 23, 26, 28}) {
    EXPECT_EQ(refusal(with_opset(opset)).code, "no error") << opset;
  }
  EXPECT_EQ(
      refusal(conv_model(),
              [](onnx::ModelProto& model) { model.clear_opset_import(); }),
      (Failure{"invalid_graph", "ONNX model"}));
  EXPECT_EQ(refusal(conv_model(),
                    [](onnx::ModelProto& model) {
                      *model.add_opset_import() = model.opset_import(0);
                    }),
            (Failure{"invalid_graph", "ONNX model"}));
}

TEST_F(CheckOnnx, RejectsUnknownIrVersions) {
  const auto with_version = [&](int64_t version) {
    return refusal(conv_model(), [&](onnx::ModelProto& model) {
      model.set_ir_version(version);
    });
  };
  for (const int64_t version : {INT64_MIN, int64_t{0}, int64_t{2}}) {
    EXPECT_EQ(with_version(version),
              (Failure{"unsupported_version", "ONNX model"}));
  }
  for (const int64_t version : {int64_t{15}, INT64_MAX}) {
    onnx::ModelProto model = conv_model();
    model.set_ir_version(version);
    EXPECT_EQ(unsupported(model),
              (Failure{"unsupported_version", "ONNX model"}));
  }
  for (const int64_t version : {4, 7, 8, 9, 10, 13, 14}) {
    EXPECT_EQ(with_version(version).code, "no error");
  }
}

TEST_F(CheckOnnx, RejectsAModelWithoutAGraphOrOutputs) {
  EXPECT_EQ(refusal(conv_model(),
                    [](onnx::ModelProto& model) { model.clear_graph(); }),
            (Failure{"invalid_graph", "ONNX model"}));
  EXPECT_EQ(refusal(conv_model(),
                    [](onnx::ModelProto& model) {
                      model.mutable_graph()->clear_output();
                    }),
            (Failure{"invalid_graph", "graph 'g'"}));
}

TEST_F(CheckOnnx, RejectsUncheckedFunctions) {
  EXPECT_EQ(refusal(conv_model(),
                    [](onnx::ModelProto& model) { model.add_functions(); }),
            (Failure{"invalid_graph", "ONNX model"}));
}

TEST_F(CheckOnnx, PassesOnFindingsOfTheChecker) {
  EXPECT_EQ(refusal(conv_model(),
                    [](onnx::ModelProto& model) {
                      attribute(*model.mutable_graph()->mutable_node(0),
                                "strides")
                          .set_name("stride");
                    }),
            (Failure{"invalid_graph", "ONNX checker"}));
  EXPECT_EQ(refusal(conv_model(),
                    [](onnx::ModelProto& model) {
                      model.mutable_graph()->mutable_node(0)->set_input(
                          0, "nowhere");
                    }),
            (Failure{"invalid_graph", "ONNX checker"}));
}

// As ONNX Runtime does.
TEST_F(CheckOnnx, IgnoresStatedShapesThatContradictTheNodes) {
  const auto with_shape = [this](auto change) {
    return refusal(conv_model(), [&](onnx::ModelProto& model) {
      change(*tensor_type(model.mutable_graph()->mutable_output(0))
                  .mutable_shape());
    });
  };
  EXPECT_EQ(with_shape([](auto& shape) {
              shape.mutable_dim(2)->set_dim_value(99);
            }).code,
            "no error");
  EXPECT_EQ(with_shape([](auto& shape) { shape.add_dim(); }).code, "no error");
  EXPECT_EQ(with_shape([](auto& shape) { shape.clear_dim(); }).code,
            "no error");
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
  EXPECT_EQ(refusal(model), (Failure{"invalid_graph", "ONNX shape inference"}));
}

TEST_F(CheckOnnx, AllowsAConvolutionOfUnknownKernel) {
  onnx::ModelProto model = model_of(
      "g (float[1,3,8,8] x, float[N] w0, int64[R] shape) => "
      "(float[1,4,6,6] y) {\n"
      "  w = Reshape (w0, shape)\n"
      "  y = Conv (x, w)\n"
      "}");
  EXPECT_EQ(refusal(model).code, "no error");
}

TEST_F(CheckOnnx, RejectsALayerNormalizationAxisOutOfRange) {
  onnx::ModelProto model = model_of(
      "g (float[2,3] x, float[3] s) => (float[2,3] y, float m, float d) {\n"
      "  y, m, d = LayerNormalization <axis = -5> (x, s)\n"
      "}");
  model.mutable_opset_import(0)->set_version(17);
  model.set_ir_version(8);
  EXPECT_EQ(refusal(model), (Failure{"invalid_graph", "ONNX shape inference"}));
}

class CheckQdq : public CheckOnnx {
 protected:
  Failure refusal_with_scales(const std::vector<float>& scales) {
    return refusal(quantized_model(), [&](onnx::ModelProto& model) {
      initializer(model, "ws") =
          float_tensor("ws", {static_cast<int64_t>(scales.size())}, scales);
      initializer(model, "wz") =
          int8_tensor("wz", {static_cast<int64_t>(scales.size())},
                      std::vector<int32_t>(scales.size(), 0));
    });
  }
  Failure refusal_with_axis(int64_t axis) {
    return refusal(quantized_model(), [&](onnx::ModelProto& model) {
      for (const int node : {2, 3}) {
        attribute(*model.mutable_graph()->mutable_node(node), "axis")
            .set_i(axis);
      }
    });
  }
};

TEST_F(CheckQdq, RejectsAMismatchOfScalesAndChannels) {
  EXPECT_EQ(refusal_with_scales({0.1f, 0.2f, 0.3f}),
            (Failure{"invalid_graph", "node 'wq' (QuantizeLinear)"}));
  EXPECT_EQ(refusal_with_scales({0.1f, 0.2f, 0.3f, 0.4f}).code, "no error");
}

TEST_F(CheckQdq, RejectsAnAxisOutOfRange) {
  EXPECT_EQ(refusal_with_axis(4),
            (Failure{"invalid_graph", "node 'wq' (QuantizeLinear)"}));
  EXPECT_EQ(refusal_with_axis(-5),
            (Failure{"invalid_graph", "node 'wq' (QuantizeLinear)"}));
  EXPECT_EQ(refusal_with_axis(INT64_MIN),
            (Failure{"invalid_graph", "node 'wq' (QuantizeLinear)"}));
  EXPECT_EQ(refusal_with_axis(-4).code, "no error");
}

TEST_F(CheckQdq, RejectsScalesThatAreNotFiniteAndPositive) {
  for (const float scale : {0.0f, -1.0f, NAN, INFINITY}) {
    EXPECT_EQ(refusal_with_scales({0.1f, 0.2f, scale, 0.4f}),
              (Failure{"invalid_graph", "node 'wq' (QuantizeLinear)"}))
        << scale;
  }
}

TEST_F(CheckQdq, RejectsAZeroPointThatDoesNotFitTheScale) {
  EXPECT_EQ(refusal(quantized_model(),
                    [](onnx::ModelProto& model) {
                      initializer(model, "wz") = int8_tensor("wz", {1}, {0});
                    }),
            (Failure{"invalid_graph", "node 'wq' (QuantizeLinear)"}));
}

}  // namespace
}  // namespace octet::io
