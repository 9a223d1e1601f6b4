// octet train: trains a zoo network or a model file.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/layers/detail/model_data.h>
#include <octet/layers/zoo.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/train/evaluate.h>

#include "../common/program.h"
#include "batch_statistics.h"
#include "class_order.h"
#include "commands.h"
#include "data_options.h"
#include "fine_tuning.h"
#include "io_names.h"
#include "loss_options.h"
#include "read_model.h"
#include "training_options.h"
#include "transfer_options.h"

namespace octet::program {
namespace {

constexpr const char* kTrainExamples = R"(
Examples:
  octet train zoo:mobilenet_v1_025 --data photos/ --input-shape 96,96,3 \
    --augment flip,crop --epochs 30 -o model.h5
  octet train zoo:lenet --data /usr/share/datasets/fashion-mnist -o lenet.h5
  octet train model.keras --data x.npy --labels y.npy --rate 1e-4 -o tuned.h5
  octet train imagenet.onnx --head 2 --freeze '*' --unfreeze-after 2 \
    --data cells.csv --augment flip,vflip,rot90 --epochs 12 -o cells.h5
  octet train zoo:resnet8 --data cifar/ --checkpoint runs/a --resume -o r8.h5
)";

constexpr std::string_view kZooPrefix = "zoo:";
const std::string kOptimizer = "adamw";

struct TrainOptions {
  ModelSource model;
  DataOptions data;
  TrainingOptions training{.epochs = 10, .schedule = "cosine", .warmup = 0.05};
  TransferOptions transfer;
  int64_t classes = 0;  // 0: from the data
  double alpha = 0;
  bool last_epoch = false;
  std::string output;
  bool json = false;
};

bool is_zoo(const TrainOptions& o) {
  return o.model.what.starts_with(kZooPrefix);
}

zoo::Options zoo_options(const TrainOptions& o) {
  zoo::Options options{.alpha = o.alpha,
                       .seed = static_cast<uint64_t>(o.training.seed)};
  const std::vector<Shape> shapes = input_shapes(o.model);
  if (!shapes.empty()) options.input = shapes[0];
  return options;
}

std::string_view zoo_name(const TrainOptions& o) {
  return std::string_view(o.model.what).substr(kZooPrefix.size());
}

/// Returns the number of outputs of a zoo network.
int64_t classes_of(const TrainOptions& o, const io::OpenedData& data) {
  if (data.train.label_specs().empty()) {
    throw ValueError("missing_value", "--labels",
                     "the data has no labels. Hint: add --labels Y.npy");
  }
  if (data.train.label_type() != DType::i64) {
    if (o.classes > 0) return o.classes;
    const Shape shape = data.train.label_shape();
    return shape.rank() == 0 ? 1 : shape[-1];
  }
  const Tensor labels = data.train.labels();
  const int64_t found = data.classes.empty()
                            ? std::ranges::max(labels.data<int64_t>()) + 1
                            : std::ssize(data.classes);
  if (o.classes == 0) return found;
  if (o.classes < found || (!data.classes.empty() && o.classes != found)) {
    throw ValueError(
        "count_mismatch", "--classes",
        fmt::format("the data has {} classes, got {}", found, o.classes));
  }
  return o.classes;
}

struct Job {
  Model model;
  DataTarget target;
  io::OpenedData data;
};

Job open_job(const TrainOptions& o) {
  if (!is_zoo(o)) {
    if (o.classes > 0 || o.alpha > 0) {
      throw ValueError(
          "conflicting_options", "--classes, --alpha",
          fmt::format("apply to zoo networks, got '{}'", o.model.what));
    }
    Model model = with_head(read_model(o.model), o.transfer, o.training.seed);
    warn_of_rounded_weights(o.model, model);
    DataTarget target = target_of(model, o.model);
    // Class names in the file are those of the replaced classifier.
    if (o.transfer.head > 0) target.classes.clear();
    io::OpenedData data = open_data(o.data, target);
    check_classes(model, o.model, data);
    return {std::move(model), std::move(target), std::move(data)};
  }
  check_no_architecture(o.model);
  zoo::Options options = zoo_options(o);
  DataTarget target = target_of(zoo::make(zoo_name(o), options), o.model);
  io::OpenedData data = open_data(o.data, target);
  const Shape input = data.train.input_shape();
  if (options.input.rank() > 0 && options.input != input) {
    throw ValueError("shape_mismatch", "--input-shape",
                     fmt::format("the data has samples {}, got {}",
                                 input.to_string(), options.input.to_string()));
  }
  options.input = input;
  options.classes = classes_of(o, data);
  return {zoo::make(zoo_name(o), options), std::move(target), std::move(data)};
}

int64_t batch_size_of(const train::FitOptions& options, const Dataset& data) {
  return options.batch_size.value_or(std::min<int64_t>(64, data.size()));
}

/// Returns whether running statistics lag behind the weights after the fit.
bool statistics_lag(const Model& model, const Dataset& data,
                    const train::FitOptions& options) {
  constexpr double kLargestShare = 0.1;
  const int64_t batch = batch_size_of(options, data);
  const double steps =
      static_cast<double>(options.epochs) *
      std::ceil(static_cast<double>(data.size()) / static_cast<double>(batch));
  return std::ranges::any_of(model.layers(), [&](const auto& layer) {
    return layer->class_name() == "BatchNormalization" && layer->trainable() &&
           !layer->statistics_frozen() &&
           std::pow(layer->config().at("momentum").as_number(), steps) >
               kLargestShare;
  });
}

/// Returns whether the model is at chance level, so that there is nothing to
/// preserve.
bool is_untrained(const Measured& by, const Model& model,
                  const train::Evaluation& before) {
  constexpr double kMargin = 1.2;
  const Score score = decisive_score(by, before);
  const double classes =
      static_cast<double>(std::max<int64_t>(2, model.outputs()[0].shape()[-1]));
  return score.is_accuracy && score.value * classes <= kMargin;
}

/// Optimizer and learning rate, and the training configuration to store.
struct Tuning {
  FineTuning fine;
  std::optional<io::TrainingConfig> trained;
};

Tuning tuning_of(const TrainOptions& o, const Model& model,
                 const Dataset& training, const Measured& by, bool untrained) {
  if (!untrained) {
    const std::optional<io::TrainingConfig> trained = training_of(o.model);
    return {choose_fine_tuning(model, training, by, o.training, trained,
                               {.share = 0.1, .optimizer = kOptimizer}),
            trained};
  }
  const std::string& word =
      o.training.optimizer.empty() ? kOptimizer : o.training.optimizer;
  const train::Optimizer optimizer = make_optimizer(word, o.training.rate);
  const double rate{optimizer.learning_rate()};
  return {
      {optimizer, fmt::format("{} at a learning rate of {:.3g}", word, rate)},
      io::TrainingConfig{word, rate, true}};
}

/// Returns whether the training loss rose and made the model worse.
bool has_diverged(const Measured& by, double loss_before, double loss_after,
                  const Outcome& outcome, bool untrained) {
  constexpr double kRise = 1.2;
  constexpr double kPoints = 0.05;
  if (!std::isfinite(outcome.last.loss)) return true;
  if (loss_after <= loss_before * kRise) return false;
  const Score before = decisive_score(by, outcome.start);
  const Score last = decisive_score(by, outcome.last);
  return untrained ||
         (before.is_accuracy ? !(last.value > before.value - kPoints)
                             : !(last.value <= before.value * kRise));
}

void print_job(const TrainOptions& o, const Job& job,
               const TrainingParts& parts) {
  print(describe("training samples", parts.training, job.data, o.data,
                 job.target));
  print(fmt::format("{} for validation: {}\n",
                    parts.validation ? parts.validation->size() : 0,
                    parts.validation_is));
  print(frozen_text(job.model, o.transfer));
}

std::string write_model(const TrainOptions& o, const Model& model,
                        const std::vector<std::string>& classes,
                        const std::string& preprocess,
                        const std::string& resize,
                        const std::optional<io::TrainingConfig>& trained) {
  const bool named = std::ssize(classes) == model.outputs()[0].shape()[-1];
  const std::vector<std::string> names =
      named ? classes : std::vector<std::string>();
  const io::OnnxInterface interface = interface_of(o.model);
  if (!o.output.ends_with(".onnx")) {
    io::save_model(model, o.output,
                   {.classes = names,
                    .preprocess = preprocess,
                    .resize = resize,
                    .interface = interface,
                    .training = trained});
    return o.output;
  }
  const io::OnnxExportReport report =
      io::export_onnx(model, o.output,
                      {.classes = names,
                       .preprocess = preprocess,
                       .resize = resize,
                       .interface = interface,
                       .layout = layout_of(o.data.layout)});
  return fmt::format("{}: {} nodes, {} bytes", o.output, report.nodes,
                     report.bytes);
}

/// Warns if the model did not improve.
/// Throws: ValueError if training diverged without --last-epoch.
void expect_gain(const TrainOptions& o, const Model& model, const Measured& by,
                 const Outcome& outcome, bool diverged) {
  constexpr const char* kHint = "Hint: try a smaller --rate";
  const std::string figures =
      fmt::format("from {} before to {} after the last epoch",
                  decisive_score(by, outcome.start).text(),
                  decisive_score(by, outcome.last).text());
  if (diverged && !o.last_epoch) {
    throw ValueError(
        "diverged", "train",
        fmt::format("training diverged, {}; '{}' contains the model {}. {}",
                    figures, o.output,
                    outcome.epoch == 0
                        ? "from before training"
                        : fmt::format("after epoch {}", outcome.epoch),
                    kHint));
  }
  if (is_zoo(o) && is_untrained(by, model, outcome.selected)) {
    warn(
        "not_improved", "train",
        fmt::format("{} is close to chance. Hint: more --epochs or another "
                    "--rate; with few images, start from a trained model file: "
                    "octet train MODEL.onnx --head {}",
                    decisive_score(by, outcome.selected).text(),
                    model.outputs()[0].shape()[-1]));
  } else if (outcome.epoch == 0) {
    warn("not_improved", "train",
         fmt::format(
             "no epoch improved the given model, which was written. {}, "
             "more --epochs or samples; --last-epoch writes the last epoch",
             kHint));
  } else if (outcome.is_worse(by)) {
    warn("accuracy_dropped", "train",
         fmt::format("the model became worse, {}. {}", figures, kHint));
  }
}

void train_model(const TrainOptions& o) {
  check_output(o.output);
  check_training_options(o.training);
  check_transfer_options(o.transfer, o.training, is_zoo(o));
  if (o.training.threads > 0) {
    set_num_threads(static_cast<int>(o.training.threads));
  }
  Job job = open_job(o);
  Model& model = job.model;
  const TrainingParts parts =
      parts_of(job.data, o.training, o.data, job.target);
  if (is_zoo(o) || o.transfer.head > 0) {
    check_trained_classes(model, parts.training, job.data);
  }
  const Measured by = measured_by(o.training.loss, model, parts.training,
                                  job.target.file_outputs);
  const Dataset evaluation_data =
      parts.validation ? *parts.validation : parts.training;
  const auto measure = [&](const Dataset& data) {
    return train::evaluate(model, data, {.loss = by.loss, .verbose = false});
  };
  const std::vector<std::shared_ptr<Layer>> frozen_layers =
      freeze_layers(model, o.transfer);
  const auto unfreeze = [&] {
    for (const auto& layer : frozen_layers) layer->set_trainable(true);
  };
  TrainingOptions training = o.training;
  training.epochs -= o.transfer.unfreeze_after;
  training.append_log = o.transfer.unfreeze_after > 0;
  train::FitOptions options = fit_options_of(training, parts, "train", o.json);
  options.loss = by.loss;
  options.class_weights =
      class_weights_of(training, job.data.classes, model, parts.training);
  options.schedule = make_schedule(training);
  if (!o.json) print_job(o, job, parts);
  if (o.transfer.unfreeze_after > 0) {
    train_frozen(model, o.transfer, o.training, parts, options, o.json);
    unfreeze();
  }
  const bool has_new_head = o.transfer.head > 0;
  const bool untrained =
      is_zoo(o) ||
      (!has_new_head && is_untrained(by, model, measure(evaluation_data)));
  // A new classifier guesses, which few samples show.
  const int64_t most_samples = has_new_head ? 256 : 2048;
  const Dataset sample = parts.training.sample(most_samples);
  const train::Evaluation before = measure(sample);
  if (!is_zoo(o) && !has_new_head) {
    warn_of_class_order("train", model, sample, job.data, before.accuracy);
  }
  const int64_t batch_size = batch_size_of(options, parts.training);
  std::vector<std::shared_ptr<Layer>> frozen;
  // The statistics of the network's own data fit its own classifier only.
  if (!untrained && !has_new_head &&
      reestimation_costs(model, sample, by, {.batch_size = batch_size})) {
    frozen = freeze_statistics(model);
  }
  const Tuning tuning = tuning_of(o, model, parts.training, by, untrained);
  options.optimizer = tuning.fine.optimizer;
  options.update_statistics_later = true;
  if (!o.json) {
    print(fmt::format("{}: {} parameters, {} outputs, {} threads; {}\n",
                      o.model.what, model.parameter_count(),
                      model.outputs()[0].shape()[-1], num_threads(),
                      tuning.fine.text));
    if (!frozen.empty()) {
      print(
          "batch normalization statistics: frozen, because statistics of these "
          "samples make the model worse\n");
    }
  }
  constexpr int64_t kMostStatistics = 8192;
  const bool renewed = statistics_lag(model, parts.training, options);
  // A zoo network is untrained: there is nothing to preserve.
  const Outcome outcome = fine_tune(
      model, parts.training, evaluation_data, by, options,
      {.last_epoch = o.last_epoch || is_zoo(o),
       .update_statistics =
           renewed ? std::optional(parts.training) : std::nullopt,
       .statistics = {.batch_size = batch_size, .samples = kMostStatistics}});
  for (const auto& layer : frozen) layer->freeze_statistics(false);
  unfreeze();
  // Only zoo networks still have the weights of the last epoch here.
  const double loss_after =
      is_zoo(o) ? measure(sample).loss : outcome.training_loss;
  const bool diverged =
      has_diverged(by, before.loss, loss_after, outcome, untrained);
  const std::string written =
      write_model(o, model, job.data.classes,
                  preprocess_to_keep(job.data, o.data, job.target),
                  resize_to_keep(job.data, o.data, job.target),
                  outcome.epoch == 0 ? training_of(o.model) : tuning.trained);
  if (o.json) {
    Config config = to_config(outcome.selected, by.name);
    if (!is_zoo(o)) {
      config.set("before", to_config(outcome.start, by.name))
          .set("last epoch", to_config(outcome.last, by.name))
          .set("selected_epoch", outcome.epoch);
    }
    config.set("evaluated_on", parts.validation ? "validation" : "training")
        .set("training_samples", parts.training.size())
        .set("epochs", o.training.epochs)
        .set("frozen_epochs", o.transfer.unfreeze_after)
        .set("rate", double{options.optimizer.learning_rate()})
        .set("training_loss", outcome.training_loss)
        .set("seconds", outcome.seconds)
        .set("statistics_renewed", renewed && outcome.epoch > 0)
        .set("statistics_frozen", !frozen.empty())
        .set("diverged", diverged)
        .set("parameters", model.parameter_count())
        .set("output", o.output);
    print(io::to_json(config) + "\n");
  } else {
    if (renewed && outcome.epoch > 0) {
      print(
          "batch normalization statistics: re-estimated from the training "
          "samples\n");
    }
    print(
        parts.validation
            ? fmt::format("on {} validation samples:\n", evaluation_data.size())
            : std::string("on the training samples (no validation data):\n"));
    if (!is_zoo(o)) {
      print(outcome.text(by, training.append_log ? "frozen"
                             : has_new_head      ? "new classifier"
                                                 : "as given") +
            "\n");
    }
    print(to_text(outcome.selected, by.name));
    print(written + "\n");
  }
  expect_gain(o, model, by, outcome, diverged);
}

}  // namespace

void add_train(CommandLine& program) {
  const auto options = std::make_shared<TrainOptions>();
  TrainOptions& o = *options;
  Command command =
      program.add_command("train", "Train a zoo network or a model file");
  add_model(command, o.model, kModelHelp);
  add_data_options(command, o.data);
  command.begin_group("Output");
  command
      .add("-o,--output,output", o.output,
           "output file: .h5 for further training and quantization, or .onnx")
      .type("OUT.h5")
      .required()
      .writes({".h5", ".onnx"});
  command.begin_group("Network");
  command.add(
      "--classes", o.classes, 1, 1 << 24,
      "number of outputs of a zoo network (default: classes of the data)");
  command.add("--alpha", o.alpha, 1e-3, 64,
              "width multiplier of a zoo network");
  add_transfer_options(command, o.transfer);
  add_training_options(
      command, o.training,
      {.epochs = "number of epochs (default: 10)",
       .rate = "peak learning rate (default: 0.001, sgd 0.05, lion 0.0002; for "
               "a trained file a tenth of its rate, or of the stable rate of a "
               "range test)",
       .optimizer = "optimizer; sgd has momentum 0.9 (default: from the model "
                    "file if trained, else adamw)",
       .schedule = "learning rate schedule: cosine and exponential end at 1 %, "
                   "step divides by 10 after each third (default: cosine)"});
  add_class_weights_option(command, o.training.class_weights);
  command.add_flag("--last-epoch", o.last_epoch,
                   "write the model of the last epoch instead of the best");
  command.begin_group("Output");
  command.add_flag("--json", o.json, "print JSON");
  command.set_footer(
      (std::string(kDataHelp) + kImageHelp + kTrainExamples).c_str());
  command.when_chosen([options] { train_model(*options); });
}

}  // namespace octet::program
