// Passes before import.
#include "onnx_normalization.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/error.h>

#include "support.h"

namespace octet::io {
namespace {

// Operators without a layer in this form become others.
TEST(OnnxNormalization, LowersOperatorsToOthers) {
  const std::string two = "t = Constant <value = float {2.0}> ()\n";
  const std::string axis = "a = Constant <value = int64[1] {1}> ()\n";
  expect_same("y = Celu <alpha = 2.0> (x)",
              two + "d = Div (x, t)\n e = Elu (d)\n y = Mul (e, t)");
  expect_same("y = LpNormalization <axis = 1, p = 1> (x)",
              axis + "b = Abs (x)\n s = ReduceSum (b, a)\n y = Div (x, s)");
  expect_same("y = LpNormalization <axis = 1> (x)",
              axis +
                  "b = Mul (x, x)\n s = ReduceSum (b, a)\n r = Sqrt (s)\n"
                  "y = Div (x, r)");
  expect_same("y = MeanVarianceNormalization <axes = [2, 3]> (x)",
              "m = ReduceMean <axes = [2, 3]> (x)\n d = Sub (x, m)\n"
              "q = Mul (d, d)\n v = ReduceMean <axes = [2, 3]> (q)\n"
              "r = Sqrt (v)\n y = Div (d, r)");
  expect_same("y = Hardmax <axis = 1> (x)",
              "m = ReduceMax <axes = [1]> (x)\n e = Equal (x, m)\n"
              "y = Cast <to = 1> (e)");
  expect_same("y = Shrink <lambd = 0.5, bias = 0.5> (x)",
              "h = Constant <value = float {0.5}> ()\n b = Abs (x)\n"
              "s = Sub (b, h)\n r = Relu (s)\n g = Sign (x)\n"
              "y = Mul (r, g)");
  expect_same("y = GlobalLpPool (x)",
              "q = Mul (x, x)\n s = ReduceSum <keepdims = 1> (q, p)\n"
              "p = Constant <value = int64[2] {2, 3}> ()\n y = Sqrt (s)");
}

TEST(OnnxNormalization, ComputesSumsAndTrianglesByProducts) {
  const std::string at = "k = Constant <value = int64 {";
  for (const char* axis : {"1", "2", "-1"}) {
    for (const char* options : {"", "<exclusive = 1>", "<reverse = 1>"}) {
      expect_as_run(at + axis + "}> ()\n y = CumSum " + options + " (x, k)");
    }
  }
  for (const char* op : {"Cosh", "Sinh", "Tan"}) {
    expect_as_run(std::string("y = ") + op + " (x)");
  }
}

// Rounds up on axes that shrink, which layers do not.
TEST(OnnxNormalization, ResizesByTheFactorsOfOldOpsets) {
  const auto resize = [](const std::string& factors) {
    return "s = Constant <value = float[4] {1.0, 1.0, " + factors +
           "}> ()\n y = Resize (x, s)";
  };
  expect_as_run(resize("2.0, 3.0"), 10);
  expect_as_run(resize("0.25, 1.0"), 10);
  expect_as_run(resize("0.5, 2.0"), 10);
  EXPECT_EQ(
      failure_of<UnsupportedError>([&] {
        (void)from_onnx(conv_file(resize("0.4, 1.0"), 10).SerializeAsString());
      }),
      (Failure{"unsupported_operator", "node 'y' (Resize)"}));
}

/// Stores the initializers as float64.
void store_as_float64(onnx::ModelProto& model) {
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    for (const float value : tensor.float_data()) {
      tensor.add_double_data(static_cast<double>(value));
    }
    tensor.clear_float_data();
    tensor.set_data_type(onnx::TensorProto::DOUBLE);
  }
}

TEST(OnnxNormalization, OtherFloatsAreFloat32) {
  const Tensor x = uniform_values({2, 3, 8, 9});
  const Tensor expected = node_outputs(
      conv_file("c = Conv (x, w)\n d = Add (c, c)\n y = Relu (d)"), x);
  onnx::ModelProto doubles = conv_file(
      "h = Cast <to = 11> (x)\n k = CastLike (x, h)\n e = Sub (k, h)\n"
      "g = Add (h, e)\n c = Conv (g, w)\n d = Add (c, c)\n"
      "r = Cast <to = 1> (d)\n y = Relu (r)",
      17);
  store_as_float64(doubles);
  expect_layers(doubles, x, expected);
  onnx::ModelProto halves = conv_file(
      "h = Cast <to = 10> (x)\n m = Mul (h, k)\n y = Cast <to = 1> (m)");
  onnx::TensorProto& half = *halves.mutable_graph()->add_initializer();
  half.set_name("k");
  half.set_data_type(onnx::TensorProto::FLOAT16);
  half.add_int32_data(0x3E00);  // 1.5
  expect_layers(halves, x,
                node_outputs(conv_file("k = Constant <value = float {1.5}> ()\n"
                                       "y = Mul (x, k)"),
                             x));
}

TEST(OnnxNormalization, ReadsItsOwnFloat16Files) {
  const Model model =
      from_onnx(conv_file("c = Conv (x, w)\n g = GlobalAveragePool (c)\n"
                          "f = Flatten (g)\n y = Softmax (f)")
                    .SerializeAsString());
  OnnxExportOptions options;
  options.float16 = true;
  options.opset = 19;
  const Model read = from_onnx(to_onnx(model, options).bytes);
  const Tensor x = uniform_values({2, 8, 9, 3});
  const Tensor y = model.predict(x), z = read.predict(x);
  ASSERT_EQ(y.shape(), z.shape());
  for (size_t i = 0; i < y.f32().size(); ++i) {
    // Weights are rounded to 11 bits.
    EXPECT_NEAR(y.f32()[i], z.f32()[i], 1e-3f);
  }
}

TEST(OnnxNormalization, FoldsSizesOfValues) {
  expect_as_run(
      "n = Size (x)\n s = Shape (x)\n z = Constant <value = int64 {0}> ()\n"
      "b = Gather (s, z)\n k = Div (n, b)\n f = Cast <to = 1> (k)\n"
      "y = Div (x, f)");
}

// Source of the paddings: ONNX ConvTranspose-11; numbers agree with ONNX
// Runtime 1.31.
TEST(OnnxNormalization, TransposedConvolutionsHaveTheRequestedSize) {
  const auto compare = [](const std::string& attributes,
                          const std::string& plain) {
    const auto model = [](const std::string& more) {
      onnx::ModelProto made = graph_model(
          "(float[N,3,9,8] x) => (float[N,4,A,B] y)",
          "y = ConvTranspose <strides = [2,2], " + more + "> (x, v)");
      add_noise(made, "v", {3, 4, 3, 3});
      return made;
    };
    const Tensor x = uniform_values({2, 3, 9, 8});
    SCOPED_TRACE(attributes);
    expect_layers(model(attributes), x, node_outputs(model(plain), x));
  };
  compare("auto_pad = \"SAME_UPPER\"", "pads = [0,0,1,1]");
  compare("auto_pad = \"SAME_LOWER\"", "pads = [1,1,0,0]");
  compare("output_shape = [18,16]", "pads = [1,1,0,0]");
  compare("output_shape = [17,15]", "pads = [1,1,1,1]");
  compare("output_shape = [18,17], auto_pad = \"SAME_UPPER\"",
          "pads = [0,0,1,0]");
  compare("output_shape = [18,16], output_padding = [1,1]",
          "pads = [1,1,1,1], output_padding = [1,1]");
  compare("output_shape = [20,17]", "output_padding = [1,0]");
}

// auto_pad determines the size, whatever output_padding is.
TEST(OnnxNormalization, TransposedConvolutionsIgnorePaddingOfAutomaticSizes) {
  for (const char* mode : {"SAME_UPPER", "SAME_LOWER"}) {
    onnx::ModelProto model =
        conv_file(std::string("y = ConvTranspose <auto_pad = \"") + mode +
                  "\", output_padding = [1, 1], strides = [2, 2]> (x, k)");
    add_noise(model, "k", {3, 4, 3, 3});
    const Tensor x = uniform_values({2, 3, 8, 9});
    const Tensor expected = node_outputs(model, x);
    EXPECT_EQ(expected.shape(), (Shape{2, 4, 16, 18}));
    expect_layers(model, x, expected);
  }
}

TEST(OnnxNormalization, PadsAndCropsAnyAxis) {
  const auto pad = [](const std::string& pads, const std::string& mode) {
    expect_as_run("p = Constant <value = int64[8] {" + pads +
                  "}> ()\n"
                  "y = Pad <mode = \"" +
                  mode + "\"> (x, p)");
  };
  pad("0,0,-1,2,0,0,1,-2", "constant");
  pad("0,-1,0,0,0,0,0,0", "constant");
  pad("0,1,2,1,0,0,1,1", "constant");
  pad("0,1,-2,1,0,-2,1,1", "constant");
  expect_as_run("y = Pad <pads = [0,0,-1,2,0,0,1,-2], value = 1.5> (x)", 9);
  // The image is cropped first, as in ONNX Runtime.
  expect_same(
      "p = Constant <value = int64[8] {0,0,-1,0,0,0,0,2}> ()\n"
      "y = Pad <mode = \"reflect\"> (x, p)",
      "s = Constant <value = int64[1] {1}> ()\n"
      "e = Constant <value = int64[1] {8}> ()\n"
      "a = Constant <value = int64[1] {2}> ()\n"
      "c = Slice (x, s, e, a)\n"
      "p = Constant <value = int64[8] {0,0,0,0,0,0,0,2}> ()\n"
      "y = Pad <mode = \"reflect\"> (c, p)");
}

TEST(OnnxNormalization, SqueezeWithoutAxesRemovesAllOfSizeOne) {
  expect_same("p = GlobalAveragePool (x)\n y = Squeeze (p)",
              "p = GlobalAveragePool (x)\n y = Flatten (p)");
}

TEST(OnnxNormalization, SoftmaxBeforeOpset13CoversTheAxesBehind) {
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    for (const char* axis : {"1", "2", "3", "-2"}) {
      expect_as_run(std::string("c = Conv (x, w)\n y = ") + op +
                        " <axis = " + axis + "> (c)",
                    11);
    }
  }
}

TEST(OnnxNormalization, BatchNormalizationUsesRunningStatistics) {
  const auto model = [](const std::string& node, int64_t opset) {
    onnx::ModelProto made = conv_file(node, opset);
    add_noise(made, "k", {3});
    for (float& value : *initializer(made, "k").mutable_float_data()) {
      value = std::abs(value) + 0.5f;
    }
    return made;
  };
  const Tensor x = uniform_values({2, 3, 8, 9});
  const Tensor expected =
      node_outputs(model("y = BatchNormalization (x, k, k, k, k)", 15), x);
  const auto check = [&](const std::string& node, int64_t opset) {
    SCOPED_TRACE(node);
    const WarningCapture warnings;
    expect_layers(model(node, opset), x, expected);
    ASSERT_EQ(warnings.messages.size(), 1u);
    EXPECT_EQ(warnings.messages[0].code, "running_statistics");
  };
  check("y, m, v = BatchNormalization <training_mode = 1> (x, k, k, k, k)", 15);
  check("y, m, v, a, b = BatchNormalization (x, k, k, k, k)", 9);
  check("y = BatchNormalization (x, k, k, k, k)", 6);
}

TEST(OnnxNormalization, DropoutIsActiveInTrainingOnly) {
  const WarningCapture warnings;
  expect_same("y = Dropout <ratio = 0.9> (x)", "y = Identity (x)", 6);
  expect_same(
      "r = Constant <value = float {0.9}> ()\n"
      "t = Constant <value = bool {1}> ()\n"
      "y = Dropout (x, r, t)",
      "y = Identity (x)");
  ASSERT_EQ(warnings.messages.size(), 2u);
  EXPECT_EQ(warnings.messages[0].code, "dropout_in_training");
}

TEST(OnnxNormalization, OperatorsOfOldOpsets) {
  expect_as_run("y = Upsample <scales = [1.0, 1.0, 2.0, 3.0]> (x)", 7);
  expect_as_run(
      "s = Constant <value = float[4] {1.0, 1.0, 2.0, 2.0}> ()\n"
      "y = Upsample <mode = \"linear\"> (x, s)",
      9);
  expect_as_run(
      "k = Constant <value = float[3] {1.0, -2.0, 0.5}> ()\n"
      "a = Add <axis = 1, broadcast = 1> (x, k)\n"
      "y = Mul <axis = 1, broadcast = 1> (a, k)",
      6);
  expect_same(
      "k = Constant <value = float[3] {1.0, -2.0, 0.5}> ()\n"
      "y = PRelu (x, k)",
      "k = Constant <value = float[3,1,1] {1.0, -2.0, 0.5}> ()\n"
      "y = PRelu (x, k)",
      6);
  expect_same("c = Cast <to = \"FLOAT\"> (x)\n y = Relu (c)", "y = Relu (x)",
              5);
  expect_same("y = Pad <paddings = [0,0,1,1,0,0,1,1]> (x)",
              "y = Pad <pads = [0,0,1,1,0,0,1,1]> (x)", 1, 10);
}

// As Brevitas writes fewer bits than 8.
TEST(OnnxNormalization, ClipsOfQuantizedValuesAreRanges) {
  const std::string constants =
      "s = Constant <value = float {0.13}> ()\n"
      "z = Constant <value = int8 {0}> ()\n"
      "l = Constant <value = int8 {-8}> ()\n"
      "h = Constant <value = int8 {7}> ()\n";
  const std::string nodes = constants +
                            "q = QuantizeLinear (x, s, z)\n"
                            "c = Clip (q, l, h)\n"
                            "d = DequantizeLinear (c, s, z)\n"
                            "a = QuantizeLinear (w, s, z)\n"
                            "b = Clip (a, l, h)\n"
                            "v = DequantizeLinear (b, s, z)\n"
                            "y = Conv (d, v)";
  const onnx::ModelProto model = conv_file(nodes);
  const Tensor x = uniform_values({2, 3, 8, 9});
  expect_layers(model, x, node_outputs(model, x));
  const Model read = from_onnx(model.SerializeAsString());
  EXPECT_EQ(quant::quantizers(read)[0]->config().bits, 4);
}

TEST(OnnxNormalization, NodesWithoutConsumersAreIgnored) {
  const onnx::ModelProto model = conv_file(
      "t = Tan (x)\n u = Asinh (t)\n i = Identity (x)\n y = Relu (i)");
  const Tensor x = uniform_values({2, 3, 8, 9});
  expect_layers(model, x, node_outputs(conv_file("y = Relu (x)"), x));
}

}  // namespace
}  // namespace octet::io
