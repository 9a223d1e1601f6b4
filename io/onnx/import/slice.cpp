// Slice, Split and ScatterND.
#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/runtime/detail/tensor_parts.h>
#include <octet/runtime/error.h>

#include "constant_values.h"
#include "converters.h"
#include "cut.h"
#include "join.h"

namespace octet::io::importing {

void convert_slice(Conversion& c) {
  const ImportedValue& x = c.value(0);
  const Dims dims = x.dims();
  const bool old = c.opset() < 10;
  const Sizes starts = old ? c.integers("starts") : c.integers(1);
  const Dims stops = old ? fixed_dims(c.integers("ends")) : c.sizes(2);
  Sizes axes = old ? c.integers("axes") : c.has(3) ? c.integers(3) : Sizes();
  Sizes steps = !old && c.has(4) ? c.integers(4) : Sizes();
  for (size_t i = axes.size(); axes.size() == i && i < starts.size(); ++i) {
    axes.push_back(static_cast<int64_t>(i));
  }
  if (steps.empty()) steps.assign(axes.size(), 1);
  if (starts.size() != axes.size() || stops.size() != axes.size()) {
    c.refuse("starts and ends must have an entry for each axis");
  }
  if (steps.size() != axes.size()) {
    c.refuse("steps must have an entry for each axis");
  }
  std::vector<Cut> cuts;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = c.axis_of(axes[i], x.rank());
    const auto [size, samples] = dims[static_cast<size_t>(axis)];
    const auto [stop, batch] = stops[i];
    if (steps[i] == 0) c.refuse("steps must not be 0");
    const bool to_end = batch ? samples && stop == size : stop >= INT32_MAX;
    if (samples && starts[i] == 0 && to_end && steps[i] == 1) continue;
    if (samples || batch) c.refuse("axes must not contain the batch axis");
    // Starts and ends are clamped as in Python.
    const std::vector<Index> index{Slice(starts[i], stop, steps[i])};
    const AxisPart part = parts_of({size}, index)[0];
    cuts.push_back({axis, part.first, part.count, part.step});
  }
  ImportedValue y = cut_of(c, x, cuts);
  if (y.tensor.node == x.tensor.node) c.report("nothing to do");
  c.forward_layout(std::move(y));
}

void convert_split(Conversion& c) {
  const ImportedValue x = c.value(0);
  const int axis = c.axis_of(c.integer("axis", 0), x.rank());
  if (x.has_batch(axis)) c.refuse("axis must not be the batch axis");
  const int64_t size = x.dims()[static_cast<size_t>(axis)].factor;
  const auto outputs = static_cast<int64_t>(c.proto().output_size());
  Sizes parts = c.has(1) ? c.integers(1) : c.integers("split");
  if (parts.empty() && size > 0) {
    // Since opset 18, the last part may be smaller.
    const int64_t each = (size + outputs - 1) / outputs;
    for (int64_t i = 0; i < outputs; ++i) {
      parts.push_back(std::min(each, size - i * each));
    }
  }
  if (std::ssize(parts) != outputs ||
      std::ranges::any_of(parts,
                          [&](int64_t p) { return p < 1 || p > size; }) ||
      std::accumulate(parts.begin(), parts.end(), int64_t{0}) != size) {
    c.refuse(fmt::format("split must have {} parts with the sum {}, got [{}]",
                         outputs, size, fmt::join(parts, ",")));
  }
  int64_t first = 0;
  for (int i = 0; i < c.proto().output_size(); ++i) {
    const int64_t count = parts[static_cast<size_t>(i)];
    if (c.graph().uses(c.proto().output(i)) > 0) {
      c.forward_layout(
          cut_of(c, x, {{axis, first, count}}, fmt::format("/{}", i)), i);
    }
    first += count;
  }
}

// Replaces contiguous entries of the first axis, as PyTorch's x[:, 2:5] = y.
void convert_scatter_nd(Conversion& c) {
  const std::string reduction = c.text("reduction", "none");
  if (reduction != "none") {
    c.refuse(fmt::format("reduction must be none, got '{}'", reduction));
  }
  const Tensor& places = c.constant(1);
  make_values(c, {0, 2});
  const ImportedValue x = c.value(0);
  Dims dims = x.dims();
  if (dims.empty()) c.refuse("input must have axes");
  const auto [size, samples] = dims[0];
  const auto numbers = places.dtype() == DType::i64
                           ? places.data<int64_t>()
                           : std::span<const int64_t>();
  const auto count = std::ssize(numbers);
  const int64_t first =
      count == 0 ? 0 : numbers[0] + (numbers[0] < 0 ? size : 0);
  bool neighbors = count > 0 && places.shape() == Shape{count, 1};
  for (int64_t i = 0; neighbors && i < count; ++i) {
    const int64_t place = numbers[static_cast<size_t>(i)];
    neighbors = (place < 0 ? place + size : place) == first + i;
  }
  if (!neighbors || samples || first < 0 || first + count > size) {
    c.refuse(fmt::format(
        "indices must be contiguous entries of the first axis, which must not "
        "be the batch, got {} for {}",
        places.shape().to_string(), x.text()));
  }
  dims[0].factor = count;
  if (c.value(2).dims() != dims) {
    c.refuse("updates must have the size of the replaced entries");
  }
  if (count == size) return c.set_output(c.value(2));
  const auto part = [&](int64_t from, int64_t entries, const char* suffix) {
    ImportedValue y = cut_of(c, x, {{0, from, entries}}, suffix);
    y.qparams = x.qparams;
    return y;
  };
  // Concatenates the entries before, the updates and the entries behind.
  c.set_value(1, c.value(2));
  std::vector<int> parts{1};
  if (first > 0) {
    c.set_value(0, part(0, first, "/before"));
    parts.insert(parts.begin(), 0);
  }
  const int64_t behind = first + count;
  if (behind < size) {
    c.set_value(2, part(behind, size - behind, "/behind"));
    parts.push_back(2);
  }
  concatenate(c, parts, 0);
}

}  // namespace octet::io::importing
