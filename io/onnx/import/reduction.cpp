// Reductions over axes of a sample.
#include <algorithm>

#include <octet/layers/reduce.h>
#include <octet/layers/unary.h>

#include "converters.h"
#include "global_pool.h"

namespace octet::io::importing {
namespace {

/// Returns the axes of a reduction, non-negative and sorted.
Sizes reduced_axes(const Conversion& c, int rank) {
  Sizes axes = c.integers("axes");
  if (c.op().starts_with("Arg")) axes = {c.integer("axis", 0)};
  if (c.has(1)) axes = c.integers(1);
  if (axes.empty()) c.refuse("axes must be given");
  for (int64_t& axis : axes) axis = c.axis_of(axis, rank);
  std::ranges::sort(axes);
  return axes;
}

/// Reduces the axes of the node, any but the batch. Applies `first` to the
/// values before, if not null.
View reduced(Conversion& c, const char* operation,
             const LayerHandle* first = nullptr) {
  const View& given = c.view(0);
  const View view = split_batch_axis(given);
  const int shared = view.rank() - given.rank();  // axes split off the batch
  const auto group = static_cast<int>(given.batch());  // first axis of both
  const bool keepdims = c.integer("keepdims", 1) != 0;
  Sizes axes = reduced_axes(c, given.rank());
  int before = 0;  // reduced axes before the group
  for (int64_t& axis : axes) {
    if (axis == group) c.refuse("axes must not contain the batch axis");
    before += axis < group ? 1 : 0;
    axis += axis > group ? shared : 0;
  }
  const std::vector<int> order = natural_order(view);
  std::vector<int64_t> tensor_axes;  // to reduce
  std::vector<int> remaining;        // ONNX axes of the result, in its order
  for (size_t i = 0; i < order.size(); ++i) {
    const bool gone = std::ranges::find(axes, order[i]) != axes.end();
    if (gone) tensor_axes.push_back(static_cast<int64_t>(i));
    if (!gone || keepdims) remaining.push_back(order[i]);
  }
  // A layer keeps an axis besides the batch.
  const bool only_batch = remaining.size() == 1;
  if (only_batch) remaining = order;
  Operand x{materialize(view, order, c.namer()), c.value(0).qparams};
  if (first != nullptr) x = {c.add(*first, {x}, {}, "/values")};
  const SymbolicTensor y = c.add(Reduce({.operation = operation,
                                         .axes = tensor_axes,
                                         .keepdims = keepdims || only_batch}),
                                 {x});
  if (only_batch) return *reshaped(view_of(y, remaining), {kBatch});
  if (!keepdims) {
    for (int& axis : remaining) {
      axis -= static_cast<int>(
          std::ranges::count_if(axes, [&](int64_t a) { return a < axis; }));
    }
  }
  return merge_axes(view_of(y, remaining),
                    static_cast<size_t>(group - (keepdims ? 0 : before)),
                    static_cast<size_t>(shared) + 1);
}

/// Mean or maximum: pooling if the axes are all spatial axes.
void reduce_pixels(Conversion& c, GlobalPool pooling, const char* operation) {
  const View view = c.view(0);
  const int rank = view.rank();
  const Sizes axes = reduced_axes(c, rank);
  const bool keepdims = c.integer("keepdims", 1) != 0;
  const bool image = rank == 4;
  if (!view.samples_lead() || (rank != 3 && !image)) {
    return c.set_output(reduced(c, operation));
  }
  if (axes == (image ? Sizes{2, 3} : Sizes{2})) {
    return pool_globally(c, pooling, keepdims);
  }
  if (axes == (image ? Sizes{1, 2} : Sizes{1})) {  // tokens, or channels last
    const SymbolicTensor y = c.add(global_pool(pooling, rank - 2, keepdims),
                                   {c.operand(0, file_order(rank))});
    return c.set_output(view_of(y, file_order(y.shape().rank())));
  }
  c.set_output(reduced(c, operation));
}

/// Indices of extrema along an axis.
void convert_index(Conversion& c, const char* operation) {
  if (c.integer("select_last_index", 0) != 0) {
    c.refuse("select_last_index must be 0");
  }
  c.set_output(reduced(c, operation));
  c.mark_integers("int64");
}

}  // namespace

void convert_arg_max(Conversion& c) { convert_index(c, "argmax"); }

void convert_arg_min(Conversion& c) { convert_index(c, "argmin"); }

void convert_reduce_mean(Conversion& c) {
  reduce_pixels(c, GlobalPool::mean, "mean");
}

void convert_reduce_max(Conversion& c) {
  reduce_pixels(c, GlobalPool::max, "max");
}

void convert_reduce_min(Conversion& c) { c.set_output(reduced(c, "min")); }

void convert_reduce_prod(Conversion& c) { c.set_output(reduced(c, "prod")); }

void convert_reduce_sum(Conversion& c) { c.set_output(reduced(c, "sum")); }

void convert_reduce_l1(Conversion& c) {
  const LayerHandle values = Unary("abs");
  c.set_output(reduced(c, "sum", &values));
}

void convert_reduce_sum_square(Conversion& c) {
  const LayerHandle squares = Unary("square");
  c.set_output(reduced(c, "sum", &squares));
}

void convert_reduce_l2(Conversion& c) {
  const LayerHandle squares = Unary("square");
  View y = reduced(c, "sum", &squares);
  y.tensor = c.add(Unary("sqrt"), {{y.tensor}}, {}, "/root");
  c.set_output(std::move(y));
}

void convert_reduce_log_sum(Conversion& c) {
  View y = reduced(c, "sum");
  y.tensor = c.add(Unary("log"), {{y.tensor}}, {}, "/log");
  c.set_output(std::move(y));
}

}  // namespace octet::io::importing
