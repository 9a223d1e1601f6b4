#include "checkpoints.h"

#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "fingerprint.h"

namespace octet::train {
namespace {

/// The callbacks that have a state, each under a name of its own.
std::vector<std::pair<std::string, Callback*>> stateful_callbacks(
    const Callbacks& callbacks) {
  std::vector<std::pair<std::string, Callback*>> result;
  for (const auto& callback : callbacks) {
    const std::string name = callback->state_name();
    if (name.empty()) continue;
    result.emplace_back(fmt::format("{}.{}", name, result.size()),
                        callback.get());
  }
  return result;
}

std::string callback_path(const std::string& name) {
  return fmt::format("callbacks/{}/", name);
}

std::string slot_path(const Config& parameter, size_t slot) {
  return fmt::format("optimizer/{}/{}", parameter.as_string(), slot);
}

/// The tensors whose names begin with `path`, without it.
NamedTensors below(const std::string& path, const NamedTensors& tensors) {
  NamedTensors result;
  for (auto at = tensors.lower_bound(path);
       at != tensors.end() && at->first.starts_with(path); ++at) {
    result.emplace(at->first.substr(path.size()), at->second);
  }
  return result;
}

}  // namespace

FitCheckpoints::FitCheckpoints(Model& model, const FitOptions& options,
                               const DataSplit& data, int64_t batch_size,
                               const TrainedOutputs& trained, int64_t updates)
    : model_(model), options_(options), updates_(updates) {
  if (options.checkpoints == nullptr) return;
  const Checkpointer& place = *options.checkpoints;
  claim_ = options.checkpoints->claim();
  if (!options.resume && !place.empty()) {
    throw ValueError(fmt::format(
        "fit: expected no checkpoints of another fit in '{}', got some. Hint: "
        "say resume = true to go on from them, or choose another place",
        place.name()));
  }
  fingerprint_ = fit_fingerprint(model, options, data, batch_size, trained);
  if (!options.resume) return;
  found_ = place.latest();
  if (!found_) return;
  with_context(
      [&] { return fmt::format("in the checkpoints of '{}'", place.name()); },
      [&] { check(*found_); });
}

void FitCheckpoints::check(const TrainingState& saved) const {
  const std::string found =
      differences(Config()
                      .set("model", model_fingerprint(saved.model))
                      .set("fit", saved.fingerprint),
                  Config()
                      .set("model", model_fingerprint(quant::state_of(model_)))
                      .set("fit", fingerprint_));
  if (!found.empty()) {
    throw ValueError(
        fmt::format("checkpoint: expected one of this model, data and options, "
                    "got another ({})",
                    found));
  }
  check_progress(saved.progress);
}

/// What has been done must be what this fit would have done.
void FitCheckpoints::check_progress(const Config& progress) const {
  const int64_t epoch = progress.at("epoch").as_int();
  if (epoch < 0 || epoch >= options_.epochs) {
    throw ValueError(fmt::format(
        "checkpoint: expected one within {} epochs, got one of epoch {}",
        options_.epochs, epoch + 1));
  }
  const int64_t steps = progress.at("steps").as_int();
  const int64_t total = options_.epochs * updates_;
  if (steps < 0 || steps > total ||
      schedule_fingerprint(options_.schedule, steps, total) !=
          progress.at("factors").as_int()) {
    throw ValueError(fmt::format(
        "checkpoint: expected one of this schedule over {} epochs, got one "
        "whose first {} steps had other factors",
        options_.epochs, steps));
  }
}

void FitCheckpoints::restore(Training& training, FitState& state) {
  const TrainingState saved = std::move(*std::exchange(found_, std::nullopt));
  const Config& progress = saved.progress;
  with_context(
      [&] {
        return fmt::format("in the checkpoints of '{}'",
                           options_.checkpoints->name());
      },
      [&] {
        restore_from(progress, state);
        OptimizerState optimizer{.steps = progress.at("steps").as_int()};
        if (const Config& rate = progress.at("rate"); !rate.is_null()) {
          optimizer.learning_rate = static_cast<float>(rate.as_number());
        }
        const OptimizerState fresh = training.optimizer().state();
        for (const Config& parameter : trained_parameters()) {
          const size_t slots = fresh.slots[optimizer.slots.size()].size();
          auto& tensors = optimizer.slots.emplace_back();
          for (size_t slot = 0; slot < slots; ++slot) {
            const auto at = saved.tensors.find(slot_path(parameter, slot));
            if (at == saved.tensors.end()) break;
            tensors.push_back(at->second);
          }
        }
        for (const auto& [name, callback] :
             stateful_callbacks(options_.callbacks)) {
          callback->restore({progress.at("callbacks").at(name),
                             below(callback_path(name), saved.tensors)},
                            state.progress);
        }
        training.optimizer().restore(optimizer);
        quant::restore(model_, saved.model);
        if (progress.at("stopped").as_bool()) training.stop();
      });
}

void FitCheckpoints::save(const Training& training,
                          const FitState& state) const {
  const OptimizerState optimizer = training.optimizer().state();
  TrainingState saved{.model = quant::state_of(model_),
                      .fingerprint = fingerprint_};
  saved.progress = to_config(state);
  saved.progress.set("stopped", training.stopped())
      .set("steps", optimizer.steps)
      .set("rate", optimizer.learning_rate ? Config(*optimizer.learning_rate)
                                           : Config());
  const Config::List& parameters = trained_parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    for (size_t slot = 0; slot < optimizer.slots[i].size(); ++slot) {
      saved.tensors.emplace(slot_path(parameters[i], slot),
                            optimizer.slots[i][slot]);
    }
  }
  Config callbacks(Config::Object{});
  for (const auto& [name, callback] : stateful_callbacks(options_.callbacks)) {
    State own = callback->state();
    callbacks.set(name, std::move(own.values));
    for (auto& [tensor, value] : own.tensors) {
      saved.tensors.emplace(callback_path(name) + tensor, std::move(value));
    }
  }
  saved.progress.set("callbacks", std::move(callbacks));
  options_.checkpoints->save(saved);
}

void FitCheckpoints::save_or_warn(const Training& training,
                                  const FitState& state) {
  saved_ = false;
  try {
    save(training, state);
    saved_ = true;
  } catch (const IoError& error) {
    warn(fmt::format("fit: cannot save a checkpoint, going on without it: {}",
                     error.what()));
  }
}

void FitCheckpoints::begin(const Training& training, const FitState& state) {
  if (options_.checkpoints != nullptr) save(training, state);
}

void FitCheckpoints::after_step(const Training& training, const FitState& state,
                                bool always) {
  if (options_.checkpoints == nullptr) return;
  if (always || options_.checkpoints->wanted(training.optimizer().steps())) {
    save_or_warn(training, state);
  }
}

void FitCheckpoints::after_epoch(const Training& training,
                                 const FitState& state) {
  if (options_.checkpoints != nullptr) save_or_warn(training, state);
}

}  // namespace octet::train
