#include "join.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/merging.h>

#include "constant_values.h"

namespace octet::io::importing {
namespace {

/// Whether all inputs have the same layout.
bool have_one_layout(const Conversion& c, const std::vector<int>& inputs) {
  return std::ranges::all_of(inputs, [&](int i) {
    return c.value(i).layout == c.value(inputs[0]).layout;
  });
}

/// Returns the input with the most elements and axes; all must have the same
/// rank.
const ImportedValue& largest_of(const Conversion& c,
                                const std::vector<int>& inputs) {
  const ImportedValue* largest = &c.value(inputs[0]);
  for (const int i : inputs) {
    const ImportedValue& x = c.value(i);
    if (x.rank() != largest->rank()) {
      c.refuse(fmt::format("inputs must have the same rank, got {} and {}",
                           largest->text(), x.text()));
    }
    if (x.sample_size() > largest->sample_size()) largest = &x;
  }
  return *largest;
}

/// Rejects the broadcast axis of opsets before NumPy's rules.
void check_axis(const Conversion& c) {
  if (c.opset() < 7 && c.has_attribute("axis")) {
    c.refuse(
        "axis is not supported. Hint: save the file with opset 7 or "
        "newer");
  }
}

}  // namespace

void join(Conversion& c, const JoinFunction& function,
          const std::vector<int>& inputs) {
  const auto joined = [&](const std::vector<Operand>& operands) {
    std::vector<SymbolicTensor> tensors;
    for (const Operand& x : operands) tensors.push_back(x.tensor);
    return c.named(function(tensors), operands);
  };
  make_values(c, inputs);
  std::vector<Operand> operands;
  if (have_one_layout(c, inputs)) {
    for (const int i : inputs) operands.push_back(c.stored(i));
    return c.set_output({joined(operands), c.value(inputs[0]).layout});
  }
  const ImportedValue& largest = largest_of(c, inputs);
  const LayerAxes axes(largest);
  for (const int i : inputs) {
    const ImportedValue& x = c.value(i);
    if (!same_batch_position(x, largest)) {
      c.refuse(
          fmt::format("inputs must have the batch at the same axis, got {} and "
                      "{}",
                      largest.text(), x.text()));
    }
    operands.push_back(c.operand(LayerAxes(x, axes.order)));
  }
  c.set_output(axes.back(joined(operands)));
}

void concatenate(Conversion& c, const std::vector<int>& inputs, int64_t given) {
  make_values(c, inputs);
  const ImportedValue& largest = largest_of(c, inputs);
  const int rank = largest.rank();
  const int axis = c.axis_of(given, rank);
  if (largest.has_batch(axis)) c.refuse("axis must not be the batch axis");
  LayerAxes axes(largest);
  // Images, also of a single pixel, are concatenated channels last.
  if (rank == 4 && largest.samples_lead() && axes.order != file_order(4)) {
    axes.order = channels_last(4);
  }
  std::vector<Operand> operands;
  for (const int i : inputs) {
    operands.push_back(c.operand(LayerAxes(c.value(i), axes.order)));
  }
  const int64_t at = axes.position(axis);
  const bool last = std::cmp_equal(at + 1, axes.order.size());
  c.set_output(
      axes.back(c.add(Concatenate({.axis = last ? -1 : at}), operands)));
}

std::vector<int> all_inputs(const Conversion& c) {
  return file_order(c.inputs());
}

int constant_input(const Conversion& c) {
  check_axis(c);
  if (c.inputs() != 2) return -1;
  if (c.is_constant(1)) return 1;
  return c.is_constant(0) ? 0 : -1;
}

}  // namespace octet::io::importing
