#include <algorithm>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/detail/load_limits.h>
#include <octet/layers/layer.h>
#include <octet/runtime/error.h>

#include "activation/activation_functions.h"
#include "base/checks.h"
#include "base/layer_table.h"
#include "base/names.h"

namespace octet {

namespace {

// Returns the field `activation` of a configuration.
std::string configured_activation(const Config& fields) {
  const Config* found =
      fields.is_object() ? fields.find("activation") : nullptr;
  return found != nullptr && found->is_string() ? found->as_string() : "linear";
}

}  // namespace

LayerFacts Layer::facts(std::span<const Shape>) const {
  LayerFacts facts;
  if (const LayerDef* def = find_layer_def(class_name())) {
    facts.role = def->role;
    facts.folded = def->folded;
  }
  facts.activation = configured_activation(config());
  const bool moves =
      facts.role == LayerRole::movement || facts.role == LayerRole::identity;
  if (facts.activation == "linear") {
    facts.sign = moves ? OutputSign::of_inputs : OutputSign::any;
  } else if (is_non_negative_function(facts.activation)) {
    facts.sign = OutputSign::non_negative;
  }
  if (facts.role == LayerRole::identity) {
    facts.identity = Identity::in_inference;
  }
  return facts;
}

std::optional<uint64_t> Layer::state_version() const {
  const auto defs = built_in_layer_defs();
  const bool own = std::ranges::any_of(defs, [name = class_name()](auto* def) {
    return def->class_name == name;
  });
  return own ? std::optional<uint64_t>(0) : std::nullopt;
}

OnnxValue Layer::emit(EmitContext&, std::span<const OnnxValue>) const {
  throw UnsupportedError("unsupported_layer", subject_of(*this),
                         "has no ONNX export. Hint: override Layer::emit()");
}

std::shared_ptr<Layer> Layer::clone(CloneContext&) const {
  std::shared_ptr<Layer> copy = create_layer(class_name(), config());
  copy->set_name(name());
  return copy;
}

const Parameter& Layer::parameter(std::string_view wanted) const {
  std::string names;
  for (const Parameter& p : parameters()) {
    if (p.name == wanted) return p;
    names += (names.empty() ? "'" : ", '") + p.name + "'";
  }
  throw NotFoundError("unknown_name", subject_of(*this),
                      fmt::format("no parameter '{}'; it has {}", wanted,
                                  names.empty() ? "none" : names));
}

std::string Layer::describe() const {
  return name_.empty() ? fmt::format("in an unnamed layer ({})", class_name())
                       : fmt::format("in layer '{}' ({})", name_, class_name());
}

void Layer::build_once(std::span<const Shape> inputs) {
  if (!built_) {
    build(inputs);
    built_for_.assign(inputs.begin(), inputs.end());
    built_ = true;
    return;
  }
  if (parameters().empty()) return;
  for (size_t i = 0; i < inputs.size() && i < built_for_.size(); ++i) {
    // The last axis of indices, and of masks beside sequences, are steps.
    const bool steps =
        class_name() == "Embedding" || inputs[i].rank() < inputs[0].rank();
    if (!steps && inputs[i][-1] != built_for_[i][-1]) {
      throw ShapeError("shape_mismatch", "input",
                       fmt::format("must have {} channels, as in the first "
                                   "call of this layer, got {}",
                                   built_for_[i][-1], inputs[i].to_string()));
    }
  }
}

void Layer::initialize_once(const Rng& rng) {
  if (initialized_) return;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (pending_[i].unfilled) continue;
    Rng stream = rng.child(name_ + "/" + parameters_[i].name);
    const auto values = parameters_[i].variable.mutable_value();
    const Pending& pending = pending_[i];
    pending.initializer(values, pending.fan_in, pending.fan_out, stream);
    std::ranges::fill(
        std::span<float>(values).subspan(static_cast<size_t>(pending.first_one),
                                         static_cast<size_t>(pending.ones)),
        1.0f);
  }
  pending_.clear();
  initialized_ = true;
}

void Layer::copy_parameters(const Layer& from) {
  std::vector<Tensor> theirs;
  for (const Parameter& p : from.parameters()) {
    theirs.push_back(p.variable.value());
  }
  set_parameters(theirs);
  set_trainable(from.trainable());
  freeze_statistics(from.statistics_frozen());
}

void Layer::set_parameters(std::span<const Tensor> values) {
  const auto ours = parameters();
  if (values.size() != ours.size()) {
    throw ShapeError("count_mismatch", subject_of(*this),
                     fmt::format("has {} parameters, got values for {}",
                                 ours.size(), values.size()));
  }
  for (size_t i = 0; i < ours.size(); ++i) {
    with_context([&] { return fmt::format("in parameter '{}'", ours[i].name); },
                 [&] { ours[i].variable.assign(values[i]); });
  }
  pending_.clear();
  initialized_ = true;
}

void Layer::share_parameters(const Layer& from) {
  if (from.parameters().size() != parameters_.size()) {
    throw InternalError(
        "internal", subject_of(*this),
        fmt::format("has {} parameters, cannot share {}", parameters_.size(),
                    from.parameters().size()));
  }
  for (size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i] = from.parameters()[i];
  }
  trainable_ = from.trainable();
  statistics_ = from.shared_statistics();
  pending_.clear();
  initialized_ = true;
}

void Layer::set_trainable(bool trainable) {
  trainable_ = trainable;
  for (const Parameter& p : parameters_) {
    if (p.trainable) p.variable.set_requires_grad(trainable);
  }
}

// Derived from the parameters, which may be shared; the flag serves layers
// without trainable parameters.
bool Layer::trainable() const {
  for (const Parameter& p : parameters()) {
    if (p.trainable) return p.variable.requires_grad();
  }
  return holder().trainable_;
}

void Layer::freeze_statistics(bool frozen) {
  if (facts().statistics) shared_statistics()->frozen = frozen;
}

bool Layer::average_statistics(bool averaged) {
  if (!facts().statistics) return false;
  StatisticsMode& mode = *shared_statistics();
  mode.averaged = averaged ? std::optional<int64_t>(0) : std::nullopt;
  return !mode.frozen && trainable();
}

size_t Layer::add_parameter(std::string name, const Shape& shape,
                            const ParameterOptions& options) {
  ParameterLimit::take(shape);
  check_regularizer((name + "_regularizer").c_str(), options.regularizer);
  const bool unfilled = SkipInit::wanted();
  parameters_.push_back(
      {std::move(name),
       Variable(unfilled ? Tensor(shape) : Tensor::zeros(shape),
                options.trainable && trainable_),
       options.trainable, options.channel_axis, options.regularizer});
  pending_.push_back({options.initializer, options.fan_in, options.fan_out,
                      unfilled, options.first_one, options.ones});
  return parameters_.size() - 1;
}

}  // namespace octet
