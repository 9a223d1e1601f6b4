// Gather and Tile.
#include "gather.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/attention.h>
#include <octet/layers/embedding.h>
#include <octet/layers/ops.h>
#include <octet/layers/reshaping.h>

#include "converters.h"
#include "cut.h"
#include "inputs.h"

namespace octet::io::importing {
namespace {

/// Whether the indices list all values in order, as dynamo writes
/// as_strided().
bool takes_all(const Conversion& c, const Tensor& indices) {
  const ImportedValue& x = c.value(0);
  const int64_t size = x.sample_size();
  if (x.rank() != 1 || indices.dtype() != DType::i64 ||
      indices.shape().rank() < 2 || indices.size() % size != 0 ||
      indices.size() / size != fixed_batch(c.graph())) {
    return false;
  }
  const auto values = indices.data<int64_t>();
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::cmp_equal(values[i], i)) return false;
  }
  return true;
}

/// Gathers by positions among the values of all samples, each within its own
/// sample, as dynamo writes as_strided().
void gather_places(Conversion& c, const Constant& places) {
  const ImportedValue x = c.value(0);
  const int64_t size = x.sample_size();
  const auto numbers = places.value.data<int64_t>();
  const bool own = std::ranges::all_of(
      numbers, [&](int64_t place) { return place >= 0 && place < size; });
  if (x.rank() != 1 || places.samples_axis != 0 ||
      places.samples_step != size || !own) {
    c.refuse("indices must select entries of each sample for that sample");
  }
  Dims dims = fixed_dims(places.value.shape().dims());
  dims[0] = kBatch;
  const auto samples = x.layout.reshaped(Dims{kBatch, {size}});
  if (!samples) c.refuse("values must be stored sample by sample");
  ImportedValue y = x.with(*samples);
  bool all = std::ssize(numbers) == size;
  for (size_t i = 0; all && i < numbers.size(); ++i) {
    all = std::cmp_equal(numbers[i], i);
  }
  if (!all) {
    c.set_value(0, y);
    y = gathered(c, {{1, {numbers.begin(), numbers.end()}}});
  }
  const auto result = y.layout.reshaped(dims);
  if (!result) c.refuse("entries must be contiguous");
  c.set_output(y.with(*result));
}

Sizes indices_of(const Conversion& c, const Tensor& given) {
  if (given.shape().rank() < 2) return c.integers(1);
  if (given.dtype() != DType::i64) {
    c.refuse(
        fmt::format("indices must be int64, got {}", to_string(given.dtype())));
  }
  const auto numbers = given.data<int64_t>();
  return {numbers.begin(), numbers.end()};
}

/// Rows of a constant table by computed indices.
void look_up(Conversion& c) {
  ImportedWeight table = c.weight(0, "embeddings");
  const Shape& shape = table.value.shape();
  if (shape.rank() != 2 || c.axis_of(c.integer("axis", 0), 2) != 0) {
    c.refuse(
        fmt::format("computed indices must select rows of a constant "
                    "[rows,d] along axis 0, got {} and axis {}",
                    shape.to_string(), c.integer("axis", 0)));
  }
  if (table.qparams) c.keep_as_floats(table, "embeddings are float32");
  const ImportedValue& x = c.value(1);
  int batch = 0;
  while (batch < x.rank() && !x.has_batch(batch)) ++batch;
  if (batch == x.rank()) c.refuse("indices must have a batch axis");
  std::vector<int> order = axis_first(x.rank(), batch);
  const SymbolicTensor y =
      c.add(Embedding({.input_dim = shape[0], .output_dim = shape[1]}),
            {c.operand(1, order)}, {table});
  order.push_back(x.rank());
  c.set_output(value_of(y, order));
}

/// Gathers by indices of several dimensions, such as the windows of nn.Unfold.
void gather_table(Conversion& c, const AxisIndices& chosen,
                  const Shape& table) {
  const ImportedValue y = gathered(c, {chosen});
  Dims dims = y.dims();
  const Dims entries = fixed_dims(table.dims());
  dims.insert(dims.erase(dims.begin() + chosen.axis), entries.begin(),
              entries.end());
  if (std::ssize(dims) > Shape::kMaxRank) {
    c.refuse("result must have at most 8 axes");
  }
  const auto result = y.layout.reshaped(dims);
  if (!result) c.refuse("entries of the axis must be contiguous");
  c.set_output(y.with(*result));
}

}  // namespace

ImportedValue gathered(Conversion& c, const std::vector<AxisIndices>& chosen) {
  const LayerAxes axes(c.value(0));
  Operand x = c.operand(axes);
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (c.value(0).has_batch(chosen[i].axis)) {
      c.refuse("axis must not be the batch axis");
    }
    const int64_t at = axes.position(chosen[i].axis);
    const std::string suffix =
        i + 1 == chosen.size() ? "" : fmt::format("/{}", chosen[i].axis);
    x = {c.add(Gather({.indices = chosen[i].indices, .axis = at}), {x}, {},
               suffix.c_str())};
  }
  return axes.back(x.tensor);
}

// Tile and Expand of axes other than the batch.
void convert_tile(Conversion& c) {
  const int rank = c.value(0).rank();
  const Sizes times = c.integers(1);
  if (std::ssize(times) != rank) {
    c.refuse(fmt::format("repeats must have {} numbers, got {}", rank,
                         times.size()));
  }
  repeat(c, times);
}

void repeat(Conversion& c, const Sizes& times) {
  const ImportedValue& given = c.value(0);
  if (std::ranges::all_of(times, [](int64_t t) { return t == 1; })) {
    return c.set_output(given);
  }
  const LayerAxes axes(given);
  Sizes repeats(axes.order.size(), 1);
  for (size_t axis = 0; axis < times.size(); ++axis) {
    if (times[axis] == 1) continue;
    if (given.has_batch(static_cast<int>(axis))) {
      c.refuse("axis must not be the batch axis");
    }
    repeats[static_cast<size_t>(axes.position(static_cast<int64_t>(axis)))] =
        times[axis];
  }
  const Operand x = c.operand(axes);
  c.set_output(axes.back(c.named(tile(x.tensor, repeats), {x})));
}

void convert_gather(Conversion& c) {
  if (c.is_constant(0) && !c.is_constant(1)) return look_up(c);
  const Constant* places = c.graph().constant(c.proto().input(1));
  if (places != nullptr && places->samples_axis && places->samples_step != 0 &&
      c.integer("axis", 0) == 0) {
    return gather_places(c, *places);
  }
  const ImportedValue x = c.value(0);
  const int axis = c.axis_of(c.integer("axis", 0), x.rank());
  const Tensor& given = c.constant(1);
  if (takes_all(c, given)) {
    const auto dims = given.shape().dims();
    return reshape_as(c, fixed_dims(dims));
  }
  if (given.size() == 0) c.refuse("indices must not be empty");
  Sizes indices = indices_of(c, given);
  for (int64_t& index : indices) {
    if (index < 0) index += x.dims()[static_cast<size_t>(axis)].factor;
  }
  if (given.shape().rank() > 1) {
    return gather_table(c, {axis, indices}, given.shape());
  }
  for (size_t i = 1; i < indices.size(); ++i) {
    if (indices[i] == indices[i - 1] + 1) continue;
    return c.set_output(gathered(c, {{axis, indices}}));
  }
  const bool one = given.shape().rank() == 0;
  const bool token = x.rank() == 3 && axis == 1 && one && x.samples_lead() &&
                     !x.dims()[1].is_one();
  if (token && !is_dense_output(x, {axis, 0, 1})) {
    return c.set_output(value_of(c.add(SelectToken({.index = indices[0]}),
                                       {c.operand(0, file_order(3))}),
                                 file_order(2)));
  }
  ImportedValue y = cut_of(c, x, {{axis, indices[0], std::ssize(indices)}},
                           one ? fmt::format("/{}", indices[0]) : "");
  if (one) y.layout = without_axes(y.layout, std::array<int64_t, 1>{axis});
  c.forward_layout(std::move(y));
}

}  // namespace octet::io::importing
