// Batch, layer, instance, group and local response normalization.
#include <array>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/batch_normalization.h>
#include <octet/layers/group_normalization.h>
#include <octet/layers/layer_normalization.h>
#include <octet/layers/local_response_normalization.h>
#include <octet/layers/rms_normalization.h>
#include <octet/layers/unit_normalization.h>
#include <octet/runtime/error.h>

#include "converters.h"
#include "pattern.h"
#include "window_attributes.h"

namespace octet::io::importing {
namespace {

/// Returns a parameter with a number for each channel, in the file's order. If
/// it `broadcasts`, a single number is repeated.
ImportedWeight per_channel(const Conversion& c, int input, const char* name,
                           int64_t channels, bool broadcasts = false) {
  ImportedWeight weight{name, c.floats(input)};
  if (broadcasts && weight.value.size() == 1) {
    weight.value = Tensor::full({channels}, weight.value.f32()[0]);
    return weight;
  }
  if (weight.value.size() != channels || weight.value.shape().rank() < 1) {
    c.refuse(fmt::format("{} must have {} numbers, got {}", name, channels,
                         weight.value.shape().to_string()));
  }
  weight.value = weight.value.reshaped({channels});
  return weight;
}

}  // namespace

void convert_batch_normalization(Conversion& c) {
  const bool old = c.opset() < 7;
  if (c.integer("spatial", 1) == 0) c.refuse("spatial must be 1, got 0");
  if (c.integer("training_mode", 0) != 0 ||
      (old && c.integer("is_test", 0) == 0)) {
    c.refuse(
        "training_mode must be 0, got 1. Hint: export the model in "
        "inference mode");
  }
  if (c.proto().output_size() > 1) {
    c.refuse("outputs of training statistics are not supported");
  }
  const ImportedValue given = c.value(0);
  const int rank = given.rank();
  if (rank < 2 || given.has_batch(1)) c.refuse("axis 1 must be channels");
  const bool features = rank == 2 && given.samples_lead();
  const LayerAxes rows(given, 1);
  const Operand x = features ? c.features(0) : c.operand(rows);
  const int64_t channels = x.tensor.shape()[-1];
  constexpr std::array kNames{"gamma", "beta", "moving_mean",
                              "moving_variance"};
  std::vector<ImportedWeight> weights;
  for (size_t i = 0; i < kNames.size(); ++i) {
    weights.push_back(
        per_channel(c, static_cast<int>(i) + 1, kNames[i], channels));
    if (!features) continue;
    Tensor& value = weights.back().value;
    value = rows_as_in(given, value);
  }
  const SymbolicTensor y =
      c.add(BatchNormalization({.momentum = c.number("momentum", 0.9f),
                                .epsilon = c.number("epsilon", 1e-5f)}),
            {x}, weights);
  if (!features) return c.set_output(rows.back(y));
  c.set_output(
      {y, given.layout.stored_as(layout_of(y, file_order(2)).stored())});
}

// Over a single axis, with a parameter for each of its entries.
void convert_layer_normalization(Conversion& c) {
  const ImportedValue& x = c.value(0);
  const int rank = x.rank();
  const int64_t given = c.integer(kOverOneAxis, c.integer("axis", -1));
  const int axis = c.axis_of(given, rank);
  if (x.has_batch(axis) ||
      (axis != rank - 1 && !c.has_attribute(kOverOneAxis))) {
    c.refuse("axis must be the last one");
  }
  if (c.proto().output_size() > 1) {
    c.refuse("outputs of statistics are not supported");
  }
  const LayerAxes rows(x, axis);
  const Operand operand = c.operand(rows);
  const int64_t channels = operand.tensor.shape()[-1];
  const auto weight = [&](int input, const char* name) {
    const Shape& shape = c.constant(input).shape();
    const int at = shape.rank() - (rank - axis);
    if (at < 0 || shape[at] != channels) {
      c.refuse(fmt::format("{} must have {} numbers along axis {}, got {}",
                           name, channels, axis, shape.to_string()));
    }
    return per_channel(c, input, name, channels);
  };
  std::vector<ImportedWeight> weights;
  if (c.has(1)) weights.push_back(weight(1, "gamma"));
  if (c.has(2)) weights.push_back(weight(2, "beta"));
  const SymbolicTensor y =
      c.add(LayerNormalization({.epsilon = c.number("epsilon", 1e-5f),
                                .center = c.has(2),
                                .scale = c.has(1)}),
            {operand}, weights);
  c.set_output(rows.back(y));
}

void convert_rms_normalization(Conversion& c) {
  const ImportedValue& given = c.value(0);
  const int axis = c.axis_of(c.integer("axis", -1), given.rank());
  if (axis != given.rank() - 1 || given.has_batch(axis)) {
    c.refuse("axis must be the last one");
  }
  const LayerAxes rows(given, axis);
  const Operand x = c.operand(rows);
  const SymbolicTensor y =
      c.add(RMSNormalization({.epsilon = c.number("epsilon", 1e-5f)}), {x},
            {per_channel(c, 1, "scale", x.tensor.shape()[-1], true)});
  c.set_output(rows.back(y));
}

// Normalizes to length 1 along an axis. The length may have been expanded to
// the shape of x.
void convert_unit_normalization(Conversion& c) {
  const ImportedValue& x = c.value(0);
  const int axis = c.axis_of(c.integer("axis", -1), x.rank());
  if (x.has_batch(axis)) c.refuse("axis must not be the batch axis");
  if (c.has(1)) {
    const Dims own = x.dims(), wanted = c.sizes(1);
    bool same = wanted.size() <= own.size();
    for (size_t i = 0; same && i < wanted.size(); ++i) {
      const Dim& size = own[own.size() - wanted.size() + i];
      same = wanted[i] == size || wanted[i].is_one() || size.batch;
    }
    if (!same) c.refuse("length must be expanded to the shape of its value");
  }
  const LayerAxes rows(x, axis);
  c.set_output(rows.back(c.add(UnitNormalization(), {c.operand(rows)})));
}

// Each channel is a group.
void convert_instance_normalization(Conversion& c) {
  const Operand x = c.operand(0, channels_last(c.value(0).rank()));
  const int64_t channels = x.tensor.shape()[-1];
  const SymbolicTensor y =
      c.add(GroupNormalization(
                {.groups = channels, .epsilon = c.number("epsilon", 1e-5f)}),
            {x},
            {per_channel(c, 1, "gamma", channels),
             per_channel(c, 2, "beta", channels)});
  c.set_output(channels_first(y));
}

// Scale and bias are per group before opset 21 and per channel since then.
void convert_group_normalization(Conversion& c) {
  const Operand x = c.operand(0, channels_last(c.value(0).rank()));
  const int64_t channels = x.tensor.shape()[-1];
  const int64_t groups = c.integer("num_groups", 0);
  if (groups < 1 || channels % groups != 0) {
    c.refuse(fmt::format("num_groups must divide {} channels, got {}", channels,
                         groups));
  }
  const bool of_groups = c.opset() < 21 && !c.has_attribute(kFromParts);
  std::vector<ImportedWeight> weights;
  for (const auto& [input, name] :
       {std::pair(1, "gamma"), std::pair(2, "beta")}) {
    if (!c.has(input)) continue;
    ImportedWeight weight =
        per_channel(c, input, name, of_groups ? groups : channels);
    if (of_groups) {
      Tensor all({channels});
      for (int64_t i = 0; i < channels; ++i) {
        all.f32()[static_cast<size_t>(i)] =
            std::as_const(weight.value)
                .f32()[static_cast<size_t>(i / (channels / groups))];
      }
      weight.value = all;
    }
    weights.push_back(std::move(weight));
  }
  const SymbolicTensor y =
      c.add(GroupNormalization({.groups = groups,
                                .epsilon = c.number("epsilon", 1e-5f),
                                .center = c.has(2),
                                .scale = c.has(1)}),
            {x}, weights);
  c.set_output(channels_first(y));
}

void convert_local_response_normalization(Conversion& c) {
  c.set_output(channels_first(
      c.add(LocalResponseNormalization({.size = c.integer("size", 0),
                                        .alpha = c.number("alpha", 1e-4f),
                                        .beta = c.number("beta", 0.75f),
                                        .bias = c.number("bias", 1)}),
            {pixels_of(c, 0)})));
}

}  // namespace octet::io::importing
