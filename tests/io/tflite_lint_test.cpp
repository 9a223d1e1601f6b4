// Rules for .tflite files: each file is exported, then edited.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/lint.h>
#include <octet/io/tflite.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>

#include "support.h"
#include "tflite_file.h"

namespace octet::io {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using tflite::schema::ModelT;
using tflite::schema::Op;
using tflite::schema::TensorType;

Model lint_network() {
  const SymbolicTensor x = input({8, 8, 3}, "image");
  SymbolicTensor y = Conv2D({.filters = 4, .name = "conv"})(x);
  y = MaxPooling2D({.name = "pool"})(ReLU({.name = "relu"})(y));
  y = Dense({.units = 5, .name = "head"})(Flatten({.name = "flat"})(y));
  return Model(x, Softmax({.name = "scores"})(y), {.seed = 2});
}

std::string lint_file(int bits = 8) {
  Model model = quant::quantize_model(
      lint_network(),
      {.policy = quant::Policy::tflite, .activation = {.bits = bits}});
  Tensor x({16, 8, 8, 3});
  Rng(3).fill_normal(x, 0, 1);
  quant::calibrate(model, [&](const Model& m) { (void)m(Variable(x)); },
                   {.method = quant::Calibration::max});
  return to_tflite(model).bytes;
}

std::vector<std::string> errors_of(const std::string& bytes) {
  std::vector<std::string> ids;
  for (const LintFinding& finding : lint_tflite_bytes(bytes).findings) {
    if (finding.severity != LintSeverity::info) ids.push_back(finding.id);
  }
  return ids;
}

TEST(TfliteLint, ExportedFilesHaveNoFindings) {
  for (const int bits : {8, 16}) {
    const LintReport report = lint_tflite_bytes(lint_file(bits));
    EXPECT_THAT(errors_of(lint_file(bits)), IsEmpty());
    EXPECT_EQ(report.target, "tflite");
    ASSERT_EQ(report.layers.size(), 4u);
    EXPECT_EQ(report.layers[0].node, "relu");
    EXPECT_EQ(report.layers[0].precision, LayerPrecision::int8);
    EXPECT_THAT(report.layers[0].group, HasSubstr("CONV_2D + RELU"));
    EXPECT_THAT(report.to_string(), HasSubstr("0 errors, 0 warnings"));
  }
  EXPECT_THAT(errors_of(to_tflite(lint_network()).bytes), IsEmpty());
}

struct LintFault {
  std::string id;
  std::function<void(ModelT&)> change;
  int bits = 8;
};

TEST(TfliteLint, FindsEachFault) {
  const std::vector<LintFault> faults = {
      {"M01",
       [](ModelT& m) {
         for (const auto& code : m.operator_codes) {
           if (code->builtin_code != Op::MAX_POOL_2D) continue;
           code->builtin_code = Op::CUSTOM;
           code->deprecated_builtin_code = 32;
           code->custom_code = "Mine";
         }
       }},
      {"M02",
       [](ModelT& m) {
         input_of(m, operator_of(m, Op::CONV_2D), 1)
             .quantization->zero_point[2] = 3;
       }},
      {"M03",
       [](ModelT& m) {
         m.buffers[input_of(m, operator_of(m, Op::CONV_2D), 1).buffer]
             ->data[5] = 0x80;
       }},
      {"M04",
       [](ModelT& m) {
         input_of(m, operator_of(m, Op::CONV_2D), 2).quantization->scale[1] *=
             2;
       }},
      {"M04",
       [](ModelT& m) {
         input_of(m, operator_of(m, Op::FULLY_CONNECTED), 2).type =
             TensorType::FLOAT32;
       }},
      {"M05",
       [](ModelT& m) {
         output_of(m, operator_of(m, Op::MAX_POOL_2D)).quantization->scale[0] *=
             2;
       }},
      {"M05",
       [](ModelT& m) {
         output_of(m, operator_of(m, Op::RESHAPE)).quantization->zero_point[0] =
             3;
       }},
      {"M06",
       [](ModelT& m) {
         output_of(m, operator_of(m, Op::SOFTMAX)).quantization->zero_point[0] =
             0;
       }},
      {"M06",
       [](ModelT& m) {
         output_of(m, operator_of(m, Op::SOFTMAX)).quantization->scale[0] =
             1.0f / 256;
       },
       16},
      {"M07",
       [](ModelT& m) {
         input_of(m, operator_of(m, Op::CONV_2D), 0).type = TensorType::FLOAT32;
       }},
      {"M08",
       [](ModelT& m) {
         auto& x = input_of(m, operator_of(m, Op::CONV_2D), 0);
         x.type = TensorType::UINT8;
         x.quantization->zero_point[0] += 128;
       }},
      {"M09",
       [](ModelT& m) {
         const auto& op = operator_of(m, Op::SOFTMAX);
         input_of(m, op, 0).type = TensorType::FLOAT32;
         output_of(m, op).type = TensorType::FLOAT32;
       }},
      {"M10",
       [](ModelT& m) {
         output_of(m, operator_of(m, Op::SOFTMAX)).type = TensorType::FLOAT16;
       }},
      {"M11",
       [](ModelT& m) {
         input_of(m, operator_of(m, Op::CONV_2D), 0)
             .quantization->zero_point = {5};
       },
       16}};
  for (const LintFault& fault : faults) {
    const std::string file = edited(lint_file(fault.bits), fault.change);
    EXPECT_THAT(errors_of(file), Contains(fault.id));
    const LintReport report = lint_tflite_bytes(file);
    EXPECT_THAT(
        report.to_string(),
        HasSubstr(std::string(
            tflite_lint_rules()[std::stoul(fault.id.substr(1)) - 1].text)));
  }
}

TEST(TfliteLint, ListsDenseScalesAndConversionsAsInformation) {
  const LintReport report = lint_tflite_bytes(lint_file());
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].id, "M12");
  const SymbolicTensor vector = input({6});
  Model dense =
      quant::quantize_model(Model(vector, Dense({.units = 3})(vector)),
                            {.policy = quant::Policy::tflite,
                             .tflite = {.per_channel_dense = false}});
  quant::calibrate(dense, [&](const Model& m) {
    (void)m(Variable(Tensor::full({2, 6}, 0.5f)));
  });
  EXPECT_TRUE(lint_tflite_bytes(to_tflite(dense).bytes).findings.empty());
  const SymbolicTensor x = input({4, 4, 2});
  const SymbolicTensor y =
      Conv2D({.filters = 2, .kernel_size = 1, .activation = "sigmoid"})(x);
  Model model = quant::quantize_model(Model(x, Concatenate()({x, y})),
                                      {.policy = quant::Policy::tflite});
  Tensor samples({4, 4, 4, 2});
  Rng(3).fill_normal(samples, 0, 1);
  quant::calibrate(model, [&](const Model& m) { (void)m(Variable(samples)); });
  const LintReport converts = lint_tflite_bytes(to_tflite(model).bytes);
  EXPECT_EQ(converts.count(LintSeverity::error), 0);
  EXPECT_EQ(converts.findings.at(0).id, "M13");
}

TEST(TfliteLint, RejectsZeroPointsOutsideOfTheType) {
  const std::string file = edited(lint_file(), [](ModelT& m) {
    input_of(m, operator_of(m, Op::CONV_2D), 0).quantization->zero_point[0] =
        200;
  });
  EXPECT_EQ(failure_of<FormatError>([&] { lint_tflite_bytes(file); }).code,
            "invalid_file");
}

}  // namespace
}  // namespace octet::io
