// Pooling over windows and over whole images and sequences.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/layers/average_pooling1d.h>
#include <octet/layers/average_pooling2d.h>
#include <octet/layers/global_average_pooling1d.h>
#include <octet/layers/global_average_pooling2d.h>
#include <octet/layers/global_max_pooling1d.h>
#include <octet/layers/global_max_pooling2d.h>
#include <octet/layers/max_pooling1d.h>
#include <octet/layers/max_pooling2d.h>
#include <octet/layers/reduce.h>
#include <octet/layers/unary.h>
#include <octet/layers/zero_padding1d.h>
#include <octet/layers/zero_padding2d.h>
#include <octet/runtime/error.h>

#include "converters.h"
#include "window_attributes.h"

namespace octet::io::importing {
namespace {

WindowAttributes pool_window(const Conversion& c, const Shape& x) {
  const Sizes size = c.integers("kernel_shape");
  if (std::ssize(size) != x.rank() - 2) {
    c.refuse(fmt::format("kernel_shape must have {} numbers, got [{}]",
                         x.rank() - 2, fmt::join(size, ",")));
  }
  const WindowAttributes window = window_of(c, x, size);
  if (window.dilated()) c.refuse("dilations must be 1");
  return window;
}

/// Whether all consumers remove the spatial axes, so that pooling may drop
/// them.
bool is_flattened(const Conversion& c) {
  const auto consumers = c.graph().consumers(c.output());
  return !consumers.empty() && !c.graph().is_output(c.output()) &&
         std::ranges::all_of(consumers, [](const ImportNode* consumer) {
           return is_op(*consumer, "Flatten") || is_op(*consumer, "Squeeze") ||
                  is_op(*consumer, "Reshape");
         });
}

template <class Over1D, class Over2D>
void pool_globally(Conversion& c, bool keepdims) {
  const Operand x = pixels_of(c, 0);
  const int rank = x.tensor.shape().rank();
  const bool features = !keepdims || is_flattened(c);
  const auto layer = [&]() -> LayerHandle {
    if (rank == 3) return Over1D({.keepdims = !features});
    return Over2D({.keepdims = !features});
  };
  const SymbolicTensor y = c.add(layer(), {x});
  if (!features) return c.give(channels_first(y));
  View view = view_of(y, std::array{0, 1});
  if (keepdims) view.axes.resize(static_cast<size_t>(rank));
  c.give(std::move(view));
}

/// Returns the axes of a reduction, non-negative and sorted.
Sizes reduced_axes(const Conversion& c, int rank) {
  Sizes axes = c.integers("axes");
  if (c.has(1)) axes = c.integers(1);
  if (axes.empty()) c.refuse("axes must be given");
  for (int64_t& axis : axes) axis = c.axis_of(axis, rank);
  std::ranges::sort(axes);
  return axes;
}

/// Reduces any axes but the batch. Applies `first` to the values before, if not
/// null.
View reduced(Conversion& c, const char* operation, Sizes axes, bool keepdims,
             const LayerHandle* first = nullptr) {
  const View& given = c.view(0);
  const View view = split_batch_axis(given);
  const int shared = view.rank() - given.rank();  // axes split off the batch
  const auto group = static_cast<int>(given.batch());  // first axis of both
  int before = 0;  // reduced axes before the group
  for (int64_t& axis : axes) {
    if (axis == group) c.refuse("axes must not contain the batch axis");
    before += axis < group ? 1 : 0;
    axis += axis > group ? shared : 0;
  }
  const std::vector<int> order = natural_order(view);
  std::vector<int64_t> reduced_axes;  // of the tensor
  std::vector<int> remaining;         // ONNX axes of the result, in its order
  for (size_t i = 0; i < order.size(); ++i) {
    const bool gone = std::ranges::find(axes, order[i]) != axes.end();
    if (gone) reduced_axes.push_back(static_cast<int64_t>(i));
    if (!gone || keepdims) remaining.push_back(order[i]);
  }
  // A layer keeps an axis besides the batch.
  const bool only_batch = remaining.size() == 1;
  if (only_batch) remaining = order;
  Operand x{materialize(view, order, c.namer()), c.value(0).qparams};
  if (first != nullptr) x = {c.add(*first, {x}, {}, "/values")};
  const SymbolicTensor y = c.add(Reduce({.operation = operation,
                                         .axes = reduced_axes,
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

/// reduced() over the axes of the node.
View reduced(Conversion& c, const char* operation,
             const LayerHandle* first = nullptr) {
  return reduced(c, operation, reduced_axes(c, c.view(0).rank()),
                 c.integer("keepdims", 1) != 0, first);
}

/// Mean or maximum: pooling if the axes are all spatial axes.
template <class Over1D, class Over2D>
void reduce_pixels(Conversion& c, const char* operation) {
  const View view = c.view(0);
  const int rank = view.rank();
  const Sizes axes = reduced_axes(c, rank);
  const bool keepdims = c.integer("keepdims", 1) != 0;
  if (!view.samples_lead()) return c.give(reduced(c, operation));
  if (rank == 4 && axes == Sizes{2, 3}) {
    return pool_globally<Over1D, Over2D>(c, keepdims);
  }
  if (rank == 3 && axes == Sizes{2}) {
    return pool_globally<Over1D, Over2D>(c, keepdims);
  }
  if (rank == 3 && axes == Sizes{1}) {  // over tokens [N,t,d]
    const SymbolicTensor y =
        c.add(Over1D({.keepdims = keepdims}), {c.operand(0, file_order(3))});
    return c.give(view_of(y, file_order(y.shape().rank())));
  }
  if (rank == 4 && axes == Sizes{1, 2}) {  // over images [N,h,w,c]
    const SymbolicTensor y =
        c.add(Over2D({.keepdims = keepdims}), {c.operand(0, file_order(4))});
    return c.give(view_of(y, file_order(y.shape().rank())));
  }
  c.give(reduced(c, operation));
}

bool is_padded(const WindowAttributes& w) {
  const auto is_some = [](int64_t n) { return n != 0; };
  return std::ranges::any_of(w.begin, is_some) ||
         std::ranges::any_of(w.end, is_some);
}

/// Pads the image with zeros, which the means include.
Operand with_zeros(Conversion& c, const Operand& x, WindowAttributes& w) {
  const bool image = w.size.size() == 2;
  const auto layer = [&]() -> LayerHandle {
    if (!image) {
      return ZeroPadding1D({.padding = Ends(w.begin[0], w.end[0])});
    }
    return ZeroPadding2D(
        {.padding = Pads(w.begin[0], w.end[0], w.begin[1], w.end[1])});
  };
  const SymbolicTensor y = c.add(layer(), {{x.tensor}}, {}, "/pad");
  w.begin.assign(w.begin.size(), 0);
  w.end = w.begin;
  return {y, x.qparams};
}

}  // namespace

void convert_max_pool(Conversion& c) {
  if (c.proto().output_size() > 1 && !c.proto().output(1).empty()) {
    c.refuse("the output of indices is not supported");
  }
  const Operand x = pixels_of(c, 0);
  const Shape& in = x.tensor.shape();
  const WindowAttributes w = pool_window(c, in);
  if (in.rank() == 3) {
    return c.give(channels_first(
        c.add(MaxPooling1D({.pool_size = w.size[0],
                            .strides = w.strides[0],
                            .padding = w.padding_of_sequence(in)}),
              {x})));
  }
  c.give(channels_first(c.add(MaxPooling2D({.pool_size = w.over(w.size),
                                            .strides = w.over(w.strides),
                                            .padding = w.padding(in)}),
                              {x})));
}

void convert_average_pool(Conversion& c) {
  Operand x = pixels_of(c, 0);
  WindowAttributes w = pool_window(c, x.tensor.shape());
  if (c.integer("count_include_pad", 0) != 0 && is_padded(w)) {
    if (c.integer("ceil_mode", 0) != 0) {
      c.refuse(
          "count_include_pad must be 0 if ceil_mode is 1: the windows would "
          "count padding only in part");
    }
    x = with_zeros(c, x, w);
  }
  const Shape in = x.tensor.shape();
  if (in.rank() == 3) {
    return c.give(channels_first(
        c.add(AveragePooling1D({.pool_size = w.size[0],
                                .strides = w.strides[0],
                                .padding = w.padding_of_sequence(in)}),
              {x})));
  }
  c.give(channels_first(c.add(AveragePooling2D({.pool_size = w.over(w.size),
                                                .strides = w.over(w.strides),
                                                .padding = w.padding(in)}),
                              {x})));
}

void convert_global_average_pool(Conversion& c) {
  pool_globally<GlobalAveragePooling1D, GlobalAveragePooling2D>(c, true);
}

void convert_global_max_pool(Conversion& c) {
  pool_globally<GlobalMaxPooling1D, GlobalMaxPooling2D>(c, true);
}

void convert_reduce_mean(Conversion& c) {
  reduce_pixels<GlobalAveragePooling1D, GlobalAveragePooling2D>(c, "mean");
}

void convert_reduce_max(Conversion& c) {
  reduce_pixels<GlobalMaxPooling1D, GlobalMaxPooling2D>(c, "max");
}

void convert_reduce_min(Conversion& c) { c.give(reduced(c, "min")); }

void convert_reduce_prod(Conversion& c) { c.give(reduced(c, "prod")); }

void convert_reduce_sum(Conversion& c) { c.give(reduced(c, "sum")); }

void convert_reduce_l1(Conversion& c) {
  const LayerHandle values = Unary("abs");
  c.give(reduced(c, "sum", &values));
}

void convert_reduce_sum_square(Conversion& c) {
  const LayerHandle squares = Unary("square");
  c.give(reduced(c, "sum", &squares));
}

void convert_reduce_l2(Conversion& c) {
  const LayerHandle squares = Unary("square");
  View y = reduced(c, "sum", &squares);
  y.tensor = c.add(Unary("sqrt"), {{y.tensor}}, {}, "/root");
  c.give(std::move(y));
}

void convert_reduce_log_sum(Conversion& c) {
  View y = reduced(c, "sum");
  y.tensor = c.add(Unary("log"), {{y.tensor}}, {}, "/log");
  c.give(std::move(y));
}

}  // namespace octet::io::importing
