#include "checkpoints.h"

#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "distributed/all_gather_or_throw.h"
#include "distributed/bytes.h"
#include "fingerprint.h"
#include "packed_state.h"

namespace octet::train {
namespace {

std::string callback_path(const std::string& name) {
  return fmt::format("callbacks/{}/", name);
}

std::string slot_path(const Config& parameter, size_t slot) {
  return fmt::format("optimizer/{}/{}", parameter.as_string(), slot);
}

/// Returns the tensors whose names begin with `path`, without that prefix.
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
                               const TrainedOutputs& trained, int64_t updates,
                               Communicator& ranks)
    : model_(model), options_(options), updates_(updates), ranks_(ranks) {
  if (options.checkpoints == nullptr) return;
  run_on_all(ranks_, [&] {
    if (ranks_.rank() == 0) look_for_state(*options.checkpoints);
    fingerprint_ = fit_fingerprint(model, options, data, batch_size, trained);
  });
  if (ranks_.size() > 1) {
    const std::string found =
        ranks_.broadcast(0, found_ ? pack(*found_) : std::string());
    if (!found.empty()) found_ = unpack(found);
  }
  if (!found_) return;
  with_context(
      [&] {
        return fmt::format("in the checkpoints of '{}'",
                           options.checkpoints->name());
      },
      [&] { check(*found_); });
}

void FitCheckpoints::look_for_state(const Checkpointer& place) {
  claim_ = options_.checkpoints->claim();
  if (!options_.resume && !place.empty()) {
    throw ValueError(
        "invalid_state", "fit",
        fmt::format("'{}' already has checkpoints of a fit. Hint: set .resume "
                    "= true to continue it, or choose another folder",
                    place.name()));
  }
  if (options_.resume) found_ = place.latest();
}

/// Returns the callbacks of this rank that have a state, with unique names.
std::vector<std::pair<std::string, Callback*>>
FitCheckpoints::stateful_callbacks() const {
  std::vector<std::pair<std::string, Callback*>> result;
  size_t number = 0;
  for (const auto& callback : options_.callbacks) {
    const std::string name = callback->state_name();
    if (name.empty()) continue;
    std::string numbered = fmt::format("{}.{}", name, number++);
    if (ranks_.rank() > 0 && callback->on_first_rank_only()) continue;
    result.emplace_back(std::move(numbered), callback.get());
  }
  return result;
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
        "conflicting_options", "checkpoint",
        fmt::format("belongs to a different model, data or options ({})",
                    found));
  }
  check_progress(saved.progress);
}

/// Checks that this fit would have performed the completed steps identically.
void FitCheckpoints::check_progress(const Config& progress) const {
  const int64_t epoch = progress.at("epoch").as_int();
  if (epoch < 0 || epoch >= options_.epochs) {
    throw ValueError("out_of_range", "checkpoint",
                     fmt::format("epoch {} is beyond the {} epochs of this fit",
                                 epoch + 1, options_.epochs));
  }
  const int64_t steps = progress.at("steps").as_int();
  const int64_t total = options_.epochs * updates_;
  if (steps < 0 || steps > total ||
      schedule_fingerprint(options_.schedule, steps, total) !=
          progress.at("factors").as_int()) {
    throw ValueError(
        "conflicting_options", "checkpoint",
        fmt::format("its first {} steps had a different schedule than this fit "
                    "over {} epochs",
                    steps, options_.epochs));
  }
}

void FitCheckpoints::restore(Training& training, FitState& state,
                             size_t first_owned) {
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
        for (size_t i = 0; i < fresh.slots.size(); ++i) {
          const Config& parameter = trained_parameters().at(first_owned + i);
          auto& tensors = optimizer.slots.emplace_back();
          for (size_t slot = 0; slot < fresh.slots[i].size(); ++slot) {
            const auto at = saved.tensors.find(slot_path(parameter, slot));
            if (at == saved.tensors.end()) break;
            tensors.push_back(at->second);
          }
        }
        for (const auto& [name, callback] : stateful_callbacks()) {
          callback->restore({progress.at("callbacks").at(name),
                             below(callback_path(name), saved.tensors)},
                            state.progress);
        }
        training.optimizer().restore(optimizer);
        quant::restore(model_, saved.model);
        if (progress.at("stopped").as_bool()) training.stop();
      });
}

/// Gathers the optimizer slots of all ranks, each of which has the slots of its
/// own parameters, in order.
NamedTensors FitCheckpoints::slots_of_all_ranks(
    const OptimizerState& optimizer) const {
  NamedTensors result;
  const Config::List& parameters = trained_parameters();
  size_t parameter = 0;
  const auto take = [&](const std::vector<Tensor>& slots) {
    const Config& name = parameters.at(parameter++);
    for (size_t i = 0; i < slots.size(); ++i) {
      result.emplace(slot_path(name, i), slots[i]);
    }
  };
  if (ranks_.size() == 1) {
    for (const std::vector<Tensor>& slots : optimizer.slots) take(slots);
    return result;
  }
  BytesWriter own;
  for (const std::vector<Tensor>& slots : optimizer.slots) {
    own.add_value(uint64_t{slots.size()});
    for (const Tensor& slot : slots) own.add_tensor(slot);
  }
  for (const std::string& text : ranks_.gather_at(0, own.take())) {
    BytesReader bytes(text);
    while (!bytes.at_end()) {
      std::vector<Tensor> slots;
      for (auto left = bytes.value<uint64_t>(); left > 0; --left) {
        slots.push_back(bytes.tensor());
      }
      take(slots);
    }
  }
  return result;
}

void FitCheckpoints::save(const Training& training,
                          const FitState& state) const {
  const OptimizerState optimizer = training.optimizer().state();
  NamedTensors slots = slots_of_all_ranks(optimizer);
  run_on_all(ranks_, [&] {
    if (ranks_.rank() > 0) return;
    TrainingState saved{.model = quant::state_of(model_),
                        .fingerprint = fingerprint_,
                        .tensors = std::move(slots)};
    saved.progress = to_config(state);
    saved.progress.set("stopped", training.stopped())
        .set("steps", optimizer.steps)
        .set("rate", optimizer.learning_rate ? Config(*optimizer.learning_rate)
                                             : Config());
    Config callbacks(Config::Object{});
    for (const auto& [name, callback] : stateful_callbacks()) {
      CallbackState own = callback->state();
      callbacks.set(name, std::move(own.values));
      for (auto& [tensor, value] : own.tensors) {
        saved.tensors.emplace(callback_path(name) + tensor, std::move(value));
      }
    }
    saved.progress.set("callbacks", std::move(callbacks));
    options_.checkpoints->save(saved);
  });
}

void FitCheckpoints::begin(const Training& training, const FitState& state) {
  if (options_.checkpoints != nullptr) save(training, state);
}

bool FitCheckpoints::wanted(const Training& training) const {
  return options_.checkpoints != nullptr &&
         options_.checkpoints->wanted(training.optimizer().steps());
}

void FitCheckpoints::keep(const Training& training, const FitState& state) {
  if (options_.checkpoints == nullptr) return;
  saved_ = false;
  try {
    save(training, state);
    saved_ = true;
  } catch (const IoError& error) {
    warn("checkpoint_not_saved", "fit",
         fmt::format("cannot save a checkpoint, training continues: {}",
                     error.what()));
  }
}

}  // namespace octet::train
