#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <octet/io/tensorboard.h>
#include <octet/layers/model.h>
#include <octet/runtime/error.h>

namespace octet::io {
namespace {

bool has_histogram(const Tensor& value) {
  return value.dtype() == DType::f32 && value.size() > 0 &&
         std::ranges::all_of(value.f32(),
                             [](float x) { return std::isfinite(x); });
}

class TensorBoardCallback final : public train::Callback {
 public:
  TensorBoardCallback(std::filesystem::path folder, TensorBoardOptions options)
      : folder_(std::move(folder)), options_(std::move(options)) {
    if (options_.every_steps < 0) {
      throw ValueError(
          "out_of_range", "TensorBoardOptions.every_steps",
          fmt::format("must not be negative, got {}", options_.every_steps));
    }
  }

  bool on_first_rank_only() const override { return true; }

  /// Opens the file before the training, which fails early if the folder
  /// cannot be written.
  void on_train_begin(const train::Progress&) override {
    writer_.emplace(folder_, options_);
  }

  void on_step(const train::Progress& progress) override {
    const int64_t step = progress.epoch * progress.steps + progress.step;
    if (options_.every_steps == 0 || step % options_.every_steps != 0) return;
    write_logs("step", progress, step);
  }

  void on_epoch_end(const train::Progress& progress) override {
    write_logs("epoch", progress, progress.epoch);
    if (options_.histograms) write_histograms(progress);
    writer_->flush();
  }

  void on_train_end(const train::Progress&) override { writer_.reset(); }

 private:
  void write_logs(std::string_view group, const train::Progress& progress,
                  int64_t step) {
    for (const train::MetricValue& each : progress.logs()) {
      writer_->scalar(fmt::format("{}/{}", group, each.name), each.value, step);
    }
  }

  void write_histograms(const train::Progress& progress) {
    for (const auto& layer : progress.training->model().layers()) {
      for (const Parameter& parameter : layer->parameters()) {
        const Tensor& value = parameter.variable.value();
        // Logging must not end a training.
        if (!has_histogram(value)) continue;
        writer_->histogram(fmt::format("{}/{}", layer->name(), parameter.name),
                           value, progress.epoch);
      }
    }
  }

  std::filesystem::path folder_;
  TensorBoardOptions options_;
  std::optional<TensorBoardWriter> writer_;  // during a fit
};

}  // namespace

std::shared_ptr<train::Callback> tensorboard(
    const std::filesystem::path& folder, const TensorBoardOptions& options) {
  return std::make_shared<TensorBoardCallback>(folder, options);
}

}  // namespace octet::io
