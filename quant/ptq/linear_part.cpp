#include "ptq/linear_part.h"

#include <array>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

namespace octet::quant {
namespace {

// Limit of elements in a result of rows().
constexpr int64_t kElements = int64_t{1} << 23;

const Parameter* find_parameter(const Layer& layer, std::string_view name) {
  for (const Parameter& p : layer.parameters()) {
    if (p.name == name) return &p;
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<LinearPart> LinearPart::of(const Layer& wrapped,
                                           const Shape& input,
                                           std::string& why) {
  const Layer& layer = float_layer(wrapped);
  const LayerFacts facts = layer.facts();
  const FoldedWeight weight = facts.folded;
  const LayerDef* def = find_layer_def(layer.class_name());
  if (facts.role != LayerRole::linear || weight.parameter.empty() ||
      def == nullptr || !def->qdq.second_weight.empty()) {
    why = fmt::format("class {} has no single product of inputs and weights",
                      layer.class_name());
    return nullptr;
  }
  std::unique_ptr<LinearPart> part(new LinearPart());
  part->kernel_ = &layer.parameter(weight.parameter);
  const Shape& shape = part->kernel_->variable.shape();
  if (weight.last_axis != shape.rank()) {
    why = fmt::format(
        "class {} does not have its outputs on the last axes of its {}",
        layer.class_name(), weight.parameter);
    return nullptr;
  }
  part->bias_ = find_parameter(layer, "bias");
  const auto& convolutions = facts.convolutions;
  const int64_t all =
      shape[-1] *
      (weight.last_axis - weight.first_axis > 1 ? shape[weight.first_axis] : 1);
  part->groups_ = convolutions.empty() ? 1 : convolutions[0].groups;
  part->outputs_ = all / part->groups_;
  part->inputs_ = shape.size() / all;

  Config config = layer.config();
  if (part->bias_ != nullptr) config.set("use_bias", false);
  if (facts.activation != "linear") config.set("activation", "linear");
  for (int64_t first = 0; first < part->inputs_; first += part->outputs_) {
    auto picker = create_layer(layer.class_name(), config);
    picker->build_once(std::array{input});
    if (picker->parameters().size() != 1 ||
        picker->facts().activation != "linear") {
      why = fmt::format("class {} does more than multiply", layer.class_name());
      return nullptr;
    }
    Tensor kernel = Tensor::zeros(shape);
    const int64_t count = std::min(part->outputs_, part->inputs_ - first);
    for (int64_t g = 0; g < part->groups_; ++g) {
      for (int64_t m = 0; m < count; ++m) {
        kernel.f32()[part->element(g, first + m, m)] = 1;
      }
    }
    picker->set_parameters(std::array{kernel});
    part->pickers_.push_back(std::move(picker));
  }
  return part;
}

Tensor LinearPart::rows(const Tensor& x) const {
  const NoGradGuard no_grad;
  Tensor result;
  const auto width = static_cast<size_t>(groups_ * inputs_);
  for (size_t i = 0; i < pickers_.size(); ++i) {
    const Variable y =
        pickers_[i]->forward(ForwardContext{}, std::array{Variable(x)});
    const int64_t channels = groups_ * outputs_;
    const int64_t pixels = y.shape().size() / channels;
    if (result.empty()) result = Tensor({pixels, groups_ * inputs_});
    const int64_t first = static_cast<int64_t>(i) * outputs_;
    const int64_t count = std::min(outputs_, inputs_ - first);
    const auto from = y.value().f32();
    const auto to = result.f32();
    for (int64_t row = 0; row < pixels; ++row) {
      for (int64_t g = 0; g < groups_; ++g) {
        const auto at = static_cast<size_t>(row * channels + g * outputs_);
        std::copy_n(from.begin() + static_cast<ptrdiff_t>(at), count,
                    to.begin() + static_cast<ptrdiff_t>(
                                     static_cast<size_t>(row) * width +
                                     static_cast<size_t>(g * inputs_ + first)));
      }
    }
  }
  return result;
}

void LinearPart::for_each_rows(
    const Tensor& x, const std::function<void(const Tensor&)>& visit) const {
  const int64_t n = x.shape()[0];
  const int64_t sample = std::max<int64_t>(x.size() / n, 1);
  // Bound: at most as many pixels as input values.
  const int64_t taps = std::max<int64_t>(
      1, groups_ * inputs_ / std::max<int64_t>(x.shape()[-1], 1));
  const int64_t step = std::clamp<int64_t>(kElements / (sample * taps), 1, n);
  const auto values = x.f32();
  for (int64_t at = 0; at < n; at += step) {
    const int64_t count = std::min(step, n - at);
    const auto first = static_cast<size_t>(at * sample);
    visit(rows(Tensor::of(
        x.shape().with(0, count),
        values.subspan(first, static_cast<size_t>(count * sample)))));
  }
}

}  // namespace octet::quant
