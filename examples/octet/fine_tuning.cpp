#include "fine_tuning.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/train/evaluate.h>
#include <octet/train/learning_rate.h>

#include "../common/program.h"

namespace octet::program {
namespace {

/// Returns the --optimizer word of a Keras optimizer; "" if its learning rates
/// are not comparable.
std::string optimizer_word_of(const io::TrainingConfig& trained) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kWords{
      {{"sgd", "sgd"},
       {"adam", "adam"},
       {"adamw", "adamw"},
       {"nadam", "adam"},
       {"adamax", "adam"},
       {"rmsprop", "rmsprop"},
       {"lion", "lion"},
       {"lamb", "lamb"}}};
  const auto found =
      std::ranges::find(kWords, trained.optimizer,
                        &std::pair<std::string_view, std::string_view>::first);
  return found == kWords.end() ? std::string() : std::string(found->second);
}

double seconds_of(const train::History& history) {
  double seconds = 0;
  for (const train::EpochResult& epoch : history) seconds += epoch.seconds;
  return seconds;
}

double fine_tuning_rate(const io::TrainingConfig& trained, double share) {
  if (trained.is_peak) return share * trained.rate;
  const double peak =
      std::max(trained.rate, io::keras_default_rate(trained.optimizer));
  return std::min(trained.rate, share * peak);
}

}  // namespace

FineTuning choose_fine_tuning(const Model& model, const Dataset& training,
                              const Measured& by, const TrainingOptions& asked,
                              const std::optional<io::TrainingConfig>& trained,
                              const FineTuningOptions& options) {
  const auto with = [&](const std::string& word, double rate,
                        const std::string& why) {
    return FineTuning{
        options.make(word, rate),
        fmt::format("{} at a learning rate of {:.3g}{}", word, rate, why)};
  };
  const std::string word =
      asked.optimizer.empty() ? options.optimizer : asked.optimizer;
  if (asked.rate > 0) return with(word, asked.rate, "");
  if (trained) {
    const std::string own = optimizer_word_of(*trained);
    const bool fits = asked.optimizer.empty()
                          ? !options.only_this_optimizer || own == word
                          : own == asked.optimizer;
    if (!own.empty() && fits) {
      const double rate = fine_tuning_rate(*trained, options.share);
      return with(own, rate,
                  fmt::format(" (model file: {} at {:.3g})", trained->optimizer,
                              trained->rate));
    }
  }
  const float stable =
      train::stable_rate(model, training,
                         {.optimizer = options.make(word, 1e-3),
                          .loss = by.loss,
                          .seed = static_cast<uint64_t>(asked.seed)});
  return with(word, options.share * double{stable},
              fmt::format(" ({:g} % of the stable rate {:.3g} of a range test)",
                          100 * options.share, stable));
}

Score decisive_score(const Measured& by, const train::Evaluation& evaluation) {
  const auto& metrics = evaluation.metrics;
  if (by.loss.outputs().size() == 1 && !metrics.empty() &&
      is_share(metrics[0].name)) {
    return {metrics[0].value, true};
  }
  return {evaluation.loss, false};
}

std::string Score::text() const {
  if (std::isnan(value)) return "NaN";
  return is_accuracy ? fmt::format("{:.2f} %", percent(value))
                     : fmt::format("loss {:.4f}", value);
}

std::string Outcome::text(const Measured& by,
                          const std::string& start_name) const {
  const auto score = [&](const train::Evaluation& evaluation) {
    return decisive_score(by, evaluation).text();
  };
  std::vector<std::string> others;
  if (epoch > 0) others.push_back(start_name + " " + score(start));
  if (epoch < epochs) others.push_back("last epoch " + score(last));
  return fmt::format(
      "selected: {} ({}); {}",
      epoch == 0 ? start_name : fmt::format("epoch {} of {}", epoch, epochs),
      score(selected), fmt::join(others, ", "));
}

bool Outcome::is_worse(const Measured& by) const {
  const Score before = decisive_score(by, start);
  const Score after = decisive_score(by, selected);
  return before.is_accuracy ? !(after.value >= before.value)
                            : !(after.value <= before.value);
}

Outcome fine_tune(Model& model, const Dataset& training,
                  const Dataset& evaluation_data, const Measured& by,
                  train::FitOptions fit, const FineTuneOptions& options) {
  if (!options.last_epoch) {
    const auto best = train::keep_best(
        evaluation_data, {.loss = by.loss,
                          .update_statistics = options.update_statistics,
                          .statistics = options.statistics});
    fit.callbacks.push_back(best);
    const train::History history = train::fit(model, training, fit);
    const auto& all = best->evaluations();
    return {.start = all.front(),
            .last = all.back(),
            .selected = all.at(static_cast<size_t>(best->best())),
            .epoch = best->best(),
            .epochs = std::ssize(all) - 1,
            .training_loss = history.back().loss,
            .seconds = seconds_of(history)};
  }
  const train::EvaluateOptions how{.loss = by.loss, .verbose = false};
  Outcome outcome{.start = train::evaluate(model, evaluation_data, how)};
  const train::History history = train::fit(model, training, fit);
  if (options.update_statistics) {
    (void)train::update_batch_statistics(model, *options.update_statistics,
                                         options.statistics);
  }
  outcome.last = outcome.selected =
      train::evaluate(model, evaluation_data, how);
  outcome.epoch = outcome.epochs = std::ssize(history);
  outcome.training_loss = history.back().loss;
  outcome.seconds = seconds_of(history);
  return outcome;
}

}  // namespace octet::program
