#include "fit_setup.h"

#include <utility>

#include <fmt/format.h>

#include <octet/train/loader.h>

#include "digest.h"
#include "named_parameters.h"

namespace octet::train {
namespace {

Config::List names_of(const Metrics& metrics) {
  Config::List names;
  for (const Metric& metric : metrics) names.emplace_back(metric.name);
  return names;
}

Config::List names_of(const Callbacks& callbacks) {
  Config::List names;
  for (const auto& callback : callbacks) {
    std::string name = callback->state_name();
    if (!name.empty()) names.emplace_back(std::move(name));
  }
  return names;
}

/// Of the first batch as it is trained on: data, seed, batch size and
/// augmentation at once.
Config data_of(const FitOptions& options, const Parts& parts,
               int64_t batch_size) {
  Digest first;
  first.add(Loader(parts.training, {.batch_size = batch_size,
                                    .seed = options.seed,
                                    .augmentation = options.augmentation})
                .batch(0));
  Config config;
  config.set("samples", parts.training.size())
      .set("digest of the first batch", first.value());
  if (parts.validation) {
    Digest sample;
    sample.add(parts.validation->batch(0, 1));
    config.set("validation samples", parts.validation->size())
        .set("digest of the first validation sample", sample.value());
  }
  return config;
}

}  // namespace

Config setup_of(const Model& model, const FitOptions& options,
                const Parts& parts, int64_t batch_size,
                const Metrics& metrics) {
  Config::List moved;
  for (const auto& [name, parameter] : named_parameters(model)) {
    if (parameter.trainable && parameter.variable.requires_grad()) {
      moved.emplace_back(name);
    }
  }
  return Config()
      .set("batch_size", batch_size)
      .set("seed", static_cast<int64_t>(options.seed))
      .set("accumulate", options.accumulate)
      .set("clip_norm", options.clip_norm)
      .set("clip_value", options.clip_value)
      .set("class_weights", Config::List(options.class_weights.begin(),
                                         options.class_weights.end()))
      .set("loss", options.loss.name())
      .set("metrics", names_of(metrics))
      .set("optimizer", options.optimizer.config())
      .set("callbacks", names_of(options.callbacks))
      .set("data", data_of(options, parts, batch_size))
      .set("parameters", std::move(moved));
}

Config comparable(const quant::ModelState& model) {
  Config plan = model.plan;
  if (!plan.is_null()) {
    Config::List points = plan.at("plan").as_list();
    for (Config& point : points) {
      point.set("rule", Config()).set("reason", Config());
      const Config& site = point.at("site");
      const Config* which = point.find("index");
      if (which == nullptr) which = point.find("parameter");
      // A name to tell it by.
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

int64_t digest_of(const Schedule& schedule, int64_t count, int64_t total) {
  Digest digest;
  for (int64_t step = 0; step < count; ++step) {
    digest.add(schedule(step, total));
  }
  return digest.value();
}

}  // namespace octet::train
