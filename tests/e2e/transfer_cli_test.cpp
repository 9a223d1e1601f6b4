// Transfer learning on the command line: a new classifier on a network with
// ImageNet's names, images from a table, frozen layers.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/json.h>
#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/layers/activation.h>
#include <octet/layers/convolution.h>
#include <octet/layers/dense.h>
#include <octet/layers/normalization.h>
#include <octet/layers/pooling.h>
#include <octet/layers/zoo.h>
#include <octet/runtime/file.h>
#include <octet/runtime/rng.h>

#include "command.h"
#include "png_files.h"

namespace octet {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kCellSide = 16;

/// Cells with and without a dark crack, a row or a column, in noise. The file
/// has one channel, the network three.
class TransferCli : public ::testing::Test {
 protected:
  TransferCli() {
    save_network();
    std::filesystem::create_directory(folder_ / "images");
    std::string table = "image_path,kind,certainty,split\n";
    Rng rng(5);
    for (int i = 0; i < 120; ++i) {
      const bool defective = i % 3 == 0;
      std::vector<uint8_t> pixels;
      for (int64_t k = 0; k < kCellSide * kCellSide; ++k) {
        pixels.push_back(static_cast<uint8_t>(180 + rng.below(40)));
      }
      const int64_t at = 3 + rng.below(kCellSide - 6);
      const bool row = rng.below(2) == 0;
      for (int64_t k = 0; defective && k < kCellSide; ++k) {
        pixels[static_cast<size_t>(row ? at * kCellSide + k
                                       : k * kCellSide + at)] = 30;
      }
      write_file(folder_ / fmt::format("images/{}.png", i),
                 png_file(kCellSide, pixels));
      table += fmt::format(
          "images/{}.png,{},{},{}\n", i, defective ? "defective" : "functional",
          i % 5 == 0 ? 0.5 : 1.0, i % 4 == 0 ? "test" : "train");
    }
    write_file(folder_ / "cells.csv", table);
  }

  void save_network() const {
    auto h = input({kCellSide, kCellSide, 3}, "image");
    const auto x = h;
    for (int i = 0; i < 2; ++i) {
      const std::string name = fmt::format("block{}_", i);
      h = Conv2D({.filters = 8,
                  .kernel_size = {3, 3},
                  .use_bias = false,
                  .name = name + "conv"})(h);
      h = ReLU({.name = name + "relu"})(
          BatchNormalization({.name = name + "bn"})(h));
    }
    h = GlobalAveragePooling2D({.name = "pool"})(h);
    io::export_onnx(Model(x, Dense({.units = 7, .name = "fc"})(h)),
                    folder_ / "net.onnx", {.preprocess = "unit"});
  }

  CommandResult octet(const std::string& command) const {
    return run_command(fmt::format("cd {} && {}/octet {} 2>&1",
                                   quoted(folder_.path()), OCTET_BIN, command));
  }
  CommandResult done(const std::string& command) const {
    CommandResult r = octet(command);
    EXPECT_EQ(r.exit_code, 0) << command << "\n" << r.output;
    return r;
  }
  static std::string job(const std::string& options) {
    return "train net.onnx --head 2 --data cells.csv --columns "
           "label=kind,weight=certainty --batch 16 --validation 0.2 " +
           options;
  }
  Failure refusal(const std::string& options, const std::string& fact,
                  int code = 1) const {
    const CommandResult r = octet(job("-o out.h5 --epochs 2 ") + options);
    EXPECT_EQ(r.exit_code, code) << r.output;
    EXPECT_THAT(r.failure.message, HasSubstr(fact));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out.h5")) << r.output;
    return r.failure;
  }
  std::map<std::string, std::vector<float>> weights(const char* file) const {
    const std::string path = (folder_ / file).string();
    const Model model = path.ends_with(".onnx") ? io::import_onnx(path).model
                                                : io::load_model(path);
    std::map<std::string, std::vector<float>> result;
    for (const auto& [name, value] : model.state_dict()) {
      const auto all = value.f32();
      result[name] = {all.begin(), all.end()};
    }
    return result;
  }
  /// Returns the names of the weights and statistics that differ.
  static std::vector<std::string> changed(
      const std::map<std::string, std::vector<float>>& a,
      const std::map<std::string, std::vector<float>>& b) {
    std::vector<std::string> names;
    for (const auto& [name, value] : a) {
      const auto found = b.find(name);
      if (found == b.end() || found->second != value) names.push_back(name);
    }
    return names;
  }

  TempFolder folder_;
};

TEST_F(TransferCli, FrozenLayersAndTheirStatisticsKeepTheirBits) {
  const CommandResult r =
      done(job("--freeze 'block[0-9]_*' --epochs 2 --rate 0.01 --last-epoch "
               "-o tuned.h5"));
  EXPECT_THAT(r.output, HasSubstr("--freeze: 18 of 874 parameters"));
  EXPECT_THAT(changed(weights("net.onnx"), weights("tuned.h5")),
              ElementsAre("fc.bias", "fc.kernel"));
  // The file has no frozen layers, for a later QAT.
  const Model tuned = io::load_model(folder_ / "tuned.h5");
  EXPECT_TRUE(tuned.layers()[1]->trainable());
  EXPECT_EQ(tuned.outputs()[0].shape()[-1], 2);
}

TEST_F(TransferCli, FreezesSomeLayers) {
  (void)done(
      job("--freeze block0_conv --freeze 'block1_*' --epochs 1 "
          "--rate 0.01 --last-epoch -o tuned.h5"));
  EXPECT_THAT(
      changed(weights("net.onnx"), weights("tuned.h5")),
      ElementsAre("block0_bn.beta", "block0_bn.gamma", "block0_bn.moving_mean",
                  "block0_bn.moving_variance", "fc.bias", "fc.kernel"));
}

TEST_F(TransferCli, UnfreezesAfterAnEpoch) {
  (void)done(job(
      "--freeze '*' --unfreeze-after 2 --frozen-rate 0.05 --rate 0.01 "
      "--epochs 3 --last-epoch --log log.csv --checkpoint runs -o tuned.h5"));
  // All weights and statistics are trained in the end, none but the
  // classifier's before.
  const auto before = weights("net.onnx");
  EXPECT_EQ(changed(before, weights("tuned.h5")).size(), before.size());
  const auto state = io::checkpoint_folder(folder_ / "runs/frozen")->latest();
  ASSERT_TRUE(state.has_value());
  size_t equal = 0;
  for (const quant::NamedWeight& weight : state->model.weights) {
    if (weight.layer == "fc") continue;
    const auto value = weight.value.f32();
    EXPECT_EQ(std::vector<float>(value.begin(), value.end()),
              before.at(weight.layer + "." + weight.name));
    ++equal;
  }
  EXPECT_EQ(equal, 10u);
  const std::string log = read_file(folder_ / "log.csv");
  EXPECT_EQ(std::ranges::count(log, '\n'), 4);
  EXPECT_THAT(log, AllOf(HasSubstr("\n2,"), HasSubstr("epoch,")));
  // An interrupted job gives the same result.
  (void)done(
      job("--freeze '*' --unfreeze-after 2 --frozen-rate 0.05 --rate 0.01 "
          "--epochs 3 --last-epoch --log log.csv --checkpoint runs --resume "
          "-o again.h5"));
  EXPECT_THAT(changed(weights("tuned.h5"), weights("again.h5")), IsEmpty());
}

// The chain of docs/tutorials/solar-cells.md on synthetic cells.
TEST_F(TransferCli, LearnsQuantizesAndFineTunesCells) {
  const std::string options =
      "--columns label=kind,weight=certainty --batch 16 --validation 0.2 "
      "--augment flip,vflip,rot90 --class-weights balanced ";
  const CommandResult trained = done(
      "train net.onnx --head 2 --data cells.csv --freeze 'block0_*' "
      "--unfreeze-after 1 --frozen-rate 0.03 --rate 0.03 --epochs 30 -o f.h5 " +
      options);
  EXPECT_THAT(trained.output,
              AllOf(HasSubstr("72 training samples [16,16,3] of a table of "
                              "images, labels 'kind', weights 'certainty'"),
                    HasSubstr("classes (label -> output): defective -> 0, "
                              "functional -> 1")));
  const std::string columns = "--columns label=kind,weight=certainty ";
  const CommandResult evaluated =
      done("evaluate f.h5 --data cells.csv --confusion --json " + columns);
  EXPECT_EQ(evaluated.json().at("samples").as_int(), 30);
  EXPECT_GE(evaluated.json().at("accuracy").as_number(), 0.9);
  int64_t counted = 0;
  for (const Config& row : evaluated.json().at("confusion").as_list()) {
    for (const Config& count : row.as_list()) counted += count.as_int();
  }
  EXPECT_EQ(counted, 30);
  (void)done("qat f.h5 --data cells.csv -o int8.onnx --epochs 1 " + options);
  const CommandResult int8 =
      done("evaluate int8.onnx --data cells.csv --confusion " + columns);
  EXPECT_THAT(int8.output, AllOf(HasSubstr("predicted"), HasSubstr("recall")));
  (void)done("quantize f.h5 --data cells.csv -o ptq.onnx " + columns);
}

TEST_F(TransferCli, ExampleProgramRunsTheWholeJob) {
  std::string table = read_file(folder_ / "cells.csv");
  const std::string header = "image_path,kind,certainty,split\n";
  table.replace(0, header.size(), "path,label,sample_weight,split\n");
  write_file(folder_ / "named.csv", table);
  const CommandResult r = run_command(
      fmt::format("cd {} && {}/solar_cells net.onnx named.csv int8.onnx 2>&1",
                  quoted(folder_.path()), OCTET_BIN));
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(r.output, AllOf(HasSubstr("float: "), HasSubstr("int8: ")));
  const CommandResult evaluated = done("evaluate int8.onnx --data named.csv");
  EXPECT_THAT(evaluated.output,
              AllOf(HasSubstr("bytes as '0.498/0.502'"),
                    HasSubstr("by the class names in the model file")));
}

TEST_F(TransferCli, RejectsOptionsThatDoNotFit) {
  EXPECT_EQ(refusal("--freeze 'blok*'", "'block0_"),
            (Failure{"unknown_name", "--freeze"}));
  EXPECT_EQ(refusal("--unfreeze-after 1", "--freeze"),
            (Failure{"conflicting_options", "--unfreeze-after"}));
  EXPECT_EQ(refusal("--freeze '*' --unfreeze-after 2", "2"),
            (Failure{"out_of_range", "--unfreeze-after"}));
  EXPECT_EQ(refusal("--freeze '*' --frozen-rate 1", "--unfreeze-after"),
            (Failure{"conflicting_options", "--frozen-rate"}));
  EXPECT_EQ(refusal("--class-weights 1,2,3", "2"),
            (Failure{"count_mismatch", "--class-weights"}));
  EXPECT_EQ(refusal("--class-weights 1,-2", "-2"),
            (Failure{"invalid_value", "--class-weights"}));
  EXPECT_EQ(refusal("--class-weights 0,0", "0"),
            (Failure{"invalid_value", "--class-weights"}));
  EXPECT_EQ(refusal("--class-weights defective=2,defective=3", "'defective'"),
            (Failure{"duplicate_name", "--class-weights"}));
  EXPECT_EQ(refusal("--class-weights defect=2", "'defective'"),
            (Failure{"unknown_name", "--class-weights"}));
  const auto other = [&](const std::string& command) {
    return octet(command + " -o out.h5").failure;
  };
  const std::string data = " --data cells.csv --columns label=kind";
  EXPECT_EQ(other("train zoo:lenet --head 2" + data),
            (Failure{"conflicting_options", "--head"}));
  // Without --head, the network has an output per class of its own data.
  const Failure mismatch = other("train net.onnx" + data);
  EXPECT_EQ(mismatch, (Failure{"count_mismatch", "--data"}));
  EXPECT_THAT(mismatch.message, HasSubstr("--head 2"));
  EXPECT_EQ(other("train net.onnx --head 3" + data),
            (Failure{"count_mismatch", "--data"}));
  EXPECT_EQ(other("train net.onnx --head 2 --data cells.csv"),
            (Failure{"missing_value", "cells.csv"}));
  EXPECT_EQ(other("train net.onnx --head 0" + data),
            (Failure{"invalid_value", "--head"}));
  const std::string columns =
      "train net.onnx --head 2 --data cells.csv --columns ";
  EXPECT_EQ(other(columns + "label=kinds"),
            (Failure{"unknown_name", "column 'kinds'"}));
  for (const char* list : {"kind", "label=", "label=kind,label=kind", "x=y"}) {
    EXPECT_EQ(other(columns + list), (Failure{"invalid_value", "--columns"}));
  }
  for (const char* name : {"photos/a", "photos/b"}) {
    std::filesystem::create_directories(folder_ / name);
    std::filesystem::copy_file(folder_ / "images/0.png",
                               folder_ / (std::string(name) + "/0.png"));
  }
  EXPECT_EQ(other("train net.onnx --data photos --columns label=kind"),
            (Failure{"conflicting_options", "--columns"}));
}

}  // namespace
}  // namespace octet
