#include "join.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/concatenate.h>

#include "constant_values.h"

namespace octet::io::importing {
namespace {

/// Returns the common axis order of the inputs, that of the largest.
std::vector<int> common_order(const Conversion& c,
                              const std::vector<int>& inputs) {
  const View* largest = nullptr;
  for (const int i : inputs) {
    const View& view = c.view(i);
    if (largest == nullptr || sample_size(view) > sample_size(*largest)) {
      largest = &view;
    }
  }
  return natural_order(*largest);
}

/// Whether all inputs have the same layout and shape.
bool lie_alike(const Conversion& c, const std::vector<int>& inputs) {
  const View& first = c.view(inputs[0]);
  for (const int i : inputs) {
    const View& view = c.view(i);
    if (view.axes != first.axes || view.parts != first.parts ||
        view.tensor.shape() != first.tensor.shape()) {
      return false;
    }
  }
  return true;
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
  const View& first = c.view(inputs[0]);
  if (lie_alike(c, inputs)) {
    for (const int i : inputs) operands.push_back(c.as_it_lies(i));
    View y = first;
    y.tensor = joined(operands);
    return c.set_output(std::move(y));
  }
  for (const int i : inputs) {
    if (c.view(i).rank() == first.rank()) continue;
    c.refuse(fmt::format("inputs must have the same rank, got {} and {}",
                         importing::text_of(first),
                         importing::text_of(c.view(i))));
  }
  if (first.samples_lead() || first.batch() + 1 == first.axes.size()) {
    const std::vector<int> order = common_order(c, inputs);
    for (const int i : inputs) operands.push_back(c.operand(i, order));
    return c.set_output(view_of(joined(operands), order));
  }
  const RowLayout rows(first, first.rank() - 1);
  for (const int i : inputs) {
    const View& view = c.view(i);
    if (!same_batch_position(view, first)) {
      c.refuse(
          fmt::format("inputs must have the batch at the same axis, got {} and "
                      "{}",
                      importing::text_of(first), importing::text_of(view)));
    }
    operands.push_back(c.operand(i, RowLayout(view, view.rank() - 1)));
  }
  c.set_output(rows.back(joined(operands)));
}

void concatenate(Conversion& c, const std::vector<int>& inputs, int64_t given) {
  make_values(c, inputs);
  const View* largest = &c.view(inputs[0]);
  for (const int i : inputs) {
    const View& view = c.view(i);
    if (view.rank() != largest->rank()) {
      c.refuse(fmt::format("inputs must have the same rank, got {} and {}",
                           importing::text_of(*largest),
                           importing::text_of(view)));
    }
    if (view.parts.size() > largest->parts.size()) largest = &view;
  }
  const int rank = largest->rank();
  const int axis = c.axis_of(given, rank);
  // Images, also of a single pixel, are concatenated channels last.
  const std::vector<int> order =
      rank == 4 && natural_order(*largest) != file_order(4) &&
              largest->samples_lead()
          ? channels_last(4)
          : natural_order(*largest);
  const auto at = std::ranges::find(order, axis) - order.begin();
  if (at == 0) c.refuse("axis must not be the batch axis");
  std::vector<Operand> operands;
  for (const int i : inputs) operands.push_back(c.operand(i, order));
  c.set_output(view_of(
      c.add(Concatenate({.axis = at == rank - 1 ? -1 : at}), operands), order));
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
