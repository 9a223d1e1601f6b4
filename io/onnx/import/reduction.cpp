// Reductions over axes of a sample, and pooling over all pixels.
#include <algorithm>

#include <octet/layers/ops.h>

#include "converters.h"
#include "window_attributes.h"

namespace octet::io::importing {
namespace {

using Axes = std::vector<int64_t>;
using Function = SymbolicTensor (*)(const SymbolicTensor& x, const Axes& axes,
                                    Keepdims keepdims);

struct Reduction {
  std::string_view op;
  Function apply;
  bool pools = false;  ///< over the pixels of an image
};

constexpr Reduction kReductions[] = {
    {"ArgMax",
     [](const SymbolicTensor& x, const Axes& axes, Keepdims keepdims) {
       return argmax(x, axes.at(0), keepdims);
     }},
    {"ArgMin",
     [](const SymbolicTensor& x, const Axes& axes, Keepdims keepdims) {
       return argmin(x, axes.at(0), keepdims);
     }},
    {"GlobalAveragePool", octet::mean, true},
    {"GlobalMaxPool", octet::max, true},
    {"ReduceL1", [](const SymbolicTensor& x, const Axes& axes,
                    Keepdims keepdims) { return sum(abs(x), axes, keepdims); }},
    {"ReduceL2",
     [](const SymbolicTensor& x, const Axes& axes, Keepdims keepdims) {
       return sqrt(sum(square(x), axes, keepdims));
     }},
    {"ReduceLogSum",
     [](const SymbolicTensor& x, const Axes& axes, Keepdims keepdims) {
       return log(sum(x, axes, keepdims));
     }},
    {"ReduceLogSumExp", logsumexp},
    {"ReduceMax", octet::max, true},
    {"ReduceMean", octet::mean, true},
    {"ReduceMin", octet::min},
    {"ReduceProd", octet::prod},
    {"ReduceSum", octet::sum},
    {"ReduceSumSquare",
     [](const SymbolicTensor& x, const Axes& axes, Keepdims keepdims) {
       return sum(square(x), axes, keepdims);
     }},
};

/// Returns the axes, non-negative and sorted: the spatial axes for global
/// pooling.
Sizes reduced_axes(const Conversion& c, int rank) {
  Sizes axes = c.integers("axes");
  if (c.op().starts_with("Arg")) axes = {c.integer("axis", 0)};
  if (c.has(1)) axes = c.integers(1);
  if (c.op().starts_with("Global")) {
    for (int axis = 2; axis < rank; ++axis) axes.push_back(axis);
  }
  if (axes.empty()) c.refuse("axes must be given");
  for (int64_t& axis : axes) axis = c.axis_of(axis, rank);
  std::ranges::sort(axes);
  return axes;
}

/// Whether all consumers remove the spatial axes, so that pooling may drop
/// them.
bool is_flattened(const Conversion& c) {
  const auto consumers = c.graph().consumers(c.output());
  return !consumers.empty() && !c.graph().is_output(c.output()) &&
         std::ranges::all_of(consumers, [](const OnnxNode* consumer) {
           return is_op(*consumer, "Flatten") || is_op(*consumer, "Squeeze") ||
                  is_op(*consumer, "Reshape");
         });
}

/// Returns the axis order in which pooling covers the pixels: that of images if
/// these are all spatial axes, that of tokens for the axes before the last.
std::vector<int> pooled_order(const View& view, const Sizes& axes) {
  const int rank = view.rank();
  if (!view.samples_lead() || (rank != 3 && rank != 4)) return {};
  const Sizes first = rank == 4 ? Sizes{1, 2} : Sizes{1};
  if (axes == first) return file_order(rank);
  return axes == (rank == 4 ? Sizes{2, 3} : Sizes{2}) ? channels_last(rank)
                                                      : std::vector<int>();
}

}  // namespace

bool is_reduction(std::string_view op) {
  return std::ranges::find(kReductions, op, &Reduction::op) !=
         std::end(kReductions);
}

void convert_reduction(Conversion& c) {
  const bool is_index = c.op().starts_with("Arg");
  if (is_index && c.integer("select_last_index", 0) != 0) {
    c.refuse("select_last_index must be 0");
  }
  const Reduction& reduction =
      *std::ranges::find(kReductions, c.op(), &Reduction::op);
  const View& given = c.view(0);
  const View view = split_batch_axis(given);
  const int shared = view.rank() - given.rank();  // axes split off the batch
  const auto group = static_cast<int>(given.batch());  // first axis of both
  Sizes axes = reduced_axes(c, given.rank());
  int before = 0;  // reduced axes before the group
  for (int64_t& axis : axes) {
    if (axis == group) c.refuse("axes must not contain the batch axis");
    before += axis < group ? 1 : 0;
    axis += axis > group ? shared : 0;
  }
  std::vector<int> order;
  if (reduction.pools) order = pooled_order(view, axes);
  const bool pools = !order.empty();
  if (!pools) order = natural_order(view);
  // Axes of size 1 that consumers remove are not added.
  const bool keepdims = c.integer("keepdims", 1) != 0;
  const bool kept = keepdims && !(pools && is_flattened(c));
  std::vector<int64_t> tensor_axes;  // to reduce
  std::vector<int> remaining;        // ONNX axes of the result, in its order
  for (size_t i = 0; i < order.size(); ++i) {
    const bool gone = std::ranges::find(axes, order[i]) != axes.end();
    if (gone) tensor_axes.push_back(static_cast<int64_t>(i));
    if (!gone || kept) remaining.push_back(order[i]);
  }
  // A layer keeps an axis besides the batch.
  const bool only_batch = remaining.size() == 1;
  if (only_batch) remaining = order;
  const Operand x{materialize(view, order, c.namer()), c.value(0).qparams};
  const SymbolicTensor y = c.named(
      reduction.apply(x.tensor, tensor_axes,
                      kept || only_batch ? Keepdims::yes : Keepdims::no),
      {x});
  if (is_index) c.mark_integers("int64");
  if (only_batch) {
    return c.set_output(*reshaped(view_of(y, remaining), {kBatch}));
  }
  if (!kept) {
    for (int& axis : remaining) {
      axis -= static_cast<int>(
          std::ranges::count_if(axes, [&](int64_t a) { return a < axis; }));
    }
  }
  View result = merge_axes(view_of(y, remaining),
                           static_cast<size_t>(group - (kept ? 0 : before)),
                           static_cast<size_t>(shared) + 1);
  for (const int64_t axis : keepdims && !kept ? axes : Sizes()) {
    result.axes.insert(result.axes.begin() + axis, std::vector<size_t>());
  }
  c.set_output(std::move(result));
}

}  // namespace octet::io::importing
