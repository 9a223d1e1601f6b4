// octet sensitivity, and octet report with the same figures.
#include <cmath>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/io/json.h>
#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/file.h>

#include "../support.h"
#include "command.h"

namespace octet {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class OctetSensitivity : public ::testing::Test {
 protected:
  OctetSensitivity() {
    const SymbolicTensor x = input({9, 8, 3}, "x");
    SymbolicTensor y = Conv2D({.filters = 17, .name = "first"})(x);
    y = ReLU()(BatchNormalization({.name = "norm"})(y));
    y = Conv2D({.filters = 8, .kernel_size = {3, 3}, .name = "second"})(y);
    const Model model(
        x, Dense({.units = 4, .name = "answer"})(GlobalAveragePooling2D()(y)));
    io::save_model(model, folder_ / "float.h5");
    io::write_npy(folder_ / "x.npy", x_);
    quant::QuantizeOptions options;
    options.bits = {{.layer = "second", .weight = 4}};
    Model int8 = quant::quantize_model(model, options);
    quant::calibrate(int8, Dataset(x_, Tensor::zeros({20}, DType::i64)));
    (void)io::export_onnx(int8, folder_ / "int8.onnx");
    (void)io::export_onnx(int8, folder_ / "folded.onnx",
                          {.fold_batch_norm = true});
    noise_ = sqnr(model.predict(x_), int8.predict(x_));
  }

  static double sqnr(const Tensor& exact, const Tensor& rounded) {
    double signal = 0, noise = 0;
    for (size_t i = 0; i < exact.f32().size(); ++i) {
      signal += std::pow(exact.f32()[i], 2);
      noise += std::pow(exact.f32()[i] - rounded.f32()[i], 2);
    }
    return 10 * std::log10(signal / noise);
  }

  CommandResult run(const std::string& options) const {
    return run_command(fmt::format("cd {} && {}/octet {} 2>&1",
                                   quoted(folder_.path()), OCTET_BIN, options));
  }

  const Tensor x_ = noise({20, 9, 8, 3});
  double noise_ = 0;
  TempFolder folder_;
};

TEST_F(OctetSensitivity, AcceptsDataWithoutLabels) {
  const CommandResult r =
      run("sensitivity float.h5 --data x.npy --bits 4,8 --json");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  const Config found = r.json();
  EXPECT_EQ(found.at("samples").as_int(), 20);
  EXPECT_EQ(found.find("float"), nullptr);  // the accuracy
}

TEST_F(OctetSensitivity, JsonNamesTheCauseAndTheWorstChannels) {
  const CommandResult r = run("sensitivity float.h5 --data x.npy --json");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  // Warnings precede it.
  const Config json = io::from_json(r.output.substr(r.output.find("{\n")));
  EXPECT_THAT(json.at("blame").as_string(), Not(::testing::IsEmpty()));
  const Config tensor = json.at("tensors").as_list().at(0);
  EXPECT_GE(tensor.at("worst_channel").at("channel").as_int(), 0);
  EXPECT_GT(tensor.at("worst_channel").at("range").as_number(), 0);
  const Config layer = json.at("layers").as_list().at(0);
  EXPECT_EQ(layer.at("tensor"), tensor.at("tensor"));
  EXPECT_GE(layer.at("weight_channel").at("channel").as_int(), 0);
}

TEST_F(OctetSensitivity, IncludesWeightRoundingWithAReference) {
  const CommandResult alone = run("sensitivity int8.onnx --data x.npy");
  EXPECT_THAT(alone.warned(), ElementsAre("sensitivity"));
  for (const char* file : {"int8.onnx", "folded.onnx"}) {
    const CommandResult r = run(fmt::format(
        "sensitivity {} --data x.npy --reference float.h5 --json", file));
    ASSERT_EQ(r.exit_code, 0) << r.output;
    const Config found = r.json();
    EXPECT_THAT(found.at("blame").as_string(), HasSubstr("'second'"));
    EXPECT_NEAR(found.at("quantized").at("sqnr").as_number(), noise_, 0.05);
  }
  EXPECT_EQ(
      run("sensitivity float.h5 --data x.npy --reference float.h5").failure,
      (Failure{"conflicting_options", "--reference"}));
}

TEST_F(OctetSensitivity, ReportHasTheSameFigure) {
  const CommandResult r =
      run("report int8.onnx --data x.npy --reference float.h5 --sensitivity "
          "--seconds 0 -o report.html");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  const std::string page = read_file(folder_ / "report.html");
  EXPECT_THAT(page, AllOf(HasSubstr(fmt::format("<b>{:.1f} dB</b>", noise_)),
                          HasSubstr("&#39;second&#39;")));
}

TEST_F(OctetSensitivity, ReportExplainsAnUnsuitableReference) {
  Model other = io::load_model(folder_ / "float.h5");
  for (const Parameter& p : other.layer("first").parameters()) {
    for (float& value : p.variable.mutable_value()) value *= 1.4f;
  }
  io::save_model(other, folder_ / "other.h5");
  const CommandResult r =
      run("report int8.onnx --data x.npy --reference other.h5 --sensitivity "
          "--seconds 0 -o report.html");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(read_file(folder_ / "report.html"),
              AllOf(HasSubstr("other.h5"), HasSubstr("&#39;first&#39;")));
}

}  // namespace
}  // namespace octet
