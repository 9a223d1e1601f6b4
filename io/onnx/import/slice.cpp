// Parts of a value: Slice, Split, Gather of neighbours.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/layers/dense.h>
#include <octet/layers/gather.h>
#include <octet/layers/get_item.h>
#include <octet/layers/select_token.h>
#include <octet/runtime/error.h>

#include "constant_values.h"
#include "converters.h"
#include "gathered.h"
#include "inputs.h"
#include "join.h"
#include "padding.h"

namespace octet::io::importing {
namespace {

/// Entries first, first + step, ..., `count` of them, of an ONNX axis.
struct Cut {
  size_t axis = 0;
  int64_t first = 0;
  int64_t count = 0;
  int64_t step = 1;
};

/// The part of the features of a Dense layer that the axis is, if it is one and
/// nothing else: packed queries, keys and values.
bool is_dense_output(const Value& x, const Cut& cut) {
  const Layer& layer = *x.view.tensor.node->layer;
  if (layer.class_name() != "Dense" || layer.activation() != "linear" ||
      x.view.axes[cut.axis].size() != 1 || x.grid != nullptr || cut.step != 1) {
    return false;
  }
  // Parts before `units` are those of tokens.
  const Shape& shape = x.view.tensor.shape();
  const int64_t before = shape.slice(1, shape.rank() - 1).size();
  int64_t outer = 1;
  for (size_t part = 1; part < x.view.axes[cut.axis][0]; ++part) {
    outer *= x.view.parts[part];
  }
  return outer % before == 0;
}

/// The columns of a weight [c,units], or the entries of [units], that a cut of
/// the axis leaves: `inner` neighbours of each of its entries.
Tensor columns_of(const Tensor& weight, int64_t size, int64_t inner,
                  const Cut& cut) {
  const int64_t rows = weight.size() / (size * inner);
  Tensor result(Shape{rows, cut.count * inner});
  const auto from = weight.f32();
  const auto to = result.f32();
  for (int64_t row = 0; row < rows; ++row) {
    const auto source =
        from.subspan(static_cast<size_t>((row * size + cut.first) * inner),
                     static_cast<size_t>(cut.count * inner));
    std::ranges::copy(source, to.begin() + row * cut.count * inner);
  }
  return result;
}

/// A Dense layer of those outputs alone, beside the one that has all.
View cut_dense(Conversion& c, const Value& x, const Cut& cut,
               const std::string& suffix) {
  const GraphNode& node = *x.view.tensor.node;
  const size_t part = x.view.axes[cut.axis][0];
  const int64_t size = x.view.parts[part];
  const int64_t inner = std::accumulate(
      x.view.parts.begin() + static_cast<std::ptrdiff_t>(part) + 1,
      x.view.parts.end(), int64_t{1}, std::multiplies<>());
  std::vector<Weight> weights;
  for (const Parameter& p : node.layer->parameters()) {
    const Shape shape = p.variable.shape();
    const Tensor columns = columns_of(p.variable.value(), size, inner, cut);
    const int64_t units = columns.size() / (shape.rank() == 2 ? shape[0] : 1);
    weights.push_back({p.name, columns.reshaped(shape.with(-1, units))});
  }
  View y = x.view;
  y.tensor =
      c.part_of_layer(node,
                      Dense({.units = weights[0].value.shape()[1],
                             .use_bias = weights.size() > 1}),
                      weights, {size, inner, cut.first, cut.count}, suffix);
  y.parts[part] = cut.count;
  return y;
}

/// Without a part of one entry.
View without_ones(View view) {
  for (size_t part = view.parts.size(); part-- > 0;) {
    if (view.parts[part] != 1) continue;
    view.parts.erase(view.parts.begin() + static_cast<std::ptrdiff_t>(part));
    for (auto& axis : view.axes) {
      std::erase(axis, part);
      for (size_t& p : axis) p -= p > part ? 1 : 0;
    }
  }
  return view;
}

View cut_any(Conversion& c, const View& given, const Cut& cut) {
  const View view = apart(given);
  const auto more = static_cast<size_t>(view.rank() - given.rank());
  const size_t cut_axis = cut.axis + (cut.axis > given.batch() ? more : 0);
  const std::vector<int> order = natural_order(view);
  std::vector<Index> index;
  for (const int axis : order) {
    if (std::cmp_equal(axis, cut_axis)) {
      const int64_t last = cut.first + cut.count * cut.step;
      index.push_back(Slice(
          cut.first, last < 0 ? std::nullopt : std::optional(last), cut.step));
      break;
    }
    index.push_back(Slice());
  }
  const View y = view_of(c.add(GetItem({.index = std::move(index)}),
                               {{arranged(view, order, c.namer())}}),
                         order);
  return joined(y, given.batch(), 1 + more);
}

View cut_of(Conversion& c, const Value& x, const Cut& cut,
            const std::string& suffix = "") {
  const int64_t size = sizes_of(x.view)[cut.axis];
  if (has_batch(size)) {
    c.refuse("axis: expected one of a sample, got that of samples");
  }
  const int64_t last = cut.first + (cut.count - 1) * cut.step;
  if (cut.count < 1 || std::min(cut.first, last) < 0 ||
      std::max(cut.first, last) >= size) {
    c.refuse(fmt::format("expected entries of {} on axis {}, got {} from {} on",
                         importing::text_of(x.view), cut.axis, cut.count,
                         cut.first));
  }
  if (cut.count == size && cut.step == 1) return x.view;
  if (is_dense_output(x, cut)) {
    return without_ones(cut_dense(c, x, cut, suffix));
  }
  return cut_any(c, x.view, cut);
}

/// Whether a list of all values is taken, in order: what dynamo makes of
/// as_strided.
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

}  // namespace

void convert_slice(Conversion& c) {
  const View& view = c.view(0);
  const int rank = view.rank();
  const Sizes sizes = sizes_of(view);
  const bool old = c.opset() < 10;
  const Sizes starts = old ? c.integers("starts") : c.integers(1);
  const Sizes stops = old ? c.integers("ends") : c.sizes(2);
  Sizes axes = old ? c.integers("axes") : c.has(3) ? c.integers(3) : Sizes();
  const Sizes steps = !old && c.has(4) ? c.integers(4) : Sizes();
  if (axes.empty()) {
    for (size_t i = 0; i < starts.size(); ++i) {
      axes.push_back(static_cast<int64_t>(i));
    }
  }
  if (starts.size() != axes.size() || stops.size() != axes.size()) {
    c.refuse("expected a start and an end for each axis");
  }
  if (!steps.empty() && steps.size() != axes.size()) {
    c.refuse("expected a step for each axis");
  }
  std::vector<Cut> cuts;
  AxisEnds ends{Sizes(static_cast<size_t>(rank)),
                Sizes(static_cast<size_t>(rank))};
  bool neighbours = true;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(c.axis_of(axes[i], rank));
    const int64_t size = sizes[axis];
    const int64_t step = steps.empty() ? 1 : steps[i];
    if (step == 0) c.refuse("steps: expected steps but 0, got 0");
    const bool to_samples = has_batch(stops[i]);
    const bool to_end = to_samples ? stops[i] == size : stops[i] >= INT32_MAX;
    if (has_batch(size) && starts[i] == 0 && to_end && step == 1) continue;
    if (has_batch(size) || to_samples) {
      c.refuse("axes: expected those of a sample, got that of samples");
    }
    // Ends count and are cut as Python's are.
    const std::vector<Index> index{Slice(starts[i], stops[i], step)};
    const AxisPart part = parts_of({size}, index)[0];
    cuts.push_back({axis, part.first, part.count, part.step});
    neighbours &= part.step == 1 && part.count > 0;
    ends.begin[axis] = -part.first;
    ends.end[axis] = -(size - part.first - part.count);
  }
  if (neighbours && pad_or_crop(c, ends)) return;
  Value x = c.value(0);
  for (const Cut& cut : cuts) x.view = cut_of(c, x, cut);
  c.pass(std::move(x.view));
}

void convert_split(Conversion& c) {
  const Value x = c.value(0);
  const int rank = x.view.rank();
  const auto axis = static_cast<size_t>(c.axis_of(c.integer("axis", 0), rank));
  const int64_t size = sizes_of(x.view)[axis];
  const auto outputs = static_cast<int64_t>(c.proto().output_size());
  Sizes parts = c.has(1) ? c.integers(1) : c.integers("split");
  if (parts.empty() && size > 0) {
    // The last one may be smaller, since opset 18.
    const int64_t each = (size + outputs - 1) / outputs;
    for (int64_t i = 0; i < outputs; ++i) {
      parts.push_back(std::min(each, size - i * each));
    }
  }
  if (std::ssize(parts) != outputs ||
      std::ranges::any_of(parts,
                          [&](int64_t p) { return p < 1 || p > size; }) ||
      std::accumulate(parts.begin(), parts.end(), int64_t{0}) != size) {
    c.refuse(fmt::format("split: expected {} parts of {}, got [{}]", outputs,
                         size, fmt::join(parts, ",")));
  }
  int64_t first = 0;
  for (int i = 0; i < c.proto().output_size(); ++i) {
    const int64_t count = parts[static_cast<size_t>(i)];
    if (c.graph().uses(c.proto().output(i)) > 0) {
      c.pass(cut_of(c, x, {axis, first, count}, fmt::format("/{}", i)), i);
    }
    first += count;
  }
}

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

// Neighbours along the first axis in place of those that were there, as
// PyTorch's x[:, 2:5] = y.
void convert_scatter_nd(Conversion& c) {
  const std::string reduction = c.text("reduction", "none");
  if (reduction != "none") {
    c.refuse(fmt::format("reduction: expected none, got '{}'", reduction));
  }
  const Tensor& places = c.constant(1);
  make_values(c, {0, 2});
  const Value x = c.value(0);
  const int64_t size = sizes_of(x.view)[0];
  const auto numbers = places.dtype() == DType::i64
                           ? places.data<int64_t>()
                           : std::span<const int64_t>();
  const auto count = std::ssize(numbers);
  const int64_t first =
      count == 0 ? 0 : numbers[0] + (numbers[0] < 0 ? size : 0);
  bool neighbours = count > 0 && places.shape() == Shape{count, 1};
  for (int64_t i = 0; neighbours && i < count; ++i) {
    const int64_t place = numbers[static_cast<size_t>(i)];
    neighbours = (place < 0 ? place + size : place) == first + i;
  }
  if (!neighbours || has_batch(size) || first < 0 || first + count > size) {
    c.refuse(fmt::format(
        "expected places that are neighbours on the first axis, that of a "
        "sample, got {} in {}",
        places.shape().to_string(), importing::text_of(x.view)));
  }
  Sizes replaced = sizes_of(x.view);
  replaced[0] = count;
  View y = c.view(2);
  if (sizes_of(y) != replaced) {
    c.refuse("expected as much as is replaced, got another size");
  }
  if (count == size) {
    c.set_value(0, c.value(2));
    return c.pass(std::move(y));
  }
  // The inputs that are joined, in their order: before, in place, behind.
  c.set_value(1, c.value(2));
  std::vector<int> parts{1};
  if (first > 0) {
    c.set_value(0, {cut_of(c, x, {0, 0, first}, "/before"), x.grid});
    parts.insert(parts.begin(), 0);
  }
  const int64_t behind = first + count;
  if (behind < size) {
    c.set_value(2,
                {cut_of(c, x, {0, behind, size - behind}, "/behind"), x.grid});
    parts.push_back(2);
  }
  concatenate(c, parts, 0);
}

// Tile and Expand, of axes of a sample.
void convert_tile(Conversion& c) {
  const View& view = c.view(0);
  const Sizes times = c.integers(1);
  if (std::ssize(times) != view.rank()) {
    c.refuse(fmt::format("repeats: expected {} numbers, got {}", view.rank(),
                         times.size()));
  }
  repeat(c, times);
}

void repeat(Conversion& c, const Sizes& times) {
  const View view = c.view(0);
  const Sizes sizes = sizes_of(view);
  constexpr int64_t kMost = 1 << 20;
  std::vector<AxisIndices> chosen;
  for (int axis = 0; axis < view.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    if (times[i] == 1) continue;
    if (has_batch(sizes[i]) || times[i] < 1 || times[i] > kMost ||
        times[i] * sizes[i] > kMost) {
      c.refuse(
          fmt::format("expected axes of a sample to be repeated, up to {} "
                      "entries, got axis {} {} times",
                      kMost, axis, times[i]));
    }
    AxisIndices repeated{axis, {}};
    for (int64_t k = 0; k < times[i] * sizes[i]; ++k) {
      repeated.indices.push_back(k % sizes[i]);
    }
    chosen.push_back(std::move(repeated));
  }
  if (chosen.empty()) return c.pass(view);
  c.give(gathered(c, chosen));
}

/// Places among all values, those of a sample being its own; as dynamo writes
/// as_strided().
static void gather_places(Conversion& c, const Constant& places) {
  const Value x = c.value(0);
  const int64_t size = sample_size(x.view);
  const auto numbers = places.value.data<int64_t>();
  const bool own = std::ranges::all_of(
      numbers, [&](int64_t place) { return place >= 0 && place < size; });
  if (x.view.rank() != 1 || places.samples_axis != 0 ||
      places.samples_step != size || !own) {
    c.refuse("expected entries of a sample for each sample, got others");
  }
  Sizes sizes(places.value.shape().dims().begin(),
              places.value.shape().dims().end());
  sizes[0] = kBatch;
  View y = *reshaped(x.view, {kBatch, size});
  bool all = std::ssize(numbers) == size;
  for (size_t i = 0; all && i < numbers.size(); ++i) {
    all = std::cmp_equal(numbers[i], i);
  }
  if (!all) {
    c.set_value(0, {y, x.grid});
    y = gathered(c, {{1, {numbers.begin(), numbers.end()}}});
  }
  const auto result = reshaped(y, sizes);
  if (!result) c.refuse("expected entries as they lie, got others");
  if (all) return c.pass(*result);
  c.give(*result);
}

void convert_gather(Conversion& c) {
  const Constant* places = c.graph().constant(c.proto().input(1));
  if (places != nullptr && places->samples_axis && places->samples_step != 0 &&
      c.integer("axis", 0) == 0) {
    return gather_places(c, *places);
  }
  const Value x = c.value(0);
  const int rank = x.view.rank();
  const auto axis = static_cast<size_t>(c.axis_of(c.integer("axis", 0), rank));
  const Tensor& given = c.constant(1);
  if (takes_all(c, given)) {
    const auto dims = given.shape().dims();
    return reshape_as(c, {dims.begin(), dims.end()});
  }
  if (given.shape().rank() > 1 || given.size() == 0) {
    c.refuse(fmt::format("expected one index or a list, got {}",
                         given.shape().to_string()));
  }
  Sizes indices = c.integers(1);
  for (int64_t& index : indices) {
    if (index < 0) index += sizes_of(x.view)[axis];
  }
  for (size_t i = 1; i < indices.size(); ++i) {
    if (indices[i] == indices[i - 1] + 1) continue;
    if (axis == x.view.batch()) {
      c.refuse("axis: expected one of a sample, got that of samples");
    }
    return c.give(gathered(c, {{static_cast<int>(axis), indices}}));
  }
  const bool one = given.shape().rank() == 0;
  const bool token = rank == 3 && axis == 1 && one && x.view.samples_lead() &&
                     !x.view.axes[1].empty();
  if (token && !is_dense_output(x, {axis, 0, 1})) {
    return c.give(view_of(c.add(SelectToken({.index = indices[0]}),
                                {c.operand(0, file_order(3))}),
                          file_order(2)));
  }
  View y = cut_of(c, x, {axis, indices[0], std::ssize(indices)},
                  one ? fmt::format("/{}", indices[0]) : "");
  if (one) {
    y.axes.erase(y.axes.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  c.pass(std::move(y));
}

}  // namespace octet::io::importing
