#include "running_state.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include <fmt/format.h>

#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

namespace octet::train {
namespace {

void add_sums(std::vector<double>& to, const std::vector<double>& from) {
  for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

RunningState::RunningState(Model& model, BatchStatistics mode)
    : mode_(mode), sums_(add_sums) {
  std::unordered_set<uint64_t> known;
  // Includes frozen layers: custom layers may change their statistics anyway.
  for (const auto& layer : model.layers()) {
    for (const Parameter& p : layer->parameters()) {
      if (p.variable.value().dtype() != DType::f32 ||
          !known.insert(p.variable.id()).second) {
        continue;
      }
      if (p.trainable) {
        fixed_.push_back(
            {p.variable, layer->describe(), p.name, p.variable.version()});
        continue;
      }
      statistics_.push_back({.variable = p.variable,
                             .before = p.variable.value().clone(),
                             .owner = layer->describe(),
                             .name = p.name,
                             .version = p.variable.version()});
    }
  }
  for (const auto& quantizer : quant::quantizers(model)) {
    if (quantizer->config().learns()) {
      const Variable scale = quantizer->scale_parameter();
      if (scale && scale.requires_grad()) learning_.push_back(scale);
      const Variable offset = quantizer->offset_parameter();
      if (offset && offset.requires_grad()) learning_.push_back(offset);
    } else if (quantizer->config().follows() && !quantizer->frozen()) {
      following_.push_back({quantizer, quantizer->state()});
    }
  }
}

void RunningState::rewind() const {
  for (const Statistic& each : statistics_) each.variable.assign(each.before);
  for (const Following& each : following_) each.quantizer->restore(each.before);
}

void RunningState::refuse(const Statistic& moved) {
  throw UnsupportedError(
      "unsupported_layer", fmt::format("parameter '{}'", moved.name),
      fmt::format("changes with each shard, {}, but synchronized statistics "
                  "must change once per batch. Hint: sum over the batch with "
                  "octet/runtime/parallel.h, or use "
                  "BatchStatistics::per_shard",
                  moved.owner));
}

void RunningState::check_turn(bool first) {
  for (Statistic& each : statistics_) {
    const uint64_t version = each.variable.version();
    if (version == each.version) continue;
    each.version = version;
    const Tensor& now = each.variable.value();
    const Tensor& expected = each.first.empty() ? each.before : each.first;
    if (same_bits(now.f32(), expected.f32())) continue;
    if (!first) refuse(each);
    each.first = now.clone();
  }
}

void RunningState::check_parameters() const {
  for (const Fixed& each : fixed_) {
    if (each.variable.version() != each.version) {
      throw UnsupportedError(
          "unsupported_layer", fmt::format("parameter '{}'", each.name),
          fmt::format("the forward pass changes it, {}, which is not supported "
                      "with shards. Hint: set .trainable = false for "
                      "statistics",
                      each.owner));
    }
    if (!each.variable.grad().empty()) {
      throw UnsupportedError(
          "unsupported_layer", fmt::format("parameter '{}'", each.name),
          fmt::format("received a gradient from another backward() in the "
                      "pass, {}, which is not supported with shards. Hint: "
                      "train with a single shard",
                      each.owner));
    }
  }
}

void RunningState::take(int64_t samples) {
  if (samples == 0) return sums_.push({});
  std::vector<double> sums;
  const bool shard = mode_ == BatchStatistics::per_shard;
  const double weight = shard ? static_cast<double>(samples) : 1;
  for (const Statistic& each : statistics_) {
    for (const float value : std::as_const(each.variable.value()).f32()) {
      sums.push_back(double{value} * weight);
    }
  }
  sums_.push(std::move(sums));
  for (Following& each : following_) {
    // A shard of zeros does not change the scale.
    const Config state = each.quantizer->state();
    if (state == each.before) continue;
    if (each.first.is_null()) each.first = state;
    if (const std::optional<float> scale = each.quantizer->scale()) {
      each.largest = std::max(each.largest.value_or(0), double{*scale});
    }
  }
}

void RunningState::write(BytesWriter& bytes) {
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

void RunningState::merge(std::vector<BytesReader>& ranks,
                         int64_t samples) const {
  OrderedTreeSum<std::vector<double>> tree(add_sums);
  std::optional<std::vector<double>> synchronized;
  std::vector<Config> first(following_.size());
  std::vector<double> largest(following_.size());
  std::vector<std::vector<float>> learned;
  for (BytesReader& bytes : ranks) {
    std::optional<std::vector<double>> values;
    if (bytes.value<bool>()) values = bytes.list<double>();
    if (mode_ == BatchStatistics::per_shard) {
      tree.push(std::move(values));
    } else if (values) {
      if (!synchronized) synchronized = values;
      expect_same(*synchronized, *values);
    }
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
  if (synchronized) {
    assign(*synchronized, 1);
  } else {
    assign(tree.take().value(), samples);
  }
  for (size_t i = 0; i < following_.size(); ++i) {
    if (first[i].is_null()) first[i] = following_[i].before;
    if (largest[i] > 0) first[i].set("scale", largest[i]);
    following_[i].quantizer->restore(first[i]);
  }
  for (size_t i = 0; i < learning_.size(); ++i) {
    const Variable& scale = learning_[i];
    if (std::ranges::equal(learned[i], scale.value().f32())) continue;
    scale.assign(Tensor::of(scale.shape(), std::span<const float>(learned[i])));
  }
}

void RunningState::expect_same(std::span<const double> a,
                               std::span<const double> b) const {
  for (const Statistic& each : statistics_) {
    const auto size = static_cast<size_t>(each.variable.shape().size());
    if (std::memcmp(a.data(), b.data(), size * sizeof(double)) != 0) {
      refuse(each);
    }
    a = a.subspan(size);
    b = b.subspan(size);
  }
}

void RunningState::assign(std::span<const double> sums, int64_t samples) const {
  size_t next = 0;
  for (const Statistic& each : statistics_) {
    const auto to = each.variable.mutable_value();
    for (float& value : to) {
      value = static_cast<float>(sums[next++] / static_cast<double>(samples));
    }
  }
}

}  // namespace octet::train
