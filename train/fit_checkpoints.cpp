#include "fit_checkpoints.h"

#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "differences.h"
#include "fit_setup.h"
#include "fit_standing.h"
#include "named_parameters.h"

namespace octet::train {
namespace {

/// The callbacks that have a state, each under a name of its own.
std::vector<std::pair<std::string, Callback*>> keepers(
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

std::string slot_path(const NamedParameter& parameter, size_t slot) {
  return fmt::format("optimizer/{}/{}", parameter.name, slot);
}

/// Those that a fit moves, in the order in which it attaches them.
std::vector<NamedParameter> moved_parameters(const Config& setup,
                                             const Model& model) {
  const Config::List& names = setup.at("parameters").as_list();
  std::vector<NamedParameter> moved;
  for (NamedParameter& each : named_parameters(model)) {
    if (moved.size() < names.size() &&
        names[moved.size()].as_string() == each.name) {
      moved.push_back(std::move(each));
    }
  }
  return moved;
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

FitCheckpoints::FitCheckpoints(const Model& model, const FitOptions& options,
                               const Parts& parts, int64_t batch_size,
                               const Metrics& metrics, int64_t updates)
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
  setup_ = setup_of(model, options, parts, batch_size, metrics);
  if (!options.resume) return;
  state_ = place.latest();
  if (!state_) return;
  with_context(
      [&] { return fmt::format("in the checkpoints of '{}'", place.name()); },
      [&] { check(*state_); });
}

void FitCheckpoints::check(const TrainingState& state) const {
  std::vector<std::string> found = differences(
      Config().set("model", comparable(state.model)).set("fit", state.setup),
      Config()
          .set("model", comparable(quant::state_of(model_)))
          .set("fit", setup_));
  if (!found.empty()) {
    throw ValueError(
        fmt::format("checkpoint: expected one of this model, data and options, "
                    "got another ({})",
                    list_of(found)));
  }
  check_standing(state.progress);
}

/// What has been done must be what this fit would have done.
void FitCheckpoints::check_standing(const Config& progress) const {
  const int64_t epoch = progress.at("epoch").as_int();
  if (epoch < 0 || epoch >= options_.epochs) {
    throw ValueError(fmt::format(
        "checkpoint: expected one within {} epochs, got one of epoch {}",
        options_.epochs, epoch + 1));
  }
  const int64_t steps = progress.at("steps").as_int();
  const int64_t total = options_.epochs * updates_;
  if (steps < 0 || steps > total ||
      digest_of(options_.schedule, steps, total) !=
          progress.at("factors").as_int()) {
    throw ValueError(fmt::format(
        "checkpoint: expected one of this schedule over {} epochs, got one "
        "whose first {} steps had other factors",
        options_.epochs, steps));
  }
}

void FitCheckpoints::restore(Training& training, Standing& standing) {
  const TrainingState state = std::move(*std::exchange(state_, std::nullopt));
  const Config& progress = state.progress;
  with_context(
      [&] {
        return fmt::format("in the checkpoints of '{}'",
                           options_.checkpoints->name());
      },
      [&] {
        standing_from(progress, standing);
        OptimizerState optimizer{.steps = progress.at("steps").as_int()};
        if (const Config& rate = progress.at("rate"); !rate.is_null()) {
          optimizer.learning_rate = static_cast<float>(rate.as_number());
        }
        const OptimizerState fresh = training.optimizer().state();
        for (const NamedParameter& moved : moved_parameters(setup_, model_)) {
          const size_t slots = fresh.slots[optimizer.slots.size()].size();
          auto& tensors = optimizer.slots.emplace_back();
          for (size_t slot = 0; slot < slots; ++slot) {
            const auto found = state.tensors.find(slot_path(moved, slot));
            if (found == state.tensors.end()) break;
            tensors.push_back(found->second);
          }
        }
        for (const auto& [name, callback] : keepers(options_.callbacks)) {
          callback->restore({progress.at("callbacks").at(name),
                             below(callback_path(name), state.tensors)},
                            standing.progress);
        }
        training.optimizer().restore(optimizer);
        quant::restore(model_, state.model);
        if (progress.at("stopped").as_bool()) training.stop();
      });
}

void FitCheckpoints::save(const Training& training,
                          const Standing& standing) const {
  const OptimizerState optimizer = training.optimizer().state();
  TrainingState state{.model = quant::state_of(model_), .setup = setup_};
  state.progress = to_config(standing);
  state.progress.set("stopped", training.stopped())
      .set("steps", optimizer.steps)
      .set("rate", optimizer.learning_rate ? Config(*optimizer.learning_rate)
                                           : Config());
  const std::vector<NamedParameter> moved = moved_parameters(setup_, model_);
  for (size_t i = 0; i < moved.size(); ++i) {
    for (size_t slot = 0; slot < optimizer.slots[i].size(); ++slot) {
      state.tensors.emplace(slot_path(moved[i], slot),
                            optimizer.slots[i][slot]);
    }
  }
  Config callbacks(Config::Object{});
  for (const auto& [name, callback] : keepers(options_.callbacks)) {
    State remembered = callback->state();
    callbacks.set(name, std::move(remembered.values));
    for (auto& [tensor, value] : remembered.tensors) {
      state.tensors.emplace(callback_path(name) + tensor, std::move(value));
    }
  }
  state.progress.set("callbacks", std::move(callbacks));
  options_.checkpoints->save(state);
}

void FitCheckpoints::save_or_warn(const Training& training,
                                  const Standing& standing) const {
  try {
    save(training, standing);
  } catch (const IoError& error) {
    warn(fmt::format("fit: cannot save a checkpoint, going on without it: {}",
                     error.what()));
  }
}

void FitCheckpoints::begin(const Training& training, const Standing& standing) {
  if (options_.checkpoints != nullptr) save(training, standing);
}

void FitCheckpoints::after_step(const Training& training,
                                const Standing& standing) {
  if (options_.checkpoints == nullptr) return;
  if (!options_.checkpoints->wanted(training.optimizer().steps())) return;
  save_or_warn(training, standing);
}

void FitCheckpoints::after_epoch(const Training& training,
                                 const Standing& standing) {
  if (options_.checkpoints != nullptr) save_or_warn(training, standing);
}

}  // namespace octet::train
