#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>
#include <octet/train/callback.h>

#include "checks.h"
#include "kept_parameters.h"
#include "resume/fit_state.h"

namespace octet::train {
namespace {

constexpr const char* kSubject = "keep_best";

/// Result of a model that was not evaluated: worse than any other.
Evaluation not_evaluated() {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  return {.loss = kNan, .accuracy = kNan};
}

/// Whether a quantizer has no scale before training.
bool lacks_scales(const Model& model) {
  return std::ranges::any_of(quant::quantizers(model), [](const auto& each) {
    return each->enabled() && !each->calibrated();
  });
}

class BestModel final : public KeepBest {
 public:
  BestModel(Dataset data, const KeepBestOptions& options)
      : data_(std::move(data)) {
    check_positive(kSubject, "batch_size", options.batch_size);
    options_ = options;
  }

  void on_train_begin(const Progress& progress) override {
    evaluations_.clear();
    values_.clear();
    best_ = 0;
    if (progress.resumed) return;  // restore() follows
    const Model& model = std::as_const(*progress.training).model();
    evaluations_.push_back(lacks_scales(model) ? not_evaluated()
                                               : evaluation_of(model));
    if (evaluations_[0].samples > 0) (void)score(evaluations_[0]);
    values_ = copy_values(model);
  }

  void on_epoch_end(const Progress& progress) override {
    const Model& model = std::as_const(*progress.training).model();
    if (!options_.update_statistics) {
      keep_if_better(model, evaluation_of(model));
      return;
    }
    Model copy = model.clone();
    keep_if_better(
        copy, update_statistics(copy) ? evaluation_of(copy) : not_evaluated());
  }

  bool sets_final_weights() const override { return true; }
  void on_train_end(const Progress& progress) override {
    assign_values(progress.training->model(), values_);
    values_.clear();
  }

  std::string state_name() const override { return kSubject; }
  CallbackState state() const override {
    Config::List evaluations;
    for (const Evaluation& each : evaluations_) {
      evaluations.push_back(to_config(each));
    }
    return {
        Config().set("best", best_).set("evaluations", std::move(evaluations)),
        values_};
  }
  void restore(const CallbackState& state, const Progress& progress) override {
    std::vector<Evaluation> evaluations;
    for (const Config& each : state.values.at("evaluations").as_list()) {
      evaluations.push_back(evaluation_from(each));
    }
    const int64_t best = state.values.at("best").as_int();
    if (best < 0 || best >= std::ssize(evaluations)) {
      throw ValueError("out_of_range", kSubject,
                       fmt::format("index of the best model must be in [0, {}) "
                                   "in the checkpoint, got {}",
                                   evaluations.size(), best));
    }
    values_ = checked_values(
        kSubject, std::as_const(*progress.training).model(), state.tensors);
    evaluations_ = std::move(evaluations);
    best_ = best;
  }

 private:
  Evaluation evaluation_of(const Model& model) const {
    return evaluate(model, data_,
                    {.batch_size = options_.batch_size,
                     .loss = options_.loss,
                     .metrics = options_.metrics,
                     .verbose = false});
  }

  /// Returns whether it succeeded; it fails for a diverged model.
  bool update_statistics(Model& model) const {
    try {
      (void)update_batch_statistics(model, *options_.update_statistics,
                                    options_.statistics);
      return true;
    } catch (const ValueError& error) {
      if (error.code() != "not_finite") throw;
      return false;
    }
  }

  void keep_if_better(const Model& model, Evaluation evaluation) {
    evaluations_.push_back(std::move(evaluation));
    const auto best = static_cast<size_t>(best_);
    if (!is_better(evaluations_.back(), evaluations_[best])) return;
    best_ = std::ssize(evaluations_) - 1;
    values_ = copy_values(model);
  }

  Dataset data_;
  NamedTensors values_;  // parameters of the best model
};

}  // namespace

std::string KeepBest::monitor() const {
  if (!options_.monitor.empty()) return options_.monitor;
  if (options_.loss.outputs().size() != 1) return "loss";
  for (const Evaluation& each : evaluations_) {
    if (each.metrics.empty()) continue;
    const std::string& name = each.metrics[0].name;
    return name.find("accuracy") != std::string::npos ? name : "loss";
  }
  return "loss";
}

double KeepBest::score(const Evaluation& evaluation) const {
  if (evaluation.samples == 0) return std::numeric_limits<double>::quiet_NaN();
  return evaluation.value(monitor());
}

bool KeepBest::is_better(const Evaluation& a, const Evaluation& b) const {
  // Comparisons with NaN are false.
  const auto below = [](double x, double y) {
    return x < y || (std::isnan(y) && !std::isnan(x));
  };
  const bool higher = monitor().find("accuracy") != std::string::npos;
  const double first = higher ? -score(a) : score(a);
  const double second = higher ? -score(b) : score(b);
  if (below(first, second)) return true;
  return first == second && below(a.loss, b.loss);
}

std::shared_ptr<KeepBest> keep_best(const Dataset& data,
                                    const KeepBestOptions& options) {
  return std::make_shared<BestModel>(data, options);
}

}  // namespace octet::train
