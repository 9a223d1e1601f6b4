// A small training on several ranks: 60 steps on real images.
//
//   rank_run NETWORK OUT FOLDER HOW [RANK STEP]
//
// NETWORK is a zoo network; suffix "+qat": quantized from the start, "+sync":
// statistics of the whole batch. OUT is for the model and the history, FOLDER
// for checkpoints ("-": none). HOW is "mpi", or "one" for a single process with
// the same shards. RANK is killed at STEP as by kill -9; STEP < 0: it throws at
// -STEP; 0: it throws before the first step, alone; STEP + 1000: Ctrl-C, for
// mpirun.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include <octet/mpi.h>
#include <octet/octet.h>

#include "../train/checkpoints.h"

namespace {

namespace fs = std::filesystem;
using namespace octet;

class Accident final : public train::Callback {
 public:
  explicit Accident(int64_t step) : step_(step) {}
  void on_step(const train::Progress& progress) override {
    const int64_t done = progress.epoch * progress.steps + progress.step;
    if (done == step_) ::kill(::getpid(), SIGKILL);
    if (done == -step_) throw std::runtime_error("no more of this");
    if (done + 1000 == step_) {
      ::kill(::getppid(), SIGINT);
      std::this_thread::sleep_for(std::chrono::seconds(5));
    }
  }

 private:
  int64_t step_;
};

Model model_of(const std::string& network, const Dataset& data) {
  const bool qat = network.find("+qat") != std::string::npos;
  Model model = zoo::make(
      network.substr(0, network.find('+')),
      {.input = data.input_shape(), .classes = 10, .l2 = 1e-4f, .seed = 1});
  if (!qat) return model;
  Model quantized = quant::quantize_model(model);
  quant::calibrate(quantized, data, {.samples = 64});
  quant::prepare_qat(quantized);
  return quantized;
}

void run(const std::string& network, const fs::path& out,
         const fs::path& folder, train::Communicator* ranks,
         std::optional<int64_t> accident) {
  const bool first = ranks == nullptr || ranks->rank() == 0;
  set_warning_sink([](const Warning&) {});
  const io::TrainTest data =
      io::fashion_mnist(std::string(io::kFashionMnistFolder));
  // 30 steps per epoch; the last has fewer samples than shards.
  const Dataset training = data.train.take(29 * 16 + 5);
  const Dataset validation = data.test.take(100);
  Model model = model_of(network, training);
  train::FitOptions options{
      .epochs = 2,
      .batch_size = 16,
      .optimizer = train::AdamW({.learning_rate = 2e-3f}),
      .schedule = train::cosine(),
      .seed = 9,
      .validation = &validation,
      .callbacks = {train::csv_log(out / "log.csv")},
      .validation_batch_size = 30,
      .clip_norm = 2.0f,
      .augmentation = {train::random_flip(), train::random_crop()},
      .prefetch = 2,
      .shards = 8,
      .batch_statistics = network.ends_with("+sync")
                              ? train::BatchStatistics::synchronized
                              : train::BatchStatistics::per_shard,
      .communicator = ranks};
  if (first) fs::create_directories(out);
  if (accident == 0) throw std::runtime_error("not this time");
  if (accident) {
    options.callbacks.push_back(std::make_shared<Accident>(*accident));
  } else {
    options.callbacks.push_back(std::make_shared<train::Callback>());
  }
  if (folder != "-") {
    options.checkpoints = io::checkpoint_folder(folder, {.every_steps = 5});
    options.resume = true;
  }
  const train::History history = train::fit(model, training, options);
  if (!first) return;
  io::save_model(model, out / "model.h5");
  io::export_onnx(model, out / "model.onnx");
  write_file(out / "history.txt", train::text_of(history));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 && argc != 7) {
    std::fputs("usage: rank_run NETWORK OUT FOLDER mpi|one [RANK STEP]\n",
               stderr);
    return 2;
  }
  try {
    std::optional<mpi::Communicator> ranks;
    if (argv[4] == std::string("mpi")) ranks.emplace();
    set_num_threads(1);
    std::optional<int64_t> accident;
    if (argc == 7 && ranks && ranks->rank() == std::stoi(argv[5])) {
      accident = std::stoi(argv[6]);
    }
    run(argv[1], argv[2], argv[3], ranks ? &*ranks : nullptr, accident);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
