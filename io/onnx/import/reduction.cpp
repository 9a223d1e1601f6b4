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
/// pooling, all axes of a sample by default.
Sizes reduced_axes(const Conversion& c, const ImportedValue& x) {
  const int rank = x.rank();
  Sizes axes = c.integers("axes");
  if (c.op().starts_with("Arg")) axes = {c.integer("axis", 0)};
  if (c.has(1)) axes = c.integers(1);
  if (c.op().starts_with("Global")) {
    for (int axis = 2; axis < rank; ++axis) axes.push_back(axis);
  }
  if (axes.empty() && c.integer("noop_with_empty_axes", 0) == 0) {
    if (x.layout.batch_axis()) c.refuse("axes must be given");
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
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
std::vector<int> pooled_order(const ImportedValue& x, const Sizes& axes) {
  const int rank = x.rank();
  if (!x.samples_lead() || (rank != 3 && rank != 4)) return {};
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
  const ImportedValue& x = c.value(0);
  const Sizes reduced = reduced_axes(c, x);
  if (reduced.empty()) return c.set_output(x);
  LayerAxes axes(x);
  std::vector<int> pooled;
  if (reduction.pools) pooled = pooled_order(x, reduced);
  if (!pooled.empty()) axes.order = pooled;
  Sizes positions;
  for (const int64_t axis : reduced) {
    if (x.has_batch(static_cast<int>(axis))) {
      c.refuse("axes must not contain the batch axis");
    }
    positions.push_back(axes.position(axis));
  }
  std::ranges::sort(positions);
  // Axes of size 1 that consumers remove are not added. A layer keeps an axis
  // besides the batch.
  const bool keepdims = c.integer("keepdims", 1) != 0;
  const bool kept = (keepdims && (pooled.empty() || !is_flattened(c))) ||
                    positions.size() + 1 == axes.order.size();
  const Operand operand = c.operand(axes);
  const SymbolicTensor y =
      c.named(reduction.apply(operand.tensor, positions,
                              kept ? Keepdims::yes : Keepdims::no),
              {operand});
  if (is_index) c.mark_integers("int64");
  ImportedValue result = axes.back(y, kept ? Sizes() : positions);
  if (!keepdims) result.layout = without_axes(result.layout, reduced);
  c.set_output(std::move(result));
}

}  // namespace octet::io::importing
