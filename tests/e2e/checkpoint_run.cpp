// A small training in float, then quantized, that may be killed and restarted
// at any moment.
//
//   checkpoint_run FOLDER OUT THREADS
//
// FOLDER is for checkpoints ("-": none). OUT is for the model, the histories
// and the logs. Writes a 'b' to standard output for each batch, an 's' before
// each checkpoint, unbuffered.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include <octet/octet.h>

#include "../train/checkpoints.h"

namespace {

namespace fs = std::filesystem;
using namespace octet;

void tell(char event) {
  if (::write(STDOUT_FILENO, &event, 1) != 1) std::abort();
}

class BatchTeller final : public train::Callback {
 public:
  void on_step(const train::Progress&) override { tell('b'); }
};

class SaveTeller final : public train::Checkpointer {
 public:
  explicit SaveTeller(std::shared_ptr<train::Checkpointer> inner)
      : inner_(std::move(inner)) {}
  std::string name() const override { return inner_->name(); }
  std::shared_ptr<void> claim() override { return inner_->claim(); }
  bool empty() const override { return inner_->empty(); }
  std::optional<train::TrainingState> latest() const override {
    return inner_->latest();
  }
  bool wanted(int64_t steps) const override { return inner_->wanted(steps); }
  void save(const train::TrainingState& state) override {
    tell('s');
    inner_->save(state);
  }

 private:
  std::shared_ptr<train::Checkpointer> inner_;
};

train::FitOptions options_of(const std::string& phase, const fs::path& folder,
                             const fs::path& out) {
  train::FitOptions options{
      .epochs = 7,
      .batch_size = 8,
      .optimizer = train::AdamW({.learning_rate = 5e-3f}),
      .schedule =
          train::warmup({.length = 0.1, .unit = train::ScheduleUnit::share},
                        train::cosine({.floor = 0.05f})),
      .seed = 9,
      .callbacks = {train::early_stopping({.monitor = "val_accuracy",
                                           .patience = 4,
                                           .restore_best_weights = true}),
                    train::reduce_on_plateau({.monitor = "loss",
                                              .factor = 0.7f,
                                              .patience = 1,
                                              .min_delta = 0.02}),
                    train::csv_log(out / (phase + ".csv")),
                    std::make_shared<BatchTeller>()},
      .validation_split = 0.2,
      .clip_norm = 2.0f,
      .accumulate = 2,
      .augmentation = {train::random_flip(), train::random_crop({.padding = 1}),
                       train::random_brightness({.delta = 0.1f, .low = -2})},
      .prefetch = 3,
      .workers = 2};
  if (folder != "-") {
    options.checkpoints = std::make_shared<SaveTeller>(
        io::checkpoint_folder(folder / phase, {.every_steps = 5, .keep = 2}));
    options.resume = true;
  }
  return options;
}

void run(const fs::path& folder, const fs::path& out) {
  fs::create_directories(out);
  const Dataset data = train::images(500, 1);
  Model model = train::image_network();
  std::string history =
      train::text_of(train::fit(model, data, options_of("fp32", folder, out)));

  Model qat = quant::quantize_model(model);
  quant::calibrate(qat, data);
  quant::prepare_qat(qat);
  quant::freeze_bn_stats(qat);
  train::FitOptions options = options_of("qat", folder, out);
  options.optimizer =
      train::SGD({.learning_rate = 2e-3f, .momentum = 0.9f, .nesterov = true});
  history += train::text_of(train::fit(qat, data, options));
  io::save_model(qat, out / "model.h5");
  write_file(out / "history.txt", history);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: checkpoint_run FOLDER OUT THREADS\n", stderr);
    return 2;
  }
  try {
    set_num_threads(std::stoi(argv[3]));
    run(argv[1], argv[2]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
