// Batch, layer, instance, group and local response normalization.
#include <array>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/normalization.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "converters.h"
#include "pattern.h"
#include "window_attributes.h"

namespace octet::io::importing {
namespace {

/// Returns a parameter along `count` axes from `axis` on, flat.
ImportedWeight along_axes(const Conversion& c, int input, const char* name,
                          int axis, int count) {
  const Dims dims = c.value(0).dims();
  const Shape& shape = c.constant(input).shape();
  int64_t size = 1;
  int at = shape.rank() - static_cast<int>(dims.size()) + axis;
  bool fits = at >= 0;
  for (int i = axis; fits && i < axis + count; ++i, ++at) {
    size *= dims[static_cast<size_t>(i)].factor;
    fits = shape[at] == dims[static_cast<size_t>(i)].factor;
  }
  if (!fits) {
    c.refuse(fmt::format("{} must have the sizes of {} along axis {}, got {}",
                         name, c.value(0).text(), axis, shape.to_string()));
  }
  return c.channels(input, name, size);
}

/// Sets the output to a layer along the axes from `axis` on, `count` in total.
template <class Normalize>
void normalize_along(Conversion& c, int axis, int count,
                     const Normalize& normalize) {
  const ImportedValue& given = c.value(0);
  const ImportedValue x =
      count == 1 ? given : given.with(with_merged_axes(given.layout, axis));
  if (x.has_batch(axis)) c.refuse("axis must not be the batch axis");
  const LayerAxes rows(x, axis);
  const ImportedValue y = rows.back(normalize(c.operand(rows)));
  c.set_output(y.with(y.layout.reshaped(given.dims()).value()));
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
    weights.push_back(c.channels(static_cast<int>(i) + 1, kNames[i], channels));
    if (!features) continue;
    Tensor& value = weights.back().value;
    value = rows_as_in(given, value);
  }
  const SymbolicTensor y =
      c.add(BatchNormalization({.momentum = c.number("momentum", 0.9f),
                                .epsilon = c.number("epsilon", 1e-5f)}),
            {x}, weights);
  if (!features) return c.set_output(rows.back(y));
  c.set_output(value_of(y, given.layout));
}

// Over the axes from `axis` on, with a parameter for each element.
void convert_layer_normalization(Conversion& c) {
  const bool one_axis = c.has_attribute(kOverOneAxis);
  const int rank = c.value(0).rank();
  const int axis =
      c.axis_of(c.integer(kOverOneAxis, c.integer("axis", -1)), rank);
  const int count = one_axis ? 1 : rank - axis;
  if (c.proto().output_size() > 1) {
    c.refuse("outputs of statistics are not supported");
  }
  std::vector<ImportedWeight> weights;
  if (c.has(1)) weights.push_back(along_axes(c, 1, "gamma", axis, count));
  if (c.has(2)) weights.push_back(along_axes(c, 2, "beta", axis, count));
  normalize_along(c, axis, count, [&](const Operand& x) {
    return c.add(LayerNormalization({.epsilon = c.number("epsilon", 1e-5f),
                                     .center = c.has(2),
                                     .scale = c.has(1)}),
                 {x}, weights);
  });
}

void convert_rms_normalization(Conversion& c) {
  const int rank = c.value(0).rank();
  const int axis = c.axis_of(c.integer("axis", -1), rank);
  normalize_along(c, axis, rank - axis, [&](const Operand& x) {
    const bool number = c.constant(1).size() == 1;
    return c.add(RMSNormalization({.epsilon = c.number("epsilon", 1e-5f)}), {x},
                 {number ? c.channels(1, "scale", x.tensor.shape()[-1], true)
                         : along_axes(c, 1, "scale", axis, rank - axis)});
  });
}

// Normalizes to length 1 along an axis. The length may have been expanded to
// the shape of x.
void convert_unit_normalization(Conversion& c) {
  const Dims own = c.value(0).dims();
  if (c.has(1)) {
    const Dims wanted = c.sizes(1);
    bool same = wanted.size() <= own.size();
    for (size_t i = 0; same && i < wanted.size(); ++i) {
      const Dim& size = own[own.size() - wanted.size() + i];
      same = wanted[i] == size || wanted[i].is_one() || size.batch;
    }
    if (!same) c.refuse("length must be expanded to the shape of its value");
  }
  const int axis =
      c.axis_of(c.integer("axis", -1), static_cast<int>(own.size()));
  normalize_along(c, axis, 1, [&](const Operand& x) {
    return c.add(UnitNormalization(), {x});
  });
}

// InstanceNormalization has a group for each channel. Scale and bias of
// GroupNormalization are per group before opset 21 and per channel since then.
void convert_group_normalization(Conversion& c) {
  const Operand x = c.operand(0, channels_last(c.value(0).rank()));
  const int64_t channels = x.tensor.shape()[-1];
  const bool instance = c.op() == "InstanceNormalization";
  const int64_t groups = instance ? channels : c.integer("num_groups", 0);
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
        c.channels(input, name, of_groups ? groups : channels);
    if (of_groups) {
      const Tensor rows = weight.value.reshaped({groups, 1});
      weight.value = broadcast_to(Variable(rows), {groups, channels / groups})
                         .value()
                         .reshaped({channels});
    }
    weights.push_back(std::move(weight));
  }
  c.set_output(channels_first(
      c.add(GroupNormalization({.groups = groups,
                                .epsilon = c.number("epsilon", 1e-5f),
                                .center = c.has(2),
                                .scale = c.has(1)}),
            {x}, weights)));
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
