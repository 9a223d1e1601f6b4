// The callback oscillations().
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include <octet/quant/wrapper.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/train/callback.h>

#include "checks.h"

namespace octet::train {
namespace {

constexpr float kOscillates = 0.005f;  // arXiv 2203.11086, table 1

// A weight tensor and the oscillation state of each of its values.
struct Watched {
  std::shared_ptr<const quant::Quantizer> quantizer;
  Variable weight;
  int axis;
  Tensor code;       // quantized value after the last step
  Tensor direction;  // of its last change: -1, 0 (none yet) or 1
  Tensor frequency;
  Tensor mean;    // moving average of the quantized value
  Tensor frozen;  // 1: frozen, 0: not

  int64_t size() const { return code.size(); }
};

// Returns the tensors that belong to checkpoints, by name.
template <class W>
auto parts_of(W& each) {
  using NamedTensor = std::pair<const char*, decltype(&each.code)>;
  return std::vector<NamedTensor>{{"/code", &each.code},
                                  {"/direction", &each.direction},
                                  {"/frequency", &each.frequency},
                                  {"/mean", &each.mean},
                                  {"/frozen", &each.frozen}};
}

class Watch final : public Oscillations {
 public:
  explicit Watch(const OscillationOptions& options) : options_(options) {
    const auto check = [](const char* option, float value, bool zero) {
      if ((zero ? value >= 0 : value > 0) && value <= 1) return;
      throw ValueError("out_of_range", "oscillations",
                       fmt::format("{} must be in {}0, 1], got {}", option,
                                   zero ? "[" : "(", number_text(value)));
    };
    check("momentum", options.momentum, false);
    check("freeze_above", options.freeze_above, true);
    check("damping", options.damping, true);
  }

  void on_train_begin(const Progress& progress) override {
    watched_.clear();
    steps_ = 0;  // a fit attaches the optimizer anew
    const Model& model = std::as_const(*progress.training).model();
    for (const auto& layer : model.layers()) {
      const quant::BaseQuantizeWrapper* wrapper = quant::as_wrapper(*layer);
      if (wrapper == nullptr) continue;
      for (const quant::PlacedQuantizer& placed : wrapper->weights()) {
        const Parameter& parameter =
            wrapper->inner().parameter(placed.site.parameter);
        const bool moves = placed.quantizer->enabled() &&
                           parameter.variable.requires_grad() && !has(placed);
        if (!moves) continue;
        if (options_.freeze_above > 0 &&
            placed.quantizer->config().rule == quant::ScaleRule::live) {
          throw ValueError(
              "conflicting_options", "oscillations",
              fmt::format("freeze_above requires fixed or learned scales, but "
                          "'{}' has live scales. Hint: set .weight.rule = "
                          "quant::ScaleRule::learned in quantize_model(), or "
                          "use .damping",
                          placed.quantizer->name()));
        }
        watch(placed.quantizer, parameter);
      }
    }
    if (!watched_.empty()) return;
    throw ValueError(
        "not_quantized", "oscillations",
        fmt::format("model '{}' has no trainable quantized weights",
                    model.name()));
  }

  void on_step(const Progress& progress) override {
    // Batches that only accumulate gradients do not change parameters.
    const int64_t steps = progress.training->optimizer().steps();
    if (steps == steps_) return;
    steps_ = steps;
    const double done =
        static_cast<double>(progress.epoch * progress.steps + progress.step) /
        static_cast<double>(progress.epochs * progress.steps);
    const auto rising = static_cast<float>(
        (1 - std::cos(std::numbers::pi * std::min(done, 1.0))) / 2);
    const float limit = options_.freeze_above * (10 - 9 * rising);
    for (Watched& each : watched_) {
      update(each, options_.damping * rising, limit);
    }
  }

  std::vector<OscillationShare> shares() const override {
    std::vector<OscillationShare> result;
    for (const Watched& each : watched_) {
      result.push_back(
          {.quantizer = each.quantizer->name(),
           .weights = each.size(),
           .oscillating = std::ranges::count_if(
               each.frequency.f32(), [](float f) { return f > kOscillates; }),
           .frozen = std::ranges::count(each.frozen.f32(), 1.0f)});
    }
    return result;
  }

  std::string state_name() const override { return "oscillations"; }
  CallbackState state() const override {
    CallbackState result{Config()
                             .set("momentum", options_.momentum)
                             .set("freeze_above", options_.freeze_above)
                             .set("damping", options_.damping)
                             .set("steps", steps_),
                         {}};
    for (const Watched& each : watched_) {
      for (const auto& [name, tensor] : parts_of(each)) {
        result.tensors.emplace(each.quantizer->name() + name, *tensor);
      }
    }
    return result;
  }
  void restore(const CallbackState& state, const Progress&) override {
    const auto expect = [&](const char* option, float value) {
      const double kept = state.values.at(option).as_number();
      if (static_cast<float>(kept) == value) return;
      throw ValueError("conflicting_options", "oscillations",
                       fmt::format("{} is {}, but {} in the checkpoint", option,
                                   value, static_cast<float>(kept)));
    };
    expect("momentum", options_.momentum);
    expect("freeze_above", options_.freeze_above);
    expect("damping", options_.damping);
    steps_ = state.values.at("steps").as_int();
    for (Watched& each : watched_) {
      for (const auto& [name, tensor] : parts_of(each)) {
        const auto found = state.tensors.find(each.quantizer->name() + name);
        if (found == state.tensors.end() ||
            found->second.shape() != tensor->shape()) {
          throw ValueError(
              "missing_value", "oscillations",
              fmt::format("the checkpoint has no value of '{}{}' with shape {}",
                          each.quantizer->name(), name,
                          tensor->shape().to_string()));
        }
        *tensor = found->second.clone();
      }
    }
  }

 private:
  bool has(const quant::PlacedQuantizer& placed) const {
    return std::ranges::any_of(watched_, [&](const Watched& each) {
      return each.quantizer == placed.quantizer;
    });
  }

  void watch(std::shared_ptr<const quant::Quantizer> quantizer,
             const Parameter& parameter) {
    const Tensor& value = parameter.variable.value();
    const Shape& shape = value.shape();
    Watched each{.quantizer = std::move(quantizer),
                 .weight = parameter.variable,
                 .axis = parameter.channel_axis,
                 .code = Tensor(shape),
                 .direction = Tensor::zeros(shape),
                 .frequency = Tensor::zeros(shape),
                 .mean = Tensor(shape),
                 .frozen = Tensor::zeros(shape)};
    const QuantParams qparams = each.quantizer->qparams(value, each.axis);
    for_each(value, qparams, [&](size_t i, float w, float scale) {
      const float code = quantize(w, scale, qparams);
      each.code.f32()[i] = each.mean.f32()[i] = code;
    });
    watched_.push_back(std::move(each));
  }

  // body(index, value, scale), in parallel.
  template <class Body>
  static void for_each(const Tensor& value, const QuantParams& qparams,
                       Body body) {
    const ElementScales scales(value.shape(), qparams);
    const auto from = value.f32();
    parallel_chunks(value.size(), [&](int64_t first, int64_t last, int64_t) {
      for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last);
           ++i) {
        body(i, from[i], scales[i]);
      }
    });
  }

  void update(Watched& each, float damping, float limit) const {
    const Tensor before = each.weight.value();
    const QuantParams qparams = each.quantizer->qparams(before, each.axis);
    const bool changes = damping > 0 || options_.freeze_above > 0;
    Tensor after = changes ? before.clone() : Tensor();
    const float m = options_.momentum;
    const auto code = each.code.f32(), direction = each.direction.f32(),
               frequency = each.frequency.f32(), mean = each.mean.f32(),
               frozen = each.frozen.f32();
    const auto to = changes ? after.f32() : std::span<float>();
    for_each(before, qparams, [&](size_t i, float w, float scale) {
      if (frozen[i] != 0) {
        to[i] = scale * mean[i];
        return;
      }
      const float now = quantize(w, scale, qparams);
      const float change = now > code[i] ? 1.0f : now < code[i] ? -1.0f : 0.0f;
      const bool turned = change != 0 && change == -direction[i];
      frequency[i] += m * ((turned ? 1.0f : 0.0f) - frequency[i]);
      mean[i] += m * (now - mean[i]);
      if (change != 0) direction[i] = change;
      code[i] = now;
      if (options_.freeze_above > 0 && frequency[i] > limit) {
        frozen[i] = 1;
        code[i] = mean[i] = std::nearbyint(mean[i]);
        to[i] = scale * mean[i];
      } else if (damping > 0 && w > scale * static_cast<float>(qparams.low) &&
                 w < scale * static_cast<float>(qparams.high)) {
        to[i] = w + damping * (scale * now - w);
      }
    });
    if (changes) each.weight.assign(after);
  }

  OscillationOptions options_;
  std::vector<Watched> watched_;
  int64_t steps_ = 0;
};

}  // namespace

double Oscillations::share() const {
  int64_t weights = 0, oscillating = 0;
  for (const OscillationShare& each : shares()) {
    weights += each.weights;
    oscillating += each.oscillating;
  }
  return weights > 0
             ? static_cast<double>(oscillating) / static_cast<double>(weights)
             : 0;
}

std::string Oscillations::to_string() const {
  std::vector<OscillationShare> worst = shares();
  std::ranges::stable_sort(worst, [](const auto& a, const auto& b) {
    return a.oscillating * b.weights > b.oscillating * a.weights;
  });
  TextTable table({Align::left, Align::right, Align::right, Align::right});
  table.add_row({"quantizer", "weights", "oscillating", "frozen"});
  table.add_rule();
  for (const OscillationShare& each : worst) {
    const auto share = [&](int64_t count) {
      return fmt::format("{:.2f} %", 100.0 * static_cast<double>(count) /
                                         static_cast<double>(each.weights));
    };
    table.add_row({each.quantizer, group_digits(each.weights),
                   share(each.oscillating), share(each.frozen)});
  }
  return fmt::format("{:.2f} % of the weights oscillate\n\n{}", 100 * share(),
                     table.to_string());
}

std::shared_ptr<Oscillations> oscillations(const OscillationOptions& options) {
  return std::make_shared<Watch>(options);
}

}  // namespace octet::train
