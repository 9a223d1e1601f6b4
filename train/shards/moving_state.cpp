#include "moving_state.h"

#include <algorithm>
#include <unordered_set>

#include <octet/quant/wrapper.h>

namespace octet::train {
namespace {

void add_sums(std::vector<double>& to, const std::vector<double>& from) {
  for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

}  // namespace

MovingState::MovingState(Model& model) : sums_(add_sums) {
  std::unordered_set<uint64_t> known;
  for (const auto& layer : model.layers()) {
    if (!layer->trainable() || layer->statistics_frozen()) continue;
    for (const Parameter& p : layer->parameters()) {
      if (p.trainable || p.variable.value().dtype() != DType::f32 ||
          !known.insert(p.variable.id()).second) {
        continue;
      }
      statistics_.emplace_back(p.variable, p.variable.value().clone());
    }
  }
  for (const auto& quantizer : quant::quantizers(model)) {
    if (quantizer->config().learns()) {
      const Variable scale = quantizer->moving_scale();
      if (scale && scale.requires_grad()) learning_.push_back(scale);
    } else if (quantizer->config().follows() && !quantizer->frozen()) {
      following_.push_back({quantizer, quantizer->state(), {}, {}});
    }
  }
}

void MovingState::rewind() const {
  for (const auto& [variable, before] : statistics_) variable.assign(before);
  for (const Following& each : following_) each.quantizer->restore(each.before);
}

void MovingState::take(int64_t samples) {
  if (samples == 0) return sums_.push({});
  std::vector<double> sums;
  for (const auto& [variable, before] : statistics_) {
    for (const float value : variable.value().f32()) {
      sums.push_back(double{value} * static_cast<double>(samples));
    }
  }
  sums_.push(std::move(sums));
  for (Following& each : following_) {
    if (each.first.is_null()) each.first = each.quantizer->state();
    if (const std::optional<float> scale = each.quantizer->scale()) {
      each.largest = std::max(each.largest.value_or(0), double{*scale});
    }
  }
}

void MovingState::write(BytesWriter& bytes) {
  const std::optional<std::vector<double>> sums = sums_.take();
  bytes.add_value(sums.has_value());
  if (sums) bytes.add_list(std::span<const double>(*sums));
  for (const Following& each : following_) {
    bytes.add_config(each.first);
    bytes.add_value(each.largest.value_or(0));
  }
  for (const Variable& scale : learning_) {
    bytes.add_list(scale.value().f32());
  }
}

void MovingState::merge(std::vector<BytesReader>& ranks,
                        int64_t samples) const {
  FixedTree<std::vector<double>> tree(add_sums);
  std::vector<Config> first(following_.size());
  std::vector<double> largest(following_.size());
  std::vector<std::vector<float>> learned;
  for (BytesReader& bytes : ranks) {
    std::optional<std::vector<double>> sums;
    if (bytes.value<bool>()) sums = bytes.list<double>();
    tree.push(std::move(sums));
    for (size_t i = 0; i < following_.size(); ++i) {
      Config state = bytes.config();
      if (first[i].is_null()) first[i] = std::move(state);
      largest[i] = std::max(largest[i], bytes.value<double>());
    }
    for (size_t i = 0; i < learning_.size(); ++i) {
      std::vector<float> scale = bytes.list<float>();
      if (learned.size() <= i) learned.push_back(std::move(scale));
    }
  }
  const std::vector<double> total = tree.take().value();
  size_t next = 0;
  for (const auto& [variable, before] : statistics_) {
    const auto to = variable.mutable_value();
    for (float& value : to) {
      value = static_cast<float>(total[next++] / static_cast<double>(samples));
    }
  }
  for (size_t i = 0; i < following_.size(); ++i) {
    if (largest[i] > 0) first[i].set("scale", largest[i]);
    following_[i].quantizer->restore(first[i]);
  }
  for (size_t i = 0; i < learning_.size(); ++i) {
    const Variable& scale = learning_[i];
    if (std::ranges::equal(learned[i], scale.value().f32())) continue;
    scale.assign(Tensor::of(scale.shape(), std::span<const float>(learned[i])));
  }
}

}  // namespace octet::train
