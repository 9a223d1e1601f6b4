// Trains a network of the zoo on Fashion-MNIST from scratch, with augmentation,
// and exports it as ONNX.
#include <algorithm>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include <octet/octet.h>

#include "checkpoint_options.h"
#include "command_line.h"
#include "program.h"

using namespace octet;

namespace {

using program::print;

struct Options {
  std::string network = "resnet20";
  int64_t epochs = 12;
  int64_t batch = 0;  // 0: 128, or all images if there are fewer
  double rate = 0.1;
  int64_t limit = 0;  // training images; 0: all
  int64_t seed = 1;
  int64_t threads = 0;  // 0: all cores
  std::string data = std::string(io::kFashionMnistFolder);
  std::string out = "build/out";
  program::CheckpointOptions checkpoint;
};

void declare(program::Command& command, Options& o) {
  constexpr int64_t kMost = int64_t{1} << 31;
  command.add("network", o.network, "as in `octet inspect zoo:`")
      .show_default();
  const auto number = [&](const char* name, int64_t& value, int64_t least,
                          int64_t most, const char* help) {
    command.add(name, value, least, most, help);
  };
  number("--epochs", o.epochs, 1, kMost, "passes over the data (12)");
  number("--batch", o.batch, 1, kMost, "images per step (128)");
  command.add("--rate", o.rate, 0, 1e6, "peak learning rate").show_default();
  number("--limit", o.limit, 1, kMost, "train on the first N images only");
  number("--seed", o.seed, 0, INT64_MAX - 1, "of weights and data (1)");
  number("--threads", o.threads, 1, 1024, "threads (all cores)");
  command.add("--data", o.data, "folder of the four IDX files")
      .type("DIR")
      .show_default();
  command.add("--out", o.out, "folder for the results")
      .type("DIR")
      .show_default();
  program::add_checkpoint_options(command, o.checkpoint);
}

void run(const Options& o) {
  if (o.threads > 0) set_num_threads(static_cast<int>(o.threads));
  const auto seed = static_cast<uint64_t>(o.seed);
  const std::filesystem::path out = o.out;
  const auto checkpoints = program::checkpoints_of(o.checkpoint, o.network);
  io::TrainTest data = io::fashion_mnist(o.data);
  if (o.limit > 0) data.train = data.train.take(o.limit);
  Model model = zoo::make(o.network, {.input = data.train.input_shape(),
                                      .classes = 10,
                                      .l2 = 1e-4f,
                                      .seed = seed});
  ensure_writable_folder(out);
  print(
      fmt::format("{} on Fashion-MNIST: {} parameters, {} images, {} threads, "
                  "{}\n",
                  o.network, model.parameter_count(), data.train.size(),
                  num_threads(), to_string(active_isa())));

  const train::History history = train::fit(
      model, data.train,
      {.epochs = o.epochs,
       .batch_size =
           o.batch > 0 ? o.batch : std::min<int64_t>(128, data.train.size()),
       .optimizer = train::SGD({.learning_rate = static_cast<float>(o.rate),
                                .momentum = 0.9f,
                                .nesterov = true}),
       .schedule =
           train::warmup({.length = 0.05, .unit = train::ScheduleUnit::share},
                         train::cosine()),
       .seed = seed,
       .validation = &data.test,
       .callbacks = {train::progress_bar(o.network),
                     train::csv_log(out / (o.network + ".csv"))},
       .augmentation = {train::random_flip(),
                        train::random_crop({.padding = 2})},
       .checkpoints = checkpoints,
       .resume = o.checkpoint.resume});

  const train::Evaluation test = train::evaluate(model, data.test);
  double seconds = 0;
  for (const auto& epoch : history) seconds += epoch.seconds;
  const double images =
      static_cast<double>(data.train.size()) * static_cast<double>(o.epochs);
  const auto file = out / (o.network + ".onnx");
  io::export_onnx(model, file,
                  {.description = o.network + " on Fashion-MNIST"});
  print(
      fmt::format("test accuracy {:.2f} %, {} epochs in {:.0f} s, {:.0f} "
                  "images/s; {}\n",
                  program::percent(test.accuracy), o.epochs, seconds,
                  images / seconds, file.string()));
}

}  // namespace

int main(int argc, char** argv) {
  program::CommandLine command(
      "Trains a network of the zoo on Fashion-MNIST from scratch and exports "
      "it as ONNX.");
  Options options;
  declare(command, options);
  return command.run(argc, argv, [&] { run(options); });
}
