// octet quantize: quality check of the file, and unusual samples.
#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/io/json.h>
#include <octet/io/model_file.h>

#include "../layers/support.h"
#include "../testdata.h"
#include "command.h"

namespace octet {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Models and samples with large quantization errors.
class OctetQuantizeCheck : public ::testing::Test {
 protected:
  CommandResult run(const std::string& options) const {
    return run_command(fmt::format("{}/octet quantize {} -o {} {} 2>&1",
                                   OCTET_BIN, quoted(folder_ / "m.h5"),
                                   quoted(folder_ / "int8.onnx"), options));
  }
  static Config json(const CommandResult& r) {
    const size_t begin = r.output.find("{\n");
    return io::from_json(
        r.output.substr(begin, r.output.find("\n}") + 2 - begin));
  }
  /// Writes the model, its samples, and its predictions as labels.
  std::string write(const Model& model, const Tensor& x) const {
    io::save_model(model, folder_ / "m.h5");
    io::write_npy(folder_ / "x.npy", x);
    const Tensor y = model.predict(x);
    const auto n = static_cast<size_t>(x.shape()[0]);
    const size_t classes = y.f32().size() / n;
    Tensor labels(Shape{x.shape()[0]}, DType::i64);
    for (size_t i = 0; i < n; ++i) {
      const auto row = std::as_const(y).f32().subspan(i * classes, classes);
      labels.data<int64_t>()[i] = std::ranges::max_element(row) - row.begin();
    }
    io::write_npy(folder_ / "y.npy", labels);
    return fmt::format("--data {} --labels {} ", quoted(folder_ / "x.npy"),
                       quoted(folder_ / "y.npy"));
  }

  TempFolder folder_;
};

/// Returns two layers whose hidden channels have ranges from 1 to 1e4.
Model spread_channels() {
  const SymbolicTensor x = input({6}, "x");
  SymbolicTensor y = Dense({.units = 8, .name = "first"})(x);
  y = Dense({.units = 4, .name = "second"})(ReLU({.name = "act"})(y));
  Model model(x, Softmax()(y), {.seed = 4});
  const auto scale = [&](const char* layer, size_t from, size_t step,
                         size_t count, float factor) {
    const Variable& kernel = model.layer(layer).parameter("kernel").variable;
    Tensor scaled = kernel.value().clone();
    for (size_t i = 0; i < count; ++i) scaled.f32()[from + step * i] *= factor;
    Variable(kernel).assign(scaled);
  };
  scale("first", 2, 8, 6, 1e4f);
  scale("second", 8, 1, 4, 1e-4f);
  return model;
}

TEST_F(OctetQuantizeCheck, NamesTheFixOfAPoorFileAndExitsWith1) {
  const std::string data = write(spread_channels(), noise({200, 6}));
  for (const char* options : {"--no-equalize", "--method entropy"}) {
    const CommandResult bad = run(data + options);
    EXPECT_EQ(bad.exit_code, 1) << bad.output;
    EXPECT_EQ(bad.failure,
              (Failure{"accuracy_dropped", (folder_ / "int8.onnx").string()}));
    EXPECT_THAT(bad.output,
                AllOf(HasSubstr("15 dB"), HasSubstr("--equalize"),
                      HasSubstr("--exclude 'second'"), HasSubstr("--accept")));
    EXPECT_TRUE(std::filesystem::exists(folder_ / "int8.onnx"));
  }
  const CommandResult accepted = run(data + "--no-equalize --accept --json");
  EXPECT_EQ(accepted.exit_code, 0) << accepted.output;
  EXPECT_THAT(accepted.warned(), Not(IsEmpty()));
  const Config found = json(accepted);
  EXPECT_FALSE(found.at("sufficient").as_bool());
  EXPECT_EQ(found.at("problems").as_list().size(), 2u);
  EXPECT_GE(found.at("cures").as_list().size(), 2u);
  EXPECT_LT(found.at("median_sqnr_db").as_number(), 15);
  EXPECT_LT(found.at("agreement").as_number(), 0.9);
  const CommandResult cured = run(data + "--equalize --json");
  EXPECT_EQ(cured.exit_code, 0) << cured.output;
  EXPECT_TRUE(json(cured).at("sufficient").as_bool());
  EXPECT_GT(json(cured).at("sqnr_db").as_number(), 20);
}

TEST_F(OctetQuantizeCheck, EqualizesWhereItHelps) {
  const std::string spread = write(spread_channels(), noise({200, 6}));
  const CommandResult text = run(spread);
  EXPECT_EQ(text.exit_code, 0) << text.output;
  EXPECT_THAT(text.output, AllOf(HasSubstr("equalized channel ranges"),
                                 HasSubstr("--no-equalize")));
  const Config found = json(run(spread + "--json"));
  EXPECT_TRUE(found.at("equalized").as_bool());
  EXPECT_GT(found.at("sqnr_db").as_number(), 20);
  // As good without: the model stays as it is, with its batch normalization.
  const SymbolicTensor x = input({6}, "x");
  const Model even(x, Dense({.units = 4})(ReLU()(Dense({.units = 8})(x))));
  const std::string data = write(even, noise({200, 6}));
  const Config plain = json(run(data + "--no-equalize --json"));
  const Config chosen = json(run(data + "--json"));
  EXPECT_EQ(chosen.at("sqnr_db").as_number(), plain.at("sqnr_db").as_number());
}

TEST_F(OctetQuantizeCheck, WarnsIfNothingCanBeEqualized) {
  const SymbolicTensor x = input({6}, "x");
  const Model model(x, Dense({.units = 4})(x));
  const CommandResult r = run(write(model, noise({40, 6})) + "--equalize");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(r.warned(), Contains("--equalize"));
}

// A single pixel of 86,400 in 200 samples.
TEST_F(OctetQuantizeCheck, IgnoresADamagedSample) {
  const std::string folder = testdata("faults/data").string();
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder;
  const auto accuracy = [&](const char* data, const std::string& options) {
    const CommandResult r = run_command(fmt::format(
        "{}/octet quantize {}/m.h5 --data {}/{} --labels {}/y.npy -o {} --json "
        "{} 2>&1",
        OCTET_BIN, folder, folder, data, folder, quoted(folder_ / "int8.onnx"),
        options));
    EXPECT_EQ(r.exit_code, 0) << r.output;
    const Config found = json(r);
    const auto& ignored = found.at("ignored_samples").as_list();
    if (std::string(data) == "clean.npy") {
      EXPECT_TRUE(ignored.empty());
    } else {
      EXPECT_EQ(ignored.size(), 1u);
      EXPECT_EQ(ignored[0].at("index").as_int(), 37);
      EXPECT_THAT(r.output, AllOf(HasSubstr("sample 37"), HasSubstr("1e+06")));
    }
    return found.at("quantized_accuracy").as_number();
  };
  for (const char* options : {"", "--method max", "--method entropy"}) {
    EXPECT_NEAR(accuracy("spike_1e+06.npy", options),
                accuracy("clean.npy", options), 0.011)
        << options;
  }
}

TEST_F(OctetQuantizeCheck, RejectsRangesOfADamagedSample) {
  Tensor x = noise({200, 6});
  const SymbolicTensor in = input({6}, "x");
  const Model model(in, Dense({.units = 4})(ReLU()(Dense({.units = 9})(in))));
  x.f32()[6 * 17] = 1e6f;
  const std::string data = write(model, x);
  const CommandResult kept = run(data + "--method max --keep-unusual");
  EXPECT_EQ(kept.exit_code, 1) << kept.output;
  EXPECT_EQ(kept.failure,
            (Failure{"accuracy_dropped", (folder_ / "int8.onnx").string()}));
  const CommandResult ignored = run(data + "--method max --json");
  EXPECT_EQ(ignored.exit_code, 0) << ignored.output;
  const Config found = json(ignored);
  EXPECT_EQ(found.at("ignored_samples").as_list().at(0).at("index").as_int(),
            17);
}

}  // namespace
}  // namespace octet
