// Trains a zoo network on Fashion-MNIST from scratch, with augmentation, and
// exports it as ONNX. With --qat, also calibrates, fine-tunes and exports it in
// INT8 and writes all results to summary.json.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <octet/octet.h>

#include "common/checkpoint_options.h"
#include "common/command_line.h"
#include "common/program.h"
#include "ranks.h"

using namespace octet;

namespace {

using program::print;

struct Options {
  std::string network = "resnet20";
  double alpha = 0;        // 0: default of the network
  int64_t patch_size = 0;  // 0: default of the network
  int64_t epochs = 12;
  int64_t batch = 0;  // 0: min(128, images)
  std::string optimizer = "sgd";
  double rate = 0;    // 0: 0.1, AdamW 0.001
  int64_t limit = 0;  // training images; 0: all
  bool update_statistics = false;
  int64_t seed = 1;
  program::RankOptions ranks;
  bool verbose = false;
  std::string data = std::string(io::kFashionMnistFolder);
  std::string out = "build/out";
  bool qat = false;
  std::string policy = "tensorrt";
  int64_t bits = 8;
  int64_t qat_epochs = 0;  // 0: epochs / 6
  program::CheckpointOptions checkpoint;
};

void declare(program::Command& command, Options& o) {
  constexpr int64_t kMost = int64_t{1} << 31;
  command.add("network", o.network, "zoo network, see octet inspect zoo:")
      .show_default();
  command.add("--alpha", o.alpha, 1e-3, 64, "width multiplier of the network");
  const auto number = [&](const char* name, int64_t& value, int64_t least,
                          int64_t most, const char* help) {
    command.add(name, value, least, most, help);
  };
  number("--patch-size", o.patch_size, 1, 1024,
         "patch size of a Vision Transformer in pixels (default: 16)");
  number("--epochs", o.epochs, 1, kMost, "number of epochs (default: 12)");
  number("--batch", o.batch, 1, kMost, "batch size (default: 128)");
  command
      .add("--optimizer", o.optimizer,
           "optimizer: sgd (with momentum) or adamw")
      .show_default()
      .check([](const std::string& name) -> std::string {
        if (name == "sgd" || name == "adamw") return {};
        return "must be sgd or adamw, got " + name;
      });
  command.add("--rate", o.rate, 1e-9, 1e6,
              "peak learning rate (default: 0.1, adamw 0.001)");
  command.add_flag("--update-statistics", o.update_statistics,
                   "re-estimate batch normalization statistics after training "
                   "(MobileNetV2, whose momentum needs 5000 steps)");
  number("--limit", o.limit, 1, kMost,
         "number of training images (default: all)");
  number("--seed", o.seed, 0, INT64_MAX - 1,
         "random seed of weights and data (default: 1)");
  program::add_rank_options(command, o.ranks);
  command.add_flag("--verbose", o.verbose, "print the traffic between ranks");
  command.add("--data", o.data, "folder of the IDX files")
      .type("DIR")
      .show_default();
  command.add("--out", o.out, "output folder").type("DIR").show_default();
  command.add_flag("--qat", o.qat,
                   "calibrate and fine-tune in INT8 after training");
  command
      .add("--policy", o.policy,
           "placement policy: tensorrt, toolkit or patterns")
      .show_default()
      .check([](const std::string& policy) -> std::string {
        for (const char* known : {"tensorrt", "toolkit", "patterns"}) {
          if (policy == known) return {};
        }
        return "must be tensorrt, toolkit or patterns, got " + policy;
      });
  number("--bits", o.bits, 2, 8,
         "bit width; first and last layer keep 8 (default: 8)");
  number("--qat-epochs", o.qat_epochs, 1, kMost,
         "number of INT8 epochs (default: a sixth of --epochs)");
  program::add_checkpoint_options(command, o.checkpoint);
}

// Name of the second phase, for checkpoints and the log.
std::string qat_phase(const Options& o) {
  return fmt::format("{}_qat_{}{}", o.network, o.policy,
                     o.bits == 8 ? "" : fmt::format("_{}", o.bits));
}

// Data and options of both phases.
struct Job {
  const Options& options;
  const program::Ranks& ranks;
  io::TrainTest data;
  int64_t batch;

  train::Optimizer optimizer(double share) const {
    if (options.optimizer == "adamw") {
      const double rate = options.rate > 0 ? options.rate : 1e-3;
      return train::AdamW({.learning_rate = static_cast<float>(share * rate)});
    }
    const double rate = options.rate > 0 ? options.rate : 0.1;
    return train::SGD({.learning_rate = static_cast<float>(share * rate),
                       .momentum = 0.9f,
                       .nesterov = true});
  }

  // Returns fit options with `share` times the learning rate.
  train::FitOptions fit_options(const std::string& phase, double share,
                                int64_t epochs) const {
    const auto seed = static_cast<uint64_t>(options.seed);
    return {.epochs = epochs,
            .batch_size = batch,
            .optimizer = optimizer(share),
            .seed = seed,
            .validation = &data.test,
            .callbacks = {train::progress_bar(phase),
                          train::csv_log(std::filesystem::path(options.out) /
                                         (phase + ".csv"))},
            .augmentation = {train::random_flip(),
                             train::random_crop({.padding = 2})},
            .checkpoints = program::checkpoints_of(options.checkpoint, phase),
            .resume = options.checkpoint.resume,
            .shards = options.ranks.shards > 0
                          ? std::optional(options.ranks.shards)
                          : std::nullopt,
            .batch_statistics = options.ranks.synchronized
                                    ? train::BatchStatistics::synchronized
                                    : train::BatchStatistics::per_shard,
            .communicator = ranks.communicator()};
  }
  void calibrate(Model& model, const quant::CalibrationOptions& how) const {
    if (ranks.communicator() == nullptr) {
      quant::calibrate(model, data.train, how);
    } else {
      train::calibrate(model, data.train, *ranks.communicator(), how);
    }
  }
  double accuracy(const Model& model) const {
    const train::EvaluateOptions together{.communicator = ranks.communicator()};
    return program::percent(
        train::evaluate(model, data.test, together).accuracy);
  }
  // Prints on the first rank only.
  void say(std::string_view text) const {
    if (ranks.first()) print(text);
  }
};

Model quantized(const Model& model, const Options& o) {
  if (o.policy == "patterns") {
    const quant::TransformResult found =
        quant::transform(model, quant::tensorrt_patterns());
    return quant::insert_qdq(
        found.model, found.matches,
        {.bits = train::inner_bits(found.model, static_cast<int>(o.bits))});
  }
  return quant::quantize_model(
      model, {.policy = o.policy == "toolkit" ? quant::Policy::toolkit
                                              : quant::Policy::tensorrt,
              .bits = train::inner_bits(model, static_cast<int>(o.bits))});
}

// Quantizes and fine-tunes the trained model; adds results to the summary.
void quantize(const Job& job, const Model& model, Config& summary) {
  const Options& o = job.options;
  Model int8 = quantized(model, o);
  // At low bit widths the clipping error of outliers outweighs the range they
  // need.
  job.calibrate(int8, {.method = o.bits < 8 ? quant::Calibration::mse
                                            : quant::Calibration::percentile,
                       .samples = 1024});
  const double calibrated = job.accuracy(int8);
  job.say(fmt::format("INT{} ({}), calibrated: test accuracy {:.2f} %\n",
                      o.bits, o.policy, calibrated));
  quant::prepare_qat(int8);
  quant::freeze_bn_stats(int8);
  const int64_t epochs =
      o.qat_epochs > 0 ? o.qat_epochs : std::max<int64_t>(1, o.epochs / 6);
  train::FitOptions options = job.fit_options(qat_phase(o), 0.01, epochs);
  options.schedule = train::cosine({.floor = 0.01f});
  options.seed += 1;
  train::fit(int8, job.data.train, options);
  const double tuned = job.accuracy(int8);
  if (!job.ranks.first()) return;
  const auto file = std::filesystem::path(o.out) /
                    fmt::format("{}.int{}.onnx", o.network, o.bits);
  const io::OnnxExportReport report =
      io::export_onnx(int8, file,
                      {.description = fmt::format("{} on Fashion-MNIST, INT{}",
                                                  o.network, o.bits)});
  print(fmt::format(
      "INT{} ({}), fine-tuned: test accuracy {:.2f} %, {} epochs; {}\n", o.bits,
      o.policy, tuned, epochs, file.string()));
  summary.set("policy", o.policy)
      .set("bits", o.bits)
      .set("ptq_accuracy", calibrated)
      .set("qat_accuracy", tuned)
      .set("qat_epochs", epochs)
      .set("qdq_pairs", report.qdq_pairs);
}

// Returns whether the model takes pixels in [0,255], which its first layer
// rescales.
bool takes_pixels(const Model& model) {
  const auto& layers = model.layers();
  return std::ranges::any_of(layers, [](const auto& layer) {
    return layer->class_name() == "Rescaling";
  });
}

Dataset as_pixels(const Dataset& data) {
  return data.map([](Batch batch) {
    for (float& x : batch.input().f32()) x *= 255;
    return batch;
  });
}

// Prints the mean traffic per step of a fit.
void say_traffic(const Job& job, int64_t epochs, const Model& model) {
  const train::Communicator* ranks = job.ranks.communicator();
  if (ranks == nullptr || !job.options.verbose) return;
  const int64_t steps = epochs * ((job.data.train.size() - 1) / job.batch + 1);
  int64_t parameters = 0;
  for (const Variable& p : model.trainable_variables()) {
    parameters += p.shape().size();
  }
  const double share = 2.0 * (ranks->size() - 1) / ranks->size();
  job.say(fmt::format(
      "rank 0 per step: {:.1f} kB sent (gradients and parameters {:.1f} kB), "
      "{:.2f} ms of communication\n",
      1e-3 * static_cast<double>(ranks->traffic().bytes) /
          static_cast<double>(steps),
      1e-3 * share * static_cast<double>(parameters) * sizeof(float),
      1e3 * ranks->traffic().seconds / static_cast<double>(steps)));
}

void run(const Options& o) {
  const program::Ranks ranks(o.ranks);
  const std::filesystem::path out = o.out;
  io::TrainTest data = io::fashion_mnist(o.data);
  if (o.limit > 0) data.train = data.train.take(o.limit);
  const int64_t images = data.train.size();
  Model model = zoo::make(o.network, {.input = data.train.input_shape(),
                                      .classes = 10,
                                      .alpha = o.alpha,
                                      .patch_size = o.patch_size,
                                      .l2 = 1e-4f,
                                      .seed = static_cast<uint64_t>(o.seed)});
  const bool pixels = takes_pixels(model);
  if (pixels) data = {as_pixels(data.train), as_pixels(data.test)};
  const int64_t shards = o.ranks.shards > 0 ? o.ranks.shards
                         : o.ranks.mpi      ? 8
                                            : 1;
  if (o.batch == 0 && images < shards) {
    throw ValueError(
        "out_of_range", "--shards",
        fmt::format(
            "needs at least one sample per shard: {} shards, {} samples",
            shards, images));
  }
  const int64_t whole = std::min(std::max<int64_t>(128, shards), images);
  const Job job{
      o, ranks, data,
      o.batch > 0 ? o.batch : std::max(shards, whole / shards * shards)};
  // Checks the checkpoint folder of the second phase before training for hours.
  if (o.qat) (void)program::checkpoints_of(o.checkpoint, qat_phase(o));
  train::FitOptions options = job.fit_options(o.network, 1, o.epochs);
  options.schedule = train::warmup(
      {.length = 0.05, .unit = train::ScheduleUnit::share}, train::cosine());
  options.update_statistics_later = o.update_statistics;
  ensure_writable_folder(out);
  job.say(fmt::format(
      "{} on Fashion-MNIST: {} parameters, {} images, {}{} threads, "
      "{}\n",
      o.network, model.parameter_count(), images, ranks.text(), num_threads(),
      to_string(active_isa())));

  const train::History history = train::fit(model, job.data.train, options);
  say_traffic(job, std::ssize(history), model);

  if (o.update_statistics) {
    train::update_batch_statistics(
        model, job.data.train,
        {.batch_size = job.batch, .samples = std::min<int64_t>(8192, images)});
  }

  const double accuracy = job.accuracy(model);
  double seconds = 0;
  for (const auto& epoch : history) seconds += epoch.seconds;
  const auto file = out / (o.network + ".onnx");
  if (ranks.first()) {
    io::export_onnx(model, file,
                    {.description = o.network + " on Fashion-MNIST"});
  }
  const double rate =
      static_cast<double>(images) * static_cast<double>(o.epochs) / seconds;
  job.say(
      fmt::format("test accuracy {:.2f} %, {} epochs in {:.0f} s, {:.0f} "
                  "images/s; {}\n",
                  accuracy, o.epochs, seconds, rate, file.string()));
  if (!o.qat) return;
  Config summary;
  summary.set("network", o.network)
      .set("parameters", model.parameter_count())
      .set("input_scale", pixels ? 255 : 1)
      .set("training_images", images)
      .set("batch", job.batch)
      .set("seed", o.seed)
      .set("epochs", o.epochs)
      .set("fp32_accuracy", accuracy);
  quantize(job, model, summary);
  if (!ranks.first()) return;
  write_file(out / "summary.json", io::to_json(summary) + "\n");
  print(fmt::format("{}\n", (out / "summary.json").string()));
}

}  // namespace

int main(int argc, char** argv) {
  program::CommandLine command(
      "Train a zoo network on Fashion-MNIST and export it as ONNX, with --qat "
      "also in INT8.");
  Options options;
  declare(command, options);
  return command.run(argc, argv, [&] { run(options); });
}
