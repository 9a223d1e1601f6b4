// Session files: round trips, stored weights, files of other kinds.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/file.h>
#include <octet/session/detail/session_file.h>
#include <octet/session/session.h>

#include "../quant/small_networks.h"
#include "../temp_folder.h"
#include "session_files.h"

namespace octet {
namespace {

using session::model_of;
using session::parse_session_file;
using session::session_file_bytes;

class SessionFileOf : public testing::TestWithParam<std::string> {};

TEST_P(SessionFileOf, NetworkMatchesTheModelBitForBit) {
  const zoo::Entry& entry = zoo::entry(GetParam());
  Shape sample = entry.input;
  if (sample[0] > 128) sample = {96, 80, 3};
  if (entry.name == "inception_v3") sample = {96, 91, 3};
  if (entry.name == "vit_tiny") sample = entry.input;
  const TempFolder folder;
  const Model model = zoo::make(entry.name, {.input = sample});
  for (const bool int8 : {false, true}) {
    SCOPED_TRACE(int8 ? "int8" : "float");
    const Model net = int8 ? calibrated(model) : model.clone();
    save_session(net, folder / "net.octet");
    const InferenceSession session = load_session(folder / "net.octet");
    EXPECT_EQ(session_bits(session, 3), forward_bits(net, 3));
    EXPECT_EQ(session_bits(session, 1), forward_bits(net, 1));
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, SessionFileOf,
                         testing::ValuesIn(small_networks()),
                         [](const auto& name_of) { return name_of.param; });

TEST(SessionFile, RestoresSeveralInputsAndOutputs) {
  const Model model = two_branches();
  for (const Model& net : {model.clone(), calibrated(model)}) {
    const std::string bytes = session_file_bytes(net);
    const Model loaded = model_of(parse_session_file(bytes));
    EXPECT_EQ(to_config(loaded), to_config(net));
    EXPECT_EQ(quant::plan_of(loaded), quant::plan_of(net));
    EXPECT_EQ(forward_bits(loaded, 3), forward_bits(net, 3));
  }
}

TEST(SessionFile, DescribesInputsAndOutputs) {
  const TempFolder folder;
  save_session(calibrated(two_branches()), folder / "net.octet");
  const InferenceSession session = load_session(folder / "net.octet");
  ASSERT_EQ(session.inputs().size(), 2u);
  EXPECT_EQ(session.inputs()[0],
            (TensorSpec{.shape = {7, 5, 3}, .name = "right"}));
  ASSERT_EQ(session.outputs().size(), 2u);
  EXPECT_EQ(session.outputs()[0], (TensorSpec{.shape = {3}, .name = "logits"}));
}

TEST(SessionFile, StoresWeightsOfQuantizedLayersAsInt8) {
  const Model model = zoo::make("resnet8", {.input = {32, 32, 3}});
  const size_t floats = session_file_bytes(model).size();
  const size_t integers = session_file_bytes(calibrated(model)).size();
  EXPECT_LT(integers, floats / 2);
}

TEST(SessionFile, StoresWeightsOfEveryKindOfScale) {
  quant::QuantizerConfig narrow = quant::weight_quantizer();
  narrow.bits = 4;
  quant::QuantizerConfig per_tensor = quant::weight_quantizer();
  per_tensor.per_channel = false;
  quant::QuantizerConfig fixed = quant::weight_quantizer();
  fixed.rule = quant::ScaleRule::fixed;
  for (const quant::QuantizerConfig& weight : {narrow, per_tensor, fixed}) {
    SCOPED_TRACE(to_string(weight));
    Model model = calibrated(two_branches(), {.weight = weight});
    const Model loaded =
        model_of(parse_session_file(session_file_bytes(model)));
    EXPECT_EQ(forward_bits(loaded, 3), forward_bits(model, 3));
  }
}

// Their values without quantization are part of the outputs.
TEST(SessionFile, StoresWeightsOfDisabledQuantizersAsFloats) {
  Model model = calibrated(two_branches());
  for (const auto& quantizer : quant::quantizers(model)) {
    quantizer->set_enabled(false);
  }
  const Model loaded = model_of(parse_session_file(session_file_bytes(model)));
  EXPECT_EQ(forward_bits(loaded, 3), forward_bits(model, 3));
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    EXPECT_EQ(bits(loaded.parameters()[i].variable),
              bits(model.parameters()[i].variable));
  }
}

TEST(SessionFile, KeepsAdditionalEntries) {
  const Config info = Config().set("classes", Config::List{"cat", "dog"});
  const std::string bytes = session_file_bytes(two_branches(), info);
  EXPECT_EQ(parse_session_file(bytes).info, info);
}

TEST(SessionFile, RejectsAModelInCalibration) {
  Model model = quant::quantize_model(two_branches());
  quant::quantizers(model)[0]->start_observing({});
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)session_file_bytes(model); }).code,
      "invalid_state");
}

TEST(SessionFile, RejectsOtherFiles) {
  const TempFolder folder;
  write_file(folder / "net.onnx", "\x08\x08\x3a\x00");
  write_file(folder / "empty.octet", "");
  EXPECT_EQ(
      failure_of<FormatError>([&] { (void)load_session(folder / "net.onnx"); }),
      (Failure{"unsupported_format", "file"}));
  EXPECT_EQ(failure_of<FormatError>(
                [&] { (void)load_session(folder / "empty.octet"); }),
            (Failure{"unsupported_format", "file"}));
  EXPECT_THROW((void)load_session(folder / "none.octet"), IoError);
  EXPECT_FALSE(session::is_session_file(folder / "net.onnx"));
}

TEST(SessionFile, AppliesTheLimitsOfTheSession) {
  const TempFolder folder;
  save_session(two_branches(), folder / "net.octet");
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)load_session(folder / "net.octet", {.memory_limit = 100});
            }).code,
            "memory_limit");
}

}  // namespace
}  // namespace octet
