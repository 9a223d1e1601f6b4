#include "training_options.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>
#include <octet/train/callback.h>

#include "choice.h"
#include "loss_options.h"

namespace octet::program {
namespace {

enum class OptimizerWord { sgd, adam, adamw, rmsprop, lion, lamb };
enum class ScheduleWord { constant, cosine, step, exponential };

OptimizerWord optimizer_word(const std::string& name) {
  return choice<OptimizerWord, 6>("--optimizer", name,
                                  {{{"sgd", OptimizerWord::sgd},
                                    {"adam", OptimizerWord::adam},
                                    {"adamw", OptimizerWord::adamw},
                                    {"rmsprop", OptimizerWord::rmsprop},
                                    {"lion", OptimizerWord::lion},
                                    {"lamb", OptimizerWord::lamb}}});
}

ScheduleWord schedule_word(const std::string& name) {
  return choice<ScheduleWord, 4>(
      "--schedule", name,
      {{{"constant", ScheduleWord::constant},
        {"cosine", ScheduleWord::cosine},
        {"step", ScheduleWord::step},
        {"exponential", ScheduleWord::exponential}}});
}

std::shared_ptr<const train::Transform> transform_named(const std::string& word,
                                                        float high) {
  using Make = std::shared_ptr<const train::Transform> (*)(float);
  return choice<Make, 9>(
      "--augment", word,
      {{{"flip", [](float) { return train::random_flip(); }},
        {"vflip",
         [](float) {
           return train::random_flip({.horizontal = false, .vertical = true});
         }},
        {"rot90", [](float) { return train::random_rotation90(); }},
        {"crop", [](float) { return train::random_crop(); }},
        {"shift", [](float) { return train::random_shift(); }},
        {"rotation", [](float) { return train::random_rotation(); }},
        {"brightness",
         [](float most) {
           return train::random_brightness(
               {.delta = 0.2f * most, .high = most});
         }},
        {"contrast",
         [](float most) { return train::random_contrast({.high = most}); }},
        {"cutout", [](float) { return train::cutout(); }}}})(high);
}

/// Returns the upper bound of image values for brightness and contrast
/// augmentation; 1 without these.
float high_of(const Dataset& data, const std::string& augment) {
  constexpr int64_t kLooked = 64;
  constexpr float kDark = 32;
  if (augment.find("brightness") == std::string::npos &&
      augment.find("contrast") == std::string::npos) {
    return 1;
  }
  const Batch batch = data.batch(0, std::min(kLooked, data.size()));
  const auto [low, high] = std::ranges::minmax(batch.inputs.at(0).f32());
  if (low >= 0 && high <= 1) return 1;
  // Bytes: even dark images exceed this among 64.
  if (low >= 0 && high > kDark && high <= 255) return 255;
  throw ValueError("out_of_range", "--augment",
                   fmt::format("brightness and contrast need values in [0,1] "
                               "or [0,255], got {:g} to {:g}. Hint: omit both",
                               low, high));
}

/// Returns the number if the whole word is a number.
std::optional<double> number_in(const std::string& word) {
  double number = 0;
  const char* end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, number);
  if (word.empty() || error != std::errc() || rest != end) return std::nullopt;
  return number;
}

TrainingParts split(const Dataset& data, double share, uint64_t seed) {
  const bool classes = data.label_specs().size() == 1 &&
                       data.label_type() == DType::i64 &&
                       data.label_shape().rank() == 0;
  auto [training, validation] =
      data.hold_out(share, {.seed = seed, .stratified = classes});
  return {std::move(training), std::move(validation),
          fmt::format("{:g} % of the samples, held out", 100 * share)};
}

}  // namespace

void add_training_options(Command& command, TrainingOptions& o,
                          const TrainingHelp& help) {
  constexpr int64_t kMost = int64_t{1} << 31;
  command.begin_group("Training");
  command.add("--epochs", o.epochs, 1, kMost, help.epochs);
  command.add("--batch", o.batch, 1, kMost, "batch size (default: 64)");
  command.add("--optimizer", o.optimizer, help.optimizer)
      .type("sgd|adam|adamw|rmsprop|lion|lamb");
  command.add("--rate", o.rate, 1e-12, 1e6, help.rate);
  command.add("--schedule", o.schedule, help.schedule)
      .type("constant|cosine|step|exponential");
  command
      .add(
          "--warmup", o.warmup, 0, 0.9,
          "share of the steps in which the learning rate increases to its peak")
      .show_default();
  command
      .add("--augment", o.augment,
           "augmentation: flip (left-right), vflip (up-down), rot90, crop, "
           "shift, rotation, brightness, contrast, cutout")
      .type("LIST");
  command
      .add("--validation", o.validation,
           "share of samples to hold out, or other data; 0: none (default: "
           "test part of the data, else 0.1)")
      .type("SHARE|PATH");
  add_loss_option(command, o.loss);
  command.add_flag("--preserve-zeros", o.preserve_zeros,
                   "keep the zeros of a pruned model, see octet sparsify");
  command
      .add("--seed", o.seed, 0, INT64_MAX - 1,
           "random seed of weights, sample order and augmentation")
      .show_default();
  command.add("--threads", o.threads, 1, 1024,
              "number of threads (default: all cores)");
  add_checkpoint_options(command, o.checkpoint);
  command.begin_group("Output");
  command.add("--log", o.log, "write metrics of each epoch")
      .type("OUT.csv")
      .writes({".csv"}, OtherNames::unknown);
}

train::Optimizer make_optimizer(const std::string& name, double rate) {
  const auto or_usual = [rate](float usual) {
    return rate > 0 ? static_cast<float>(rate) : usual;
  };
  switch (optimizer_word(name)) {
    case OptimizerWord::sgd:
      return train::SGD({.learning_rate = or_usual(0.05f),
                         .momentum = 0.9f,
                         .nesterov = true,
                         .weight_decay = 1e-4f});
    case OptimizerWord::adam:
      return train::Adam({.learning_rate = or_usual(1e-3f)});
    case OptimizerWord::adamw:
      return train::AdamW({.learning_rate = or_usual(1e-3f)});
    case OptimizerWord::rmsprop:
      return train::RMSprop({.learning_rate = or_usual(1e-3f)});
    case OptimizerWord::lion:
      return train::Lion({.learning_rate = or_usual(2e-4f)});
    case OptimizerWord::lamb:
      return train::LAMB({.learning_rate = or_usual(1e-3f)});
  }
  throw InternalError("internal", "make_optimizer", "unknown optimizer");
}

train::Schedule make_schedule(const TrainingOptions& o) {
  constexpr float kFloor = 0.01f;
  const auto share = train::ScheduleUnit::share;
  train::Schedule schedule = train::constant();
  switch (schedule_word(o.schedule)) {
    case ScheduleWord::constant:
      break;
    case ScheduleWord::cosine:
      schedule = train::cosine({.floor = kFloor});
      break;
    case ScheduleWord::step:
      schedule = train::step_decay({.every = 1.0 / 3, .unit = share});
      break;
    case ScheduleWord::exponential:
      schedule = train::exponential({.gamma = kFloor, .unit = share});
      break;
  }
  if (o.warmup == 0) return schedule;
  return train::warmup({.length = o.warmup, .unit = share}, schedule);
}

train::Augmentation make_augmentation(const std::string& list, float high) {
  train::Augmentation transforms;
  size_t at = 0;
  while (!list.empty() && at <= list.size()) {
    const size_t end = std::min(list.find(',', at), list.size());
    transforms.push_back(transform_named(list.substr(at, end - at), high));
    at = end + 1;
  }
  return transforms;
}

void check_training_options(const TrainingOptions& o) {
  if (!o.optimizer.empty()) (void)optimizer_word(o.optimizer);
  if (!o.schedule.empty()) (void)schedule_word(o.schedule);
  (void)make_augmentation(o.augment);
}

TrainingParts parts_of(const io::OpenedData& data, const TrainingOptions& o,
                       const DataOptions& data_options,
                       const DataTarget& target) {
  constexpr double kUsual = 0.1;
  constexpr int64_t kFewest = 20;
  const std::optional<double> share = number_in(o.validation);
  const auto seed = static_cast<uint64_t>(o.seed);
  if (share) {
    if (!(*share >= 0 && *share < 1)) {
      throw ValueError("out_of_range", "--validation",
                       fmt::format("must be a share in [0,1) or a path, got {}",
                                   o.validation));
    }
    if (*share > 0) return split(data.train, *share, seed);
    return {data.train, std::nullopt, "none"};
  }
  if (!o.validation.empty()) {
    DataOptions other = data_options;
    other.paths = {o.validation};
    if (!data_options.labels.empty()) {
      throw ValueError(
          "conflicting_options", "--validation",
          "must be a share with --labels. Hint: for separate validation data, "
          "use a folder with x_train.npy, y_train.npy, x_test.npy, y_test.npy");
    }
    io::OpenedData opened = open_data(other, target);
    if (opened.classes != data.classes) {
      throw ValueError(
          "count_mismatch", "--validation",
          fmt::format(
              "classes must be those of the training data ('{}'), got '{}'",
              fmt::join(data.classes, "', '"),
              fmt::join(opened.classes, "', '")));
    }
    return {data.train, opened.test ? *opened.test : opened.train,
            fmt::format("'{}'", o.validation)};
  }
  if (data.test) return {data.train, *data.test, "the data's test part"};
  if (data.train.size() >= kFewest) return split(data.train, kUsual, seed);
  return {data.train, std::nullopt, "none"};
}

train::FitOptions fit_options_of(const TrainingOptions& o,
                                 const TrainingParts& parts,
                                 const std::string& phase, bool quiet) {
  train::FitOptions options{
      .epochs = o.epochs,
      .seed = static_cast<uint64_t>(o.seed),
      .validation = parts.validation ? &*parts.validation : nullptr,
      .verbose = false,
      .augmentation =
          make_augmentation(o.augment, high_of(parts.training, o.augment)),
      .checkpoints = checkpoints_of(o.checkpoint, phase),
      .resume = o.checkpoint.resume,
      .preserve_zeros = o.preserve_zeros};
  if (o.batch > 0) options.batch_size = o.batch;
  if (!quiet) options.callbacks.push_back(train::progress_bar(phase));
  if (!o.log.empty())
    options.callbacks.push_back(
        train::csv_log(o.log, {.append = o.append_log}));
  return options;
}

}  // namespace octet::program
