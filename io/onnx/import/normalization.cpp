// BatchNormalization and LayerNormalization.
#include <array>

#include <fmt/format.h>

#include <octet/layers/batch_normalization.h>
#include <octet/layers/layer_normalization.h>
#include <octet/runtime/error.h>

#include "converters.h"
#include "forms.h"

namespace octet::io::importing {
namespace {

/// A number for each of the channels, in the order of `view`'s tensor if they
/// are features.
Weight per_channel(const Conversion& c, int input, const char* name,
                   int64_t channels) {
  Weight weight{name, c.floats(input)};
  if (weight.value.size() != channels || weight.value.shape().rank() < 1) {
    c.refuse(fmt::format("{}: expected {} numbers, got {}", name, channels,
                         weight.value.shape().to_string()));
  }
  weight.value = weight.value.reshaped({channels});
  return weight;
}

}  // namespace

void convert_batch_normalization(Conversion& c) {
  const bool old = c.opset() < 7;
  if (c.integer("spatial", 1) == 0) c.refuse("spatial: expected 1, got 0");
  if (c.integer("training_mode", 0) != 0 ||
      (old && c.integer("is_test", 0) == 0)) {
    c.refuse("training_mode: expected 0, got 1; export the model in inference");
  }
  if (c.proto().output_size() > 1) {
    c.refuse("expected one output, got the statistics of a training, too");
  }
  const View view = c.view(0);
  const int rank = view.rank();
  if (rank < 2) c.refuse("expected channels on axis 1");
  const bool features = rank == 2;
  const Operand x =
      features ? c.features(0) : c.operand(0, channels_last(rank));
  const int64_t channels = x.tensor.shape()[-1];
  constexpr std::array kNames{"gamma", "beta", "moving_mean",
                              "moving_variance"};
  std::vector<Weight> weights;
  for (size_t i = 0; i < kNames.size(); ++i) {
    weights.push_back(
        per_channel(c, static_cast<int>(i) + 1, kNames[i], channels));
    if (!features) continue;
    Tensor& value = weights.back().value;
    value = rows_as_in(view, value);
  }
  const SymbolicTensor y =
      c.add(BatchNormalization({.momentum = c.number("momentum", 0.9f),
                                .epsilon = c.number("epsilon", 1e-5f)}),
            {x}, weights);
  if (!features) return c.give(view_of(y, channels_last(rank)));
  View same = view;
  same.tensor = y;
  c.give(std::move(same));
}

// Of one axis, with a number for each of its entries.
void convert_layer_normalization(Conversion& c) {
  const int rank = c.view(0).rank();
  const int64_t given = c.integer(kOverOneAxis, c.integer("axis", -1));
  const int axis = c.axis_of(given, rank);
  if (axis == 0 || (axis != rank - 1 && !c.has_attribute(kOverOneAxis))) {
    c.refuse("axis: expected the last one, got another");
  }
  if (c.proto().output_size() > 1) {
    c.refuse("expected one output, got the statistics, too");
  }
  std::vector<int> order = file_order(rank);
  order.erase(order.begin() + axis);
  order.push_back(axis);
  const Operand x = c.operand(0, order);
  const int64_t channels = x.tensor.shape()[-1];
  const auto weight = [&](int input, const char* name) {
    const Shape& shape = c.constant(input).shape();
    const int at = shape.rank() - (rank - axis);
    if (at < 0 || shape[at] != channels) {
      c.refuse(fmt::format("{}: expected {} numbers along axis {}, got {}",
                           name, channels, axis, shape.to_string()));
    }
    return per_channel(c, input, name, channels);
  };
  std::vector<Weight> weights;
  if (c.has(1)) weights.push_back(weight(1, "gamma"));
  if (c.has(2)) weights.push_back(weight(2, "beta"));
  const SymbolicTensor y =
      c.add(LayerNormalization({.epsilon = c.number("epsilon", 1e-5f),
                                .center = c.has(2),
                                .scale = c.has(1)}),
            {x}, weights);
  c.give(view_of(y, order));
}

}  // namespace octet::io::importing
