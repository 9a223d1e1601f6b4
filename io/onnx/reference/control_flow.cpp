#include "control_flow.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "constants.h"
#include "onnx/check/proto_limits.h"
#include "onnx/graph/attributes.h"
#include "strided_iterator.h"

namespace octet::io::run {
namespace {

bool truth_of(const NodeContext& context, const Tensor& value) {
  if (value.dtype() != DType::boolean || value.size() != 1) {
    context.refuse(fmt::format("condition must be a single bool, got {} {}",
                               type_name(value.dtype()),
                               value.shape().to_string()));
  }
  return value.data<bool>()[0];
}

/// Runs a loop body. Stores the carried values, and the rows of stacked
/// outputs.
class Iterations {
 public:
  Iterations(const PreparedNode& step, const NodeContext& context,
             std::span<const Tensor> carried)
      : body_(step.subgraphs[0]),
        context_(context),
        captured_(context.inputs().last(body_.captured.size())),
        carried_(carried.begin(), carried.end()),
        rows_(context.output_count() - carried.size()) {
    for (const Tensor& value : carried_) budget().hold(value);
  }

  /// Runs the body with `first`, the carried values and `last` as inputs.
  /// Returns the outputs that precede the carried values.
  Values run(Values first, std::span<const Tensor> last, size_t leading) {
    context_.check_time();
    Values inputs = std::move(first);
    inputs.insert(inputs.end(), carried_.begin(), carried_.end());
    inputs.insert(inputs.end(), last.begin(), last.end());
    inputs.insert(inputs.end(), captured_.begin(), captured_.end());
    const Values outputs = run_steps(body_, inputs, budget());
    for (size_t i = 0; i < leading; ++i) budget().release(outputs[i]);
    size_t next = leading;
    for (Tensor& value : carried_) {
      budget().release(value);
      value = outputs[next++];
    }
    for (Values& rows : rows_) rows.push_back(outputs[next++]);
    return {outputs.begin(),
            outputs.begin() + static_cast<std::ptrdiff_t>(leading)};
  }

  /// Returns the carried values, then the stacked rows.
  /// `stack(i, rows)` stacks the rows of output i after the carried ones.
  template <class Stack>
  Values outputs(const Stack& stack) {
    Values outputs = carried_;
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].empty()) {
        context_.unsupported("stacked outputs must have iterations, got 0");
      }
      outputs.push_back(stack(i, rows_[i]));
    }
    for (const Tensor& value : carried_) budget().release(value);
    for (const Values& rows : rows_) {
      for (const Tensor& row : rows) budget().release(row);
    }
    return outputs;
  }

  /// Returns a tensor with the rows along a new axis.
  Tensor stacked(const Values& rows, int64_t axis) const {
    const Sizes row = sizes_of(rows[0]);
    const int at = context_.axis(axis, std::ssize(row) + 1);
    Sizes dims = row;
    dims.insert(dims.begin() + at, std::ssize(rows));
    Tensor y = context_.make(dims, rows[0].dtype());
    const auto width = static_cast<size_t>(
        strides_of(dims)[static_cast<size_t>(at)] * size_of(rows[0].dtype()));
    auto* to = static_cast<char*>(y.raw());
    for (const Tensor& each : rows) {
      if (sizes_of(each) != row || each.dtype() != y.dtype()) {
        context_.refuse("outputs of all iterations must have the same shape");
      }
    }
    const int64_t blocks =
        width == 0 ? 0 : rows[0].bytes() / static_cast<int64_t>(width);
    for (int64_t block = 0; block < blocks; ++block) {
      for (const Tensor& each : rows) {
        const auto* from = static_cast<const char*>(each.raw());
        to = std::copy_n(from + static_cast<size_t>(block) * width, width, to);
      }
    }
    return y;
  }

 private:
  Budget& budget() const { return context_.budget(); }

  const Program& body_;
  const NodeContext& context_;
  std::span<const Tensor> captured_;
  Values carried_;
  std::vector<Values> rows_;  ///< by output
};

Values run_if(const PreparedNode& step, const NodeContext& context) {
  const bool truth = truth_of(context, context.input(0));
  const Program& branch = step.subgraphs[truth ? 0 : 1];
  const size_t skipped = truth ? 0 : step.subgraphs[0].captured.size();
  Values outputs = run_steps(
      branch,
      context.inputs().subspan(1 + skipped).first(branch.captured.size()),
      context.budget());
  for (const Tensor& value : outputs) context.budget().release(value);
  return outputs;
}

Values run_loop(const PreparedNode& step, const NodeContext& context) {
  const auto count = static_cast<size_t>(step.node.input_size());
  Iterations iterations(step, context,
                        context.inputs().first(count).subspan(2));
  const int64_t trips = context.has_input(0)
                            ? scalar<int64_t>(context, 0)
                            : std::numeric_limits<int64_t>::max();
  bool continues = !context.has_input(1) || truth_of(context, context.input(1));
  for (int64_t i = 0; continues && i < trips; ++i) {
    Tensor truth({}, DType::boolean);
    truth.data<bool>()[0] = true;
    const Values leading =
        iterations.run({Tensor::of<int64_t>({}, {i}), truth}, {}, 1);
    continues = truth_of(context, leading[0]);
  }
  return iterations.outputs(
      [&](size_t, const Values& rows) { return iterations.stacked(rows, 0); });
}

/// Returns entry i of a list of integers, 0 in an absent list.
int64_t entry(const NodeContext& context, const char* list, size_t i) {
  const Sizes values = context.integers(list);
  return i < values.size() ? values[i] : 0;
}

Values run_scan(const PreparedNode& step, const NodeContext& context) {
  const auto count = static_cast<size_t>(step.node.input_size());
  const auto scans = static_cast<size_t>(context.integer("num_scan_inputs", 0));
  const auto sequences = context.inputs().first(count).last(scans);
  Iterations iterations(step, context, context.inputs().first(count - scans));
  std::vector<int> axes;
  std::optional<int64_t> length;
  for (size_t i = 0; i < scans; ++i) {
    const Shape& shape = context.input(count - scans + i).shape();
    axes.push_back(
        context.axis(entry(context, "scan_input_axes", i), shape.rank()));
    if (length.value_or(shape[axes[i]]) != shape[axes[i]]) {
      context.refuse(
          fmt::format("sequences must have the same length, got {} "
                      "and {}",
                      *length, shape[axes[i]]));
    }
    length = shape[axes[i]];
  }
  for (int64_t t = 0; t < length.value_or(0); ++t) {
    Values slices;
    for (size_t i = 0; i < scans; ++i) {
      Sizes dims = sizes_of(sequences[i]);
      Sizes strides = strides_of(dims);
      const bool back = entry(context, "scan_input_directions", i) != 0;
      const int64_t base =
          (back ? *length - 1 - t : t) * strides[static_cast<size_t>(axes[i])];
      dims.erase(dims.begin() + axes[i]);
      strides.erase(strides.begin() + axes[i]);
      slices.push_back(
          strided_copy(context, sequences[i], dims, strides, base));
    }
    iterations.run({}, slices, 0);
  }
  return iterations.outputs([&](size_t i, Values rows) {
    if (entry(context, "scan_output_directions", i) != 0) {
      std::ranges::reverse(rows);
    }
    return iterations.stacked(rows, entry(context, "scan_output_axes", i));
  });
}

}  // namespace

std::vector<std::string_view> subgraphs_of(const onnx::NodeProto& node) {
  if (!is_standard_domain(node.domain())) return {};
  if (node.op_type() == "If") return {"then_branch", "else_branch"};
  if (node.op_type() == "Loop" || node.op_type() == "Scan") return {"body"};
  return {};
}

void check_subgraphs(const PreparedNode& step) {
  const onnx::NodeProto& node = step.node;
  const auto refuse = [&](const std::string& problem) {
    throw FormatError("invalid_graph", describe(node), problem);
  };
  if (node.op_type() == "If") {
    for (const Program& branch : step.subgraphs) {
      if (std::cmp_equal(branch.output_values.size(), node.output_size()) &&
          branch.input_values.size() == branch.captured.size()) {
        continue;
      }
      refuse(fmt::format("branches must have {} outputs, got {}",
                         node.output_size(), branch.output_values.size()));
    }
    if (node.input_size() != 1) {
      refuse(fmt::format("must have an input, got {}", node.input_size()));
    }
    return;
  }
  const Program& body = step.subgraphs[0];
  const bool loops = node.op_type() == "Loop";
  const int64_t scans =
      loops ? 2 : integer_of(node, "num_scan_inputs", node.input_size());
  const int64_t carried = node.input_size() - scans;
  const auto inputs = std::ssize(body.input_values) - std::ssize(body.captured);
  if (carried < 0 || scans < 1 || node.output_size() < carried ||
      inputs != node.input_size() ||
      std::ssize(body.output_values) != node.output_size() + (loops ? 1 : 0)) {
    refuse("body must have the inputs and outputs of the node");
  }
}

Values run_subgraphs(const PreparedNode& step, const NodeContext& context) {
  const std::string& op = step.node.op_type();
  if (op == "If") return run_if(step, context);
  return op == "Loop" ? run_loop(step, context) : run_scan(step, context);
}

}  // namespace octet::io::run
