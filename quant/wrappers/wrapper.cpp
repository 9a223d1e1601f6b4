#include <algorithm>
#include <bit>
#include <span>
#include <unordered_set>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/detail/fnv1a.h>
#include <octet/runtime/error.h>

namespace octet::quant {
namespace {

// Forward passes quantize through the hook; export requests the parameters of
// all quantizers, enabled or not.
class Hook final : public QuantizeHook {
 public:
  Hook(const BaseQuantizeWrapper& wrapper, Mode mode)
      : wrapper_(wrapper), mode_(mode) {}

  Variable weight(const Parameter& parameter) const override {
    const PlacedQuantizer* weight = at_weight(parameter);
    if (weight == nullptr) return parameter.variable;
    return weight->quantizer->weight(parameter.variable,
                                     parameter.channel_axis);
  }
  std::optional<QuantParams> qparams(
      const Parameter& parameter) const override {
    const PlacedQuantizer* weight = at_weight(parameter);
    if (weight == nullptr) return std::nullopt;
    return weight->quantizer->weight_qparams(parameter.variable,
                                             parameter.channel_axis);
  }

  Variable intermediate(std::string_view name,
                        const Variable& x) const override {
    const PlacedQuantizer* inner = at_inner(name);
    return inner != nullptr ? (*inner->quantizer)(x, mode_) : x;
  }
  std::optional<Pair> intermediate(std::string_view name) const override {
    const PlacedQuantizer* inner = at_inner(name);
    if (inner == nullptr) return std::nullopt;
    return Pair{inner->quantizer->name(), inner->quantizer->qparams({}, -1)};
  }

 private:
  const PlacedQuantizer* at_weight(const Parameter& parameter) const {
    return wrapper_.find(QdqSite::weight(parameter.name));
  }
  const PlacedQuantizer* at_inner(std::string_view name) const {
    return wrapper_.find(QdqSite::intermediate(std::string(name)));
  }

  const BaseQuantizeWrapper& wrapper_;
  Mode mode_;
};

Config to_config(const Quantizer& quantizer) {
  const QuantizerConfig& c = quantizer.config();
  Config config;
  config.set("name", quantizer.name());
  if (c.format != NumberFormat::integer) {
    config.set("format", to_string(c.format));
  }
  config.set("bits", c.bits)
      .set("narrow_range", c.narrow_range)
      .set("per_channel", c.per_channel)
      .set("rule", to_string(c.rule));
  if (c.block > 0) config.set("block", c.block);
  if (!c.is_signed) config.set("signed", false);
  if (c.zero_point != 0) config.set("zero_point", c.zero_point);
  if (c.asymmetric) config.set("asymmetric", true);
  if (c.constant_scale > 0) config.set("constant_scale", c.constant_scale);
  if (quantizer.scale()) {
    config.set("scale", *quantizer.scale());
  } else if (const auto scales = quantizer.scales(); !scales.empty()) {
    config.set("scales", Config::List(scales.begin(), scales.end()));
  }
  return config;
}

// Returns the quantizers of all wrappers selected by `select`.
template <class Select>
std::vector<PlacedQuantizer> placed_quantizers(const Model& model,
                                               Select select) {
  std::vector<PlacedQuantizer> result;
  for (const auto& layer : model.layers()) {
    const BaseQuantizeWrapper* wrapper = as_wrapper(*layer);
    if (wrapper == nullptr) continue;
    const std::span<const PlacedQuantizer> placed = select(*wrapper);
    result.insert(result.end(), placed.begin(), placed.end());
  }
  return result;
}

// Returns each quantizer once.
template <class Q>
std::vector<std::shared_ptr<Q>> distinct_quantizers(const Model& model) {
  std::vector<std::shared_ptr<Q>> result;
  std::unordered_set<const Quantizer*> known;
  for (const PlacedQuantizer& placed : placed_quantizers(
           model, [](const auto& wrapper) { return wrapper.quantizers(); })) {
    const auto& quantizer = placed.quantizer;
    if (known.insert(quantizer.get()).second) result.push_back(quantizer);
  }
  return result;
}

// Freezes weight scales of layers frozen before quantization: learned scales
// would change their quantized weights.
void freeze_weight_scales(const Layer& from, const Layer& inner,
                          std::span<const PlacedQuantizer> weights) {
  if (as_wrapper(from) != nullptr || inner.trainable()) return;
  for (const PlacedQuantizer& placed : weights) {
    placed.quantizer->set_frozen(true);
  }
}

}  // namespace

BaseQuantizeWrapper::BaseQuantizeWrapper(std::shared_ptr<Layer> inner)
    : inner_(std::move(inner)) {
  if (inner_ == nullptr) {
    throw ValueError("missing_value", "quantize wrapper",
                     "layer must not be null");
  }
  if (as_wrapper(*inner_) != nullptr) {
    throw ValueError(
        "already_quantized", "quantize wrapper",
        fmt::format("layer '{}' is a wrapper itself", inner_->name()));
  }
}

void BaseQuantizeWrapper::attach(PlacedQuantizer placed) {
  const QdqSite& at = placed.site;
  if (placed.quantizer == nullptr) {
    throw ValueError(
        "missing_value", "quantize wrapper",
        fmt::format("quantizer of {} must not be null", to_string(at)));
  }
  const bool is_weight = at.kind == SiteKind::weight;
  if (!is_weight && at.index < 0) {
    throw ValueError(
        "out_of_range", "quantize wrapper",
        fmt::format("input index must be >= 0, got {}", to_string(at)));
  }
  const QuantizerConfig& config = placed.quantizer->config();
  const std::string subject =
      fmt::format("quantize wrapper, {}", to_string(at));
  if (is_weight) {
    expect_for_weight(subject, config);
  } else {
    expect_for_activation(subject, config);
  }
  ++attached_;
  const auto same =
      std::ranges::find(quantizers_, placed.site, &PlacedQuantizer::site);
  if (same != quantizers_.end()) {
    *same = std::move(placed);
  } else if (is_weight) {
    quantizers_.push_back(std::move(placed));
    ++weights_;
  } else {
    const auto next = std::ranges::lower_bound(
        activations(), site_order(placed.site), {},
        [](const PlacedQuantizer& q) { return site_order(q.site); });
    quantizers_.insert(quantizers_.begin() + (next - activations().begin()),
                       std::move(placed));
  }
}

std::span<const PlacedQuantizer> BaseQuantizeWrapper::activations() const {
  return quantizers().first(quantizers_.size() - weights_);
}

std::span<const PlacedQuantizer> BaseQuantizeWrapper::weights() const {
  return quantizers().last(weights_);
}

const PlacedQuantizer* BaseQuantizeWrapper::find(const QdqSite& site) const {
  const auto found =
      std::ranges::find(quantizers_, site, &PlacedQuantizer::site);
  return found == quantizers_.end() ? nullptr : &*found;
}

std::string BaseQuantizeWrapper::class_name() const {
  return inner_->class_name() + "QuantizeWrapper";
}

Config BaseQuantizeWrapper::config() const {
  Config::List inputs;
  for (const PlacedQuantizer& placed : activations()) {
    inputs.push_back(
        to_config(*placed.quantizer).set("site", to_string(placed.site)));
  }
  Config::List kernels;
  for (const PlacedQuantizer& placed : weights()) {
    kernels.push_back(
        to_config(*placed.quantizer).set("parameter", placed.site.parameter));
  }
  return Config()
      .set("class_name", inner_->class_name())
      .set("config", inner_->config())
      .set("activations", std::move(inputs))
      .set("weights", std::move(kernels));
}

Shape BaseQuantizeWrapper::output_shape(std::span<const Shape> inputs) const {
  for (const PlacedQuantizer& placed : activations()) {
    const QdqSite& site = placed.site;
    if (site.kind == SiteKind::input &&
        static_cast<size_t>(site.index) >= inputs.size()) {
      throw ValueError(
          "out_of_range",
          fmt::format("{} '{}'", inner_->class_name(), inner_->name()),
          fmt::format("index of a quantized input must be in [0,{}), got {}",
                      inputs.size(), site.index));
    }
  }
  return inner_->output_shape(inputs);
}

void BaseQuantizeWrapper::build(std::span<const Shape> inputs) {
  inner_->build_once(inputs);
  for (const PlacedQuantizer& weight : weights()) {
    (void)inner_->parameter(weight.site.parameter);
  }
  for (const PlacedQuantizer& placed : activations()) {
    if (placed.site.kind == SiteKind::intermediate) {
      expect_intermediate(*inner_, placed.site.parameter);
    }
  }
}

void BaseQuantizeWrapper::initialize_once(const Rng& rng) {
  // The random stream of a parameter depends on its layer's name.
  if (inner_->name().empty()) inner_->set_name(name());
  inner_->initialize_once(rng);
}

void BaseQuantizeWrapper::copy_parameters(const Layer& from) {
  inner_->copy_parameters(from);
  freeze_weight_scales(from, *inner_, weights());
}

void BaseQuantizeWrapper::share_parameters(const Layer& from) {
  inner_->share_parameters(from);
  freeze_weight_scales(from, *inner_, weights());
}

Variable BaseQuantizeWrapper::forward(const ForwardContext& context,
                                      std::span<const Variable> inputs) const {
  const Mode mode = context.training ? Mode::training : Mode::inference;
  std::vector<Variable> quantized(inputs.begin(), inputs.end());
  for (const PlacedQuantizer& placed : activations()) {
    if (placed.site.kind != SiteKind::input) continue;
    Variable& x = quantized[static_cast<size_t>(placed.site.index)];
    x = (*placed.quantizer)(x, mode);
  }
  const Hook hook(*this, mode);
  ForwardContext inner = context;
  inner.hook = &hook;
  const Variable y = inner_->forward(inner, quantized);
  const PlacedQuantizer* output = find(QdqSite::output());
  return output != nullptr ? (*output->quantizer)(y, mode) : y;
}

OnnxValue BaseQuantizeWrapper::emit(EmitContext& context,
                                    std::span<const OnnxValue> inputs) const {
  const auto add_qdq = [&](OnnxValue& x, const Quantizer& quantizer) {
    x.name = context.builder().add_qdq(x.name, quantizer.name(),
                                       quantizer.qparams({}, -1));
  };
  std::vector<OnnxValue> quantized(inputs.begin(), inputs.end());
  for (const PlacedQuantizer& placed : activations()) {
    if (placed.site.kind != SiteKind::input) continue;
    add_qdq(quantized[static_cast<size_t>(placed.site.index)],
            *placed.quantizer);
  }
  const Hook hook(*this, Mode::inference);
  EmitContext inner = context.with_hook(&hook);
  OnnxValue y = inner_->emit(inner, quantized);
  if (const PlacedQuantizer* output = find(QdqSite::output())) {
    add_qdq(y, *output->quantizer);
  }
  return y;
}

std::shared_ptr<Layer> BaseQuantizeWrapper::clone(CloneContext& context) const {
  const auto copy = make_wrapper(inner_->clone(context));
  for (const PlacedQuantizer& placed : quantizers_) {
    PlacedQuantizer copied = placed;
    copied.quantizer = context.shared(
        *placed.quantizer, [&] { return placed.quantizer->clone(); });
    copy->attach(std::move(copied));
  }
  copy->set_name(name());
  return copy;
}

LayerFacts BaseQuantizeWrapper::facts(std::span<const Shape> inputs) const {
  LayerFacts facts = inner_->facts(inputs);
  if (!quantizers_.empty()) facts.identity = Identity::never;
  return facts;
}

std::optional<uint64_t> BaseQuantizeWrapper::state_version() const {
  const std::optional<uint64_t> inner = inner_->state_version();
  if (!inner) return std::nullopt;
  Fnv1a hash;
  const auto add = [&](uint64_t value) {
    hash.add(std::as_bytes(std::span(&value, 1)));
  };
  add(*inner);
  add(attached_);
  for (const PlacedQuantizer& placed : quantizers_) {
    add(placed.quantizer->enabled() ? 1 : 0);
    add(static_cast<uint64_t>(placed.quantizer->config().zero_point));
    for (const float scale : placed.quantizer->scales()) {
      add(std::bit_cast<uint32_t>(scale));
    }
  }
  return hash.value();
}

bool BaseQuantizeWrapper::observing() const {
  return std::ranges::any_of(quantizers_, [](const PlacedQuantizer& placed) {
    return placed.quantizer->observing();
  });
}

void BaseQuantizeWrapper::set_trainable(bool trainable) {
  inner_->set_trainable(trainable);
  for (const PlacedQuantizer& placed : quantizers_) {
    placed.quantizer->set_frozen(!trainable);
  }
}

std::vector<Parameter> BaseQuantizeWrapper::scale_parameters() const {
  std::vector<Parameter> result;
  for (const PlacedQuantizer& placed : quantizers_) {
    const Quantizer& quantizer = *placed.quantizer;
    const Variable scale = quantizer.scale_parameter();
    if (!scale) continue;
    std::string site = to_string(placed.site);
    std::ranges::replace(site, ' ', '_');
    const QuantizerConfig& config = quantizer.config();
    Parameter parameter{.name = site + "/scale",
                        .variable = scale,
                        .trainable = config.learns()};
    // PACT's decay of the range. Gradients of the range are 1/high of the
    // scale's, and so is a step of the scale. Regularizers count it once for
    // all consumers.
    if (config.rule == ScaleRule::learned_clip) {
      parameter.regularizer.l2 = config.scale_rate * config.clip_decay;
    }
    result.push_back(std::move(parameter));
    if (const Variable offset = quantizer.offset_parameter()) {
      result.push_back(
          {.name = site + "/offset", .variable = offset, .trainable = true});
    }
  }
  return result;
}

const BaseQuantizeWrapper* as_wrapper(const Layer& layer) {
  return dynamic_cast<const BaseQuantizeWrapper*>(&layer);
}

const Layer& float_layer(const Layer& layer) {
  const BaseQuantizeWrapper* wrapper = as_wrapper(layer);
  return wrapper != nullptr ? wrapper->inner() : layer;
}

std::vector<std::string> output_names(const Model& model) {
  std::vector<std::string> names;
  for (const SymbolicTensor& output : model.outputs()) {
    names.push_back(float_layer(*output.node->layer).name());
  }
  return names;
}

std::vector<std::shared_ptr<Quantizer>> quantizers(Model& model) {
  return distinct_quantizers<Quantizer>(model);
}

std::vector<std::shared_ptr<const Quantizer>> quantizers(const Model& model) {
  return distinct_quantizers<const Quantizer>(model);
}

bool is_quantized(const Model& model) { return !quantizers(model).empty(); }

std::vector<PlacedQuantizer> activation_quantizers(const Model& model) {
  return placed_quantizers(
      model, [](const auto& wrapper) { return wrapper.activations(); });
}

std::vector<PlacedQuantizer> weight_quantizers(const Model& model) {
  return placed_quantizers(
      model, [](const auto& wrapper) { return wrapper.weights(); });
}

}  // namespace octet::quant
