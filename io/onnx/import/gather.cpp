// Gather and Tile.
#include "gather.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/gather.h>
#include <octet/layers/ops.h>
#include <octet/layers/select_token.h>

#include "converters.h"
#include "cut.h"
#include "inputs.h"

namespace octet::io::importing {
namespace {

/// Whether the indices list all values in order, as dynamo writes
/// as_strided().
bool takes_all(const Conversion& c, const Tensor& indices) {
  const View& view = c.view(0);
  if (view.rank() != 1 || indices.dtype() != DType::i64 ||
      indices.shape().rank() < 2 || indices.size() % sample_size(view) != 0 ||
      indices.size() / sample_size(view) != fixed_batch(c.graph())) {
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
  const int64_t size = sample_size(x.view);
  const auto numbers = places.value.data<int64_t>();
  const bool own = std::ranges::all_of(
      numbers, [&](int64_t place) { return place >= 0 && place < size; });
  if (x.view.rank() != 1 || places.samples_axis != 0 ||
      places.samples_step != size || !own) {
    c.refuse("indices must select entries of each sample for that sample");
  }
  Sizes sizes(places.value.shape().dims().begin(),
              places.value.shape().dims().end());
  sizes[0] = kBatch;
  const auto samples = reshaped(x.view, {kBatch, size});
  if (!samples) c.refuse("values must be stored sample by sample");
  View y = *samples;
  bool all = std::ssize(numbers) == size;
  for (size_t i = 0; all && i < numbers.size(); ++i) {
    all = std::cmp_equal(numbers[i], i);
  }
  if (!all) {
    c.set_value(0, {y, x.qparams});
    y = gathered(c, {{1, {numbers.begin(), numbers.end()}}});
  }
  const auto result = reshaped(y, sizes);
  if (!result) c.refuse("entries must be contiguous");
  if (all) return c.forward_layout(*result);
  c.set_output(*result);
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

/// Gathers by indices of several dimensions, such as the windows of nn.Unfold.
void gather_table(Conversion& c, const AxisIndices& chosen,
                  const Shape& table) {
  const auto axis = static_cast<size_t>(chosen.axis);
  if (axis == c.view(0).batch()) {
    c.refuse("axis must not be the batch axis");
  }
  const View y = gathered(c, {chosen});
  Sizes sizes = sizes_of(y);
  const auto at = sizes.begin() + static_cast<std::ptrdiff_t>(axis);
  const auto dims = table.dims();
  sizes.insert(sizes.erase(at), dims.begin(), dims.end());
  if (std::ssize(sizes) > Shape::kMaxRank) {
    c.refuse("result must have at most 8 axes");
  }
  const auto result = reshaped(y, sizes);
  if (!result) c.refuse("entries of the axis must be contiguous");
  c.set_output(*result);
}

}  // namespace

View gathered(Conversion& c, const std::vector<AxisIndices>& chosen) {
  const std::vector<int> order = natural_order(c.view(0));
  Operand x = c.operand(0, order);
  for (size_t i = 0; i < chosen.size(); ++i) {
    const auto at = std::ranges::find(order, chosen[i].axis) - order.begin();
    const std::string suffix =
        i + 1 == chosen.size() ? "" : fmt::format("/{}", chosen[i].axis);
    x = {c.add(Gather({.indices = chosen[i].indices, .axis = at}), {x}, {},
               suffix.c_str())};
  }
  return view_of(x.tensor, order);
}

// Tile and Expand of axes other than the batch.
void convert_tile(Conversion& c) {
  const View& view = c.view(0);
  const Sizes times = c.integers(1);
  if (std::ssize(times) != view.rank()) {
    c.refuse(fmt::format("repeats must have {} numbers, got {}", view.rank(),
                         times.size()));
  }
  repeat(c, times);
}

void repeat(Conversion& c, const Sizes& times) {
  const View view = c.view(0);
  if (std::ranges::all_of(times, [](int64_t t) { return t == 1; })) {
    return c.forward_layout(view);
  }
  const std::vector<int> order = natural_order(view);
  Sizes repeats;
  for (const int axis : order) {
    repeats.push_back(times[static_cast<size_t>(axis)]);
  }
  const Operand x = c.operand(0, order);
  c.set_output(view_of(c.named(tile(x.tensor, repeats), {x}), order));
}

void convert_gather(Conversion& c) {
  const Constant* places = c.graph().constant(c.proto().input(1));
  if (places != nullptr && places->samples_axis && places->samples_step != 0 &&
      c.integer("axis", 0) == 0) {
    return gather_places(c, *places);
  }
  const ImportedValue x = c.value(0);
  const int rank = x.view.rank();
  const auto axis = static_cast<size_t>(c.axis_of(c.integer("axis", 0), rank));
  const Tensor& given = c.constant(1);
  if (takes_all(c, given)) {
    const auto dims = given.shape().dims();
    return reshape_as(c, {dims.begin(), dims.end()});
  }
  if (given.size() == 0) c.refuse("indices must not be empty");
  Sizes indices = indices_of(c, given);
  for (int64_t& index : indices) {
    if (index < 0) index += sizes_of(x.view)[axis];
  }
  if (given.shape().rank() > 1) {
    return gather_table(c, {static_cast<int>(axis), indices}, given.shape());
  }
  for (size_t i = 1; i < indices.size(); ++i) {
    if (indices[i] == indices[i - 1] + 1) continue;
    if (axis == x.view.batch()) {
      c.refuse("axis must not be the batch axis");
    }
    return c.set_output(gathered(c, {{static_cast<int>(axis), indices}}));
  }
  const bool one = given.shape().rank() == 0;
  const bool token = rank == 3 && axis == 1 && one && x.view.samples_lead() &&
                     !x.view.axes[1].empty();
  if (token && !is_dense_output(x, {axis, 0, 1})) {
    return c.set_output(view_of(c.add(SelectToken({.index = indices[0]}),
                                      {c.operand(0, file_order(3))}),
                                file_order(2)));
  }
  View y = cut_of(c, x, {{axis, indices[0], std::ssize(indices)}},
                  one ? fmt::format("/{}", indices[0]) : "");
  if (one) {
    y.axes.erase(y.axes.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  c.forward_layout(std::move(y));
}

}  // namespace octet::io::importing
