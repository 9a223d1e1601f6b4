#include "fingerprint.h"

#include <utility>

#include <fmt/format.h>

#include <octet/runtime/detail/fnv1a.h>
#include <octet/train/data_loader.h>

#include "fit_state.h"

namespace octet::train {
namespace {

Config::List names_of(const std::vector<std::string>& values) {
  return {values.begin(), values.end()};
}

/// Returns the name of the loss; for several outputs, a list of output, loss
/// and weight.
Config loss_fingerprint(const TrainedOutputs& trained) {
  const std::vector<TrainedOutput>& all = trained.all();
  if (all.size() == 1 && all[0].weight == 1.0f) return all[0].loss.name();
  Config::List losses;
  for (const TrainedOutput& output : all) {
    losses.push_back(Config()
                         .set("name", output.name)
                         .set("loss", output.loss.name())
                         .set("weight", output.weight));
  }
  return losses;
}

Config::List names_of(const Callbacks& callbacks) {
  Config::List names;
  for (const auto& callback : callbacks) {
    std::string name = callback->state_name();
    if (!name.empty()) names.emplace_back(std::move(name));
  }
  return names;
}

void add(Fnv1a& hash, const Tensor& tensor) {
  if (tensor.empty()) return;
  hash.add(std::as_bytes(tensor.shape().dims()));
  hash.add(std::span(static_cast<const std::byte*>(tensor.raw()),
                     static_cast<size_t>(tensor.bytes())));
}

int64_t hash_of(const Batch& batch) {
  Fnv1a hash;
  for (const Tensor& input : batch.inputs) add(hash, input);
  for (const Tensor& label : batch.labels) add(hash, label);
  add(hash, batch.weights);
  return static_cast<int64_t>(hash.value());
}

int64_t hash_of(const Model& model) {
  Fnv1a hash;
  for (const auto& [name, parameter] : named_parameters(model)) {
    add(hash, parameter.variable.value());
  }
  return static_cast<int64_t>(hash.value());
}

/// The first training batch reflects data, seed, batch size and augmentation.
Config data_fingerprint(const FitOptions& options, const DataSplit& data,
                        int64_t batch_size) {
  const EpochLoader loader(data.training,
                           {.batch_size = batch_size,
                            .seed = options.seed,
                            .augmentation = options.augmentation});
  Config config;
  config.set("samples", data.training.size())
      .set("digest of the first batch", hash_of(loader.batch(0)));
  if (data.validation) {
    config.set("validation samples", data.validation->size())
        .set("digest of the first validation sample",
             hash_of(data.validation->batch(0, 1)));
  }
  return config;
}

}  // namespace

Config fit_fingerprint(const Model& model, const FitOptions& options,
                       const DataSplit& data, int64_t batch_size,
                       const TrainedOutputs& trained) {
  Config::List parameters;
  for (const auto& [name, parameter] : named_parameters(model)) {
    if (parameter.trainable && parameter.variable.requires_grad()) {
      parameters.emplace_back(name);
    }
  }
  Config config;
  config.set("batch_size", batch_size)
      .set("seed", static_cast<int64_t>(options.seed))
      .set("accumulate", options.accumulate)
      .set("clip_norm", options.clip_norm)
      .set("clip_value", options.clip_value)
      .set("gradient_norm", options.gradient_norm)
      .set("class_weights", Config::List(options.class_weights.begin(),
                                         options.class_weights.end()))
      .set("loss", loss_fingerprint(trained))
      .set("metrics", names_of(trained.value_names()))
      .set("optimizer", options.optimizer.config())
      .set("callbacks", names_of(options.callbacks))
      .set("data", data_fingerprint(options, data, batch_size))
      .set("digest of the weights before the fit", hash_of(model))
      .set("parameters", std::move(parameters));
  // Not in checkpoints of fits without it.
  if (options.preserve_zeros) config.set("preserve_zeros", true);
  // Not in checkpoints of fits without shards.
  if (const int64_t shards = shards_of(options); shards > 1) {
    config.set("shards", shards);
    if (options.batch_statistics == BatchStatistics::synchronized) {
      config.set("batch_statistics", "synchronized");
    }
  }
  return config;
}

Config model_fingerprint(const quant::ModelState& model) {
  Config plan = model.plan;
  if (!plan.is_null()) {
    Config::List points = plan.at("plan").as_list();
    for (Config& point : points) {
      point.set("rule", Config()).set("reason", Config());
      const Config& site = point.at("site");
      const Config* which = point.find("index");
      if (which == nullptr) which = point.find("parameter");
      // A name, by which differences() identifies the entry.
      point.set("name",
                fmt::format("{} {}", point.at("layer").as_string(),
                            site.as_string()) +
                    (which == nullptr  ? std::string()
                     : which->is_int() ? fmt::format(" {}", which->as_int())
                                       : " " + which->as_string()));
    }
    plan.set("plan", std::move(points));
  }
  return Config()
      .set("layers", model.graph.at("layers"))
      .set("calls", model.graph.at("calls"))
      .set("inputs", model.graph.at("inputs"))
      .set("outputs", model.graph.at("outputs"))
      .set("seed of the model", model.graph.at("seed"))
      .set("quantizers", std::move(plan));
}

int64_t schedule_fingerprint(const Schedule& schedule, int64_t count,
                             int64_t total) {
  Fnv1a hash;
  for (int64_t step = 0; step < count; ++step) {
    hash.add(schedule(step, total));
  }
  return static_cast<int64_t>(hash.value());
}

}  // namespace octet::train
