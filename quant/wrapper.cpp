#include <algorithm>
#include <limits>
#include <unordered_set>

#include <fmt/format.h>

#include <octet/layers/onnx_builder.h>
#include <octet/quant/wrapper.h>
#include <octet/quant/wrapper_registry.h>
#include <octet/runtime/error.h>

namespace octet::quant {
namespace {

// Training asks for the grids of quantizers that are switched on, export for
// all of them.
class Hook final : public QuantizeHook {
 public:
  Hook(std::span<const QuantStub> stubs,
       std::span<const WeightFakeQuantize> weights, bool exporting)
      : stubs_(stubs), weights_(weights), exporting_(exporting) {}

  std::optional<Grid> grid(const Parameter& parameter) const override {
    for (const WeightFakeQuantize& weight : weights_) {
      if (weight.parameter != parameter.name) continue;
      const Quantizer& quantizer = *weight.quantizer;
      if (!exporting_) {
        quantizer.observe(parameter.variable);
        if (!quantizer.rounds()) return std::nullopt;
      }
      return quantizer.weight_grid(parameter.variable, parameter.channel_axis);
    }
    return std::nullopt;
  }

  Variable inner(std::string_view name, const Variable& x) const override {
    const Quantizer* quantizer = inner_quantizer(name);
    return quantizer != nullptr ? (*quantizer)(x) : x;
  }
  std::optional<Pair> inner(std::string_view name) const override {
    const Quantizer* quantizer = inner_quantizer(name);
    if (quantizer == nullptr) return std::nullopt;
    return Pair{quantizer->name(), quantizer->grid({}, -1)};
  }

 private:
  const Quantizer* inner_quantizer(std::string_view name) const {
    for (const QuantStub& stub : stubs_) {
      const QdqSite& site = stub.site;
      if (site.kind == SiteKind::inner && site.parameter == name) {
        return stub.quantizer.get();
      }
    }
    return nullptr;
  }

  std::span<const QuantStub> stubs_;
  std::span<const WeightFakeQuantize> weights_;
  bool exporting_;
};

Config to_config(const Quantizer& quantizer) {
  const QuantizerConfig& c = quantizer.config();
  Config config;
  config.set("name", quantizer.name())
      .set("bits", c.bits)
      .set("narrow_range", c.narrow_range)
      .set("per_channel", c.per_channel)
      .set("rule", c.rule == ScaleRule::live ? "live" : "fixed");
  if (quantizer.scale()) {
    config.set("scale", *quantizer.scale());
  } else if (const auto scales = quantizer.scales(); !scales.empty()) {
    config.set("scales", Config::List(scales.begin(), scales.end()));
  }
  return config;
}

void expect_indices(const QdqRequest& request, int inputs) {
  for (const int index : request.quantization_index) {
    if (index >= 0 && index < inputs) continue;
    throw ValueError(fmt::format(
        "expected quantization_index in [0,{}), got {}", inputs, index));
  }
}

// Inputs in ascending order, then the inner tensor, then the output.
int order(const QdqSite& site) {
  constexpr int kLast = std::numeric_limits<int>::max();
  if (site.kind == SiteKind::output) return kLast;
  return site.kind == SiteKind::inner ? kLast - 1 : site.index;
}

}  // namespace

BaseQuantizeWrapper::BaseQuantizeWrapper(std::shared_ptr<Layer> inner)
    : inner_(std::move(inner)) {
  if (inner_ == nullptr) {
    throw ValueError("quantize wrapper: expected a layer, got none");
  }
  if (as_wrapper(*inner_) != nullptr) {
    throw ValueError(fmt::format(
        "quantize wrapper: expected a plain layer, got the wrapper '{}'",
        inner_->name()));
  }
}

std::vector<QdqSite> BaseQuantizeWrapper::sites(const QdqRequest&, int) const {
  return {};
}

void BaseQuantizeWrapper::attach(const QdqSite& site,
                                 std::shared_ptr<Quantizer> quantizer,
                                 std::string rule, std::string reason) {
  const std::string where = to_string(site);
  if (quantizer == nullptr) {
    throw ValueError(fmt::format(
        "quantize wrapper: expected a quantizer for {}, got none", where));
  }
  if (site.kind == SiteKind::weight) {
    const auto at = std::ranges::find(
        weights_, site.parameter,
        [](const WeightFakeQuantize& w) -> const auto& { return w.parameter; });
    WeightFakeQuantize weight{site.parameter, std::move(quantizer),
                              std::move(rule), std::move(reason)};
    if (at == weights_.end()) {
      weights_.push_back(std::move(weight));
    } else {
      *at = std::move(weight);
    }
    return;
  }
  if (site.index < 0) {
    throw ValueError(
        fmt::format("quantize wrapper: expected an input >= 0, got {}", where));
  }
  const QuantizerConfig& config = quantizer->config();
  if (config.rule == ScaleRule::live || config.per_channel) {
    throw UnsupportedError(fmt::format(
        "quantize wrapper: expected a fixed per-tensor scale for {}, got a "
        "live or per-channel one",
        where));
  }
  QuantStub stub{site, std::move(quantizer), std::move(rule),
                 std::move(reason)};
  const auto at = std::ranges::lower_bound(
      stubs_, order(site), {},
      [](const QuantStub& s) { return order(s.site); });
  if (at != stubs_.end() && at->site == site) {
    *at = std::move(stub);
  } else {
    stubs_.insert(at, std::move(stub));
  }
}

std::string BaseQuantizeWrapper::class_name() const {
  return inner_->class_name() + "QuantizeWrapper";
}

Config BaseQuantizeWrapper::config() const {
  Config::List stubs;
  for (const QuantStub& stub : stubs_) {
    stubs.push_back(
        to_config(*stub.quantizer).set("site", to_string(stub.site)));
  }
  Config::List weights;
  for (const WeightFakeQuantize& weight : weights_) {
    weights.push_back(
        to_config(*weight.quantizer).set("parameter", weight.parameter));
  }
  return Config()
      .set("class_name", inner_->class_name())
      .set("config", inner_->config())
      .set("stubs", std::move(stubs))
      .set("weights", std::move(weights));
}

Shape BaseQuantizeWrapper::output_shape(std::span<const Shape> inputs) const {
  for (const QuantStub& stub : stubs_) {
    if (stub.site.kind == SiteKind::input &&
        static_cast<size_t>(stub.site.index) >= inputs.size()) {
      throw ValueError(
          fmt::format("quantized input: expected an index in [0,{}), got {}",
                      inputs.size(), stub.site.index));
    }
  }
  return inner_->output_shape(inputs);
}

void BaseQuantizeWrapper::build(std::span<const Shape> inputs) {
  inner_->build_once(inputs);
  for (const WeightFakeQuantize& weight : weights_) {
    (void)inner_->parameter(weight.parameter);
  }
  for (const QuantStub& stub : stubs_) {
    if (stub.site.kind == SiteKind::inner) {
      expect_inner(*inner_, stub.site.parameter);
    }
  }
}

void BaseQuantizeWrapper::initialize_once(const Rng& rng) {
  // The stream of each parameter is named after its layer.
  if (inner_->name().empty()) inner_->set_name(name());
  inner_->initialize_once(rng);
}

void BaseQuantizeWrapper::copy_parameters(const Layer& from) {
  inner_->copy_parameters(from);
}

void BaseQuantizeWrapper::share_parameters(const Layer& from) {
  inner_->share_parameters(from);
}

Variable BaseQuantizeWrapper::forward(const ForwardContext& context,
                                      std::span<const Variable> inputs) const {
  std::vector<Variable> quantized(inputs.begin(), inputs.end());
  for (const QuantStub& stub : stubs_) {
    if (stub.site.kind != SiteKind::input) continue;
    Variable& x = quantized[static_cast<size_t>(stub.site.index)];
    x = (*stub.quantizer)(x);
  }
  const Hook hook(stubs_, weights_, false);
  ForwardContext inner = context;
  inner.hook = &hook;
  const Variable y = inner_->forward(inner, quantized);
  const bool last =
      !stubs_.empty() && stubs_.back().site.kind == SiteKind::output;
  return last ? (*stubs_.back().quantizer)(y) : y;
}

OnnxValue BaseQuantizeWrapper::emit(EmitContext& context,
                                    std::span<const OnnxValue> inputs) const {
  const auto add_qdq = [&](OnnxValue& x, const Quantizer& quantizer) {
    x.name = context.builder().add_qdq(x.name, quantizer.name(),
                                       quantizer.grid({}, -1));
  };
  std::vector<OnnxValue> quantized(inputs.begin(), inputs.end());
  for (const QuantStub& stub : stubs_) {
    if (stub.site.kind != SiteKind::input) continue;
    add_qdq(quantized[static_cast<size_t>(stub.site.index)], *stub.quantizer);
  }
  const Hook hook(stubs_, weights_, true);
  EmitContext inner = context.with_hook(&hook);
  OnnxValue y = inner_->emit(inner, quantized);
  if (!stubs_.empty() && stubs_.back().site.kind == SiteKind::output) {
    add_qdq(y, *stubs_.back().quantizer);
  }
  return y;
}

std::shared_ptr<Layer> BaseQuantizeWrapper::clone(CloneContext& context) const {
  const auto copy_of = [&](const std::shared_ptr<Quantizer>& quantizer) {
    return context.shared(*quantizer, [&] { return quantizer->clone(); });
  };
  const auto copy = make_wrapper(inner_->clone(context));
  for (const QuantStub& stub : stubs_) {
    copy->attach(stub.site, copy_of(stub.quantizer), stub.rule, stub.reason);
  }
  for (const WeightFakeQuantize& weight : weights_) {
    copy->attach(QdqSite::weight(weight.parameter), copy_of(weight.quantizer),
                 weight.rule, weight.reason);
  }
  copy->set_name(name());
  return copy;
}

int64_t BaseQuantizeWrapper::multiply_adds(
    std::span<const Shape> inputs) const {
  return inner_->multiply_adds(inputs);
}

bool BaseQuantizeWrapper::observing() const {
  const auto observes = [](const auto& site) {
    return site.quantizer->observing();
  };
  return std::ranges::any_of(stubs_, observes) ||
         std::ranges::any_of(weights_, observes);
}

void BaseQuantizeWrapper::set_trainable(bool trainable) {
  inner_->set_trainable(trainable);
}

bool BaseQuantizeWrapper::trainable() const { return inner_->trainable(); }

void BaseQuantizeWrapper::freeze_statistics(bool frozen) {
  inner_->freeze_statistics(frozen);
}

bool BaseQuantizeWrapper::statistics_frozen() const {
  return inner_->statistics_frozen();
}

const std::shared_ptr<bool>& BaseQuantizeWrapper::shared_statistics_flag()
    const {
  return inner_->shared_statistics_flag();
}

std::span<const Parameter> BaseQuantizeWrapper::parameters() const {
  return inner_->parameters();
}

std::vector<QdqSite> NonWeightedBaseQuantizeWrapper::sites(
    const QdqRequest& request, int inputs) const {
  if (!request.quantize_input) return {};
  expect_indices(request, std::min(inputs, 1));
  return {QdqSite::input(0)};
}

WeightedBaseQuantizeWrapper::WeightedBaseQuantizeWrapper(
    std::shared_ptr<Layer> inner, std::string kernel_type,
    std::vector<std::string> more)
    : BaseQuantizeWrapper(std::move(inner)),
      kernel_types_{std::move(kernel_type)} {
  kernel_types_.insert(kernel_types_.end(), more.begin(), more.end());
}

std::vector<QdqSite> WeightedBaseQuantizeWrapper::sites(
    const QdqRequest& request, int inputs) const {
  std::vector<QdqSite> result;
  if (request.quantize_input) {
    expect_indices(request, std::min(inputs, 1));
    result.push_back(QdqSite::input(0));
    // The data of the second product is quantized as that of the first is.
    const std::string_view between = inner_tensor(inner());
    if (!between.empty()) {
      result.push_back(QdqSite::inner(std::string(between)));
    }
  }
  if (request.quantize_weight) {
    for (const std::string& kernel : kernel_types_) {
      result.push_back(QdqSite::weight(kernel));
    }
  }
  return result;
}

std::vector<QdqSite> MultiInputBaseQuantizeWrapper::sites(
    const QdqRequest& request, int inputs) const {
  if (!request.quantize_input) return {};
  expect_indices(request, inputs);
  std::vector<QdqSite> result;
  for (int i = 0; i < inputs; ++i) {
    if (request.quantization_index.empty() ||
        std::ranges::find(request.quantization_index, i) !=
            request.quantization_index.end()) {
      result.push_back(QdqSite::input(i));
    }
  }
  return result;
}

const BaseQuantizeWrapper* as_wrapper(const Layer& layer) {
  return dynamic_cast<const BaseQuantizeWrapper*>(&layer);
}

std::vector<std::shared_ptr<Quantizer>> quantizers(const Model& model) {
  std::vector<std::shared_ptr<Quantizer>> result;
  std::unordered_set<const Quantizer*> known;
  const auto add = [&](const std::shared_ptr<Quantizer>& quantizer) {
    if (known.insert(quantizer.get()).second) result.push_back(quantizer);
  };
  for (const auto& layer : model.layers()) {
    const BaseQuantizeWrapper* wrapper = as_wrapper(*layer);
    if (wrapper == nullptr) continue;
    for (const QuantStub& stub : wrapper->stubs()) add(stub.quantizer);
    for (const auto& weight : wrapper->weights()) add(weight.quantizer);
  }
  return result;
}

std::vector<QuantStub> quant_stubs(const Model& model) {
  std::vector<QuantStub> result;
  for (const auto& layer : model.layers()) {
    const BaseQuantizeWrapper* wrapper = as_wrapper(*layer);
    if (wrapper == nullptr) continue;
    const auto stubs = wrapper->stubs();
    result.insert(result.end(), stubs.begin(), stubs.end());
  }
  return result;
}

std::vector<WeightFakeQuantize> weight_fake_quantizes(const Model& model) {
  std::vector<WeightFakeQuantize> result;
  for (const auto& layer : model.layers()) {
    const BaseQuantizeWrapper* wrapper = as_wrapper(*layer);
    if (wrapper == nullptr) continue;
    const auto weights = wrapper->weights();
    result.insert(result.end(), weights.begin(), weights.end());
  }
  return result;
}

}  // namespace octet::quant
