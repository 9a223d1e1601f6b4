// Measures the accuracy that calibration and fine-tuning preserve on
// Fashion-MNIST. Each network is trained, calibrated in INT8, fine-tuned in
// INT8, quantized to 4-bit weights by the PTQ pipeline, and fine-tuned in 4
// bits. Published models are calibrated in INT8 and quantized to 4-bit weights.
// The exit code is 1 if an accuracy misses its gate.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/octet.h>
#include <octet/runtime/detail/near_names.h>

#include "../common/checkpoint_options.h"
#include "../common/command_line.h"
#include "../common/program.h"
#include "accuracy_job.h"
#include "accuracy_recipes.h"
#include "accuracy_table.h"
#include "published_models.h"

using namespace octet;

namespace {

using namespace program::recipes;
using program::print;

struct Options {
  std::vector<std::string> networks;
  bool quick = false;
  int64_t seeds = 1;
  int64_t threads = 0;
  std::string data = std::string(io::kFashionMnistFolder);
  std::string out = "build/out/qat_accuracy";
  std::string testdata;
  std::string images = "";  // for pretrained_resnet
  std::string labels = "";  // for pretrained_resnet
  program::CheckpointOptions checkpoint;
};

const Recipe& recipe_of(const std::string& network) {
  std::vector<std::string> names;
  for (const Recipe& recipe : kRecipes) {
    if (recipe.network == network) return recipe;
    names.emplace_back(recipe.network);
  }
  names.insert(names.end(), {"keywords", "pretrained_resnet"});
  throw NotFoundError("unknown_name", "network",
                      fmt::format("no recipe for '{}'{}", network,
                                  suggest_names(network, names)));
}

void set_gates(program::AccuracyRow& row, const Gates& gates) {
  for (size_t i = 0; i < gates.size(); ++i) {
    program::Accuracy& a = row.accuracies[i];
    if (!gates[i] || a.seeds.empty()) continue;
    a.least = i == fp32 ? *gates[i] : row.accuracies[fp32].mean() - *gates[i];
  }
}

// One scale per tensor must fail visibly; each remedy must restore the
// accuracy.
void set_scale_gates(program::AccuracyRow& row, double float_accuracy) {
  constexpr double kFails = 2, kRecovers = 1.5;
  row.accuracies[per_tensor].most = float_accuracy - kFails;
  for (const Scales remedy : {equalized, tuned, per_channel}) {
    row.accuracies[remedy].least = float_accuracy - kRecovers;
  }
}

constexpr std::string_view kKeywords = "keywords";
constexpr std::string_view kPretrainedResNet = "pretrained_resnet";

bool is_published(std::string_view name) {
  return name == kKeywords || name == kPretrainedResNet;
}

program::PublishedModel published(const Options& o, std::string_view name) {
  if (name == kKeywords) return program::keywords(o.testdata);
  if (o.images.empty()) {
    throw ValueError("missing_value", "--images",
                     "pretrained_resnet needs test images. Hint: download "
                     "CIFAR-10 in its binary version");
  }
  return program::pretrained_resnet(o.testdata, o.images, o.labels);
}

// Calibrates a published model, also with 4-bit weights, on its test inputs.
program::AccuracyRow evaluation_data(const Options& o,
                                     const program::PublishedModel& found) {
  const auto out =
      std::filesystem::path(o.out) / fmt::format("{}_1", found.name);
  ensure_writable_folder(out);
  program::AccuracyRow row{found.name, std::vector<program::Accuracy>(kForms)};
  const auto evaluate = [&](Form form, const Model& model, const char* file) {
    const double accuracy =
        program::percent(train::evaluate(model, found.data).accuracy);
    row.accuracies[form] = {.seeds = {accuracy}};
    print(fmt::format("{}, {}: {:.2f} %\n", found.name, kColumns[form],
                      accuracy));
    if (file != nullptr) io::export_onnx(model, out / file);
  };
  const Dataset calibration =
      found.data.take(std::min<int64_t>(2048, found.data.size()));
  evaluate(fp32, found.model, nullptr);
  Model int8 = quant::quantize_model(found.model);
  quant::auto_calibrate(int8, calibration);
  evaluate(ptq_int8, int8, "ptq_int8.onnx");
  evaluate(ptq_w4a8, program::climbed(found.model, calibration),
           "ptq_w4a8.onnx");
  set_gates(row, found.name == kKeywords ? kKeywordGates : kPublishedGates);
  return row;
}

// Returns the networks to train and the published models to evaluate.
std::vector<std::string> chosen(const Options& o) {
  std::vector<std::string> names = o.networks;
  if (names.empty()) {
    names = o.quick ? kQuick : kFull;
    if (std::filesystem::exists(std::filesystem::path(o.testdata) / "kws01")) {
      names.emplace_back(kKeywords);
    } else {
      print(fmt::format("keywords: skipped, '{}' has no kws01\n", o.testdata));
    }
    if (!o.images.empty()) names.emplace_back(kPretrainedResNet);
  } else if (!o.images.empty() &&
             std::ranges::find(names, kPretrainedResNet) == names.end()) {
    throw ValueError("conflicting_options", "--images",
                     "needs the network pretrained_resnet");
  }
  if (!o.labels.empty() && o.images.empty()) {
    throw ValueError("conflicting_options", "--labels", "needs --images");
  }
  std::vector<std::string> once;
  for (const std::string& name : names) {
    if (!is_published(name)) (void)recipe_of(name);
    if (std::ranges::find(once, name) == once.end()) once.push_back(name);
  }
  return once;
}

// Trains and quantizes a network with each seed.
void add_trained(const Options& o, const Recipe& recipe,
                 const io::TrainTest& data, program::AccuracyTable& table,
                 program::AccuracyTable& scales) {
  const std::string network(recipe.network);
  program::AccuracyRow row{network, {}}, scales_row{network, {}};
  for (int64_t seed = 1; seed <= o.seeds; ++seed) {
    const program::FormAccuracies found =
        program::run({.recipe = recipe,
                      .data = data,
                      .seed = static_cast<uint64_t>(seed),
                      .quick = o.quick,
                      .out = o.out,
                      .checkpoint = o.checkpoint});
    row.add_seed(found.forms);
    scales_row.add_seed(found.scales);
  }
  set_gates(row, o.quick ? recipe.quick_gates : recipe.gates);
  table.rows.push_back(row);
  if (network != kDepthwise) return;
  set_scale_gates(scales_row, row.accuracies[fp32].mean());
  scales.rows.push_back(scales_row);
}

void run(const Options& o) {
  if (o.threads > 0) set_num_threads(static_cast<int>(o.threads));
  const std::vector<std::string> networks = chosen(o);
  ensure_writable_folder(o.out);
  std::vector<program::PublishedModel> as_published;
  for (const std::string& name : networks) {
    if (is_published(name)) as_published.push_back(published(o, name));
  }
  program::AccuracyTable table{.columns = kColumns};
  program::AccuracyTable scales{.columns = kScaleColumns};
  Config summary;
  if (as_published.size() < networks.size()) {
    io::TrainTest data = io::fashion_mnist(o.data);
    if (o.quick) data.train = data.train.take(12000);
    summary.set("training_images", data.train.size())
        .set("test_images", data.test.size())
        .set("seeds", o.seeds);
    for (const std::string& name : networks) {
      if (is_published(name)) continue;
      add_trained(o, recipe_of(name), data, table, scales);
    }
  }
  for (const program::PublishedModel& model : as_published) {
    table.rows.push_back(evaluation_data(o, model));
  }

  print(fmt::format("\n{}\n{}", table.to_string(),
                    scales.rows.empty() ? "" : scales.to_string() + "\n"));
  const auto file = std::filesystem::path(o.out) / "summary.json";
  write_file(file, io::to_json(summary.set("models", table.to_config())
                                   .set("scales", scales.to_config())) +
                       "\n");
  print(fmt::format("{}\n", file.string()));
  std::vector<std::string> missed = table.missed();
  std::ranges::copy(scales.missed(), std::back_inserter(missed));
  if (missed.empty()) return;
  throw std::runtime_error(fmt::format("{}", fmt::join(missed, "\n")));
}

}  // namespace

int main(int argc, char** argv) {
  program::CommandLine command(
      "Train and quantize networks on Fashion-MNIST and check their accuracy. "
      "The exit code is 1 if a gate is missed.");
  Options o;
  command.add("network", o.networks,
              "resnet20, mobilenet_v1_025, vit_tiny, resnet8; keywords or "
              "pretrained_resnet of MLPerf Tiny (default: the first three and "
              "keywords; with --quick resnet8, mobilenet_v1_025 and keywords)");
  command.add_flag("--quick", o.quick,
                   "use 12,000 images, 3 epochs and separate gates: minutes "
                   "instead of an hour");
  command
      .add("--seeds", o.seeds, 1, 100,
           "number of trainings per network, from seed 1")
      .show_default();
  command.add("--threads", o.threads, 1, 1024,
              "number of threads (default: all cores)");
  command.add("--data", o.data, "folder of the IDX files")
      .type("DIR")
      .show_default();
  command.add("--out", o.out, "output folder").type("DIR").show_default();
  const char* shared = std::getenv("OCTET_TESTDATA");
  o.testdata = shared != nullptr ? shared : "../shared/testdata";
  command
      .add("--testdata", o.testdata,
           "folder with models/ and kws01/, for keywords and pretrained_resnet")
      .type("DIR")
      .show_default();
  command
      .add("--images", o.images,
           "test images [32,32,3] in [0,255] for pretrained_resnet: CIFAR-10, "
           ".npy file or image folder")
      .type("PATH");
  command
      .add("--labels", o.labels,
           "class labels of --images (default: predictions of the float model)")
      .type("Y.npy");
  program::add_checkpoint_options(command, o.checkpoint);
  return command.run(argc, argv, [&] { run(o); });
}
