#include "inputs.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <string_view>
#include <unordered_set>
#include <variant>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "layout.h"
#include "onnx/check/proto_limits.h"
#include "onnx/graph/attributes.h"
#include "onnx/graph/operator_traits.h"
#include "onnx/graph/tensors.h"
#include "refused_nodes.h"

namespace octet::io::importing {
namespace {

enum class RequiredOrder { channels_first, channels_last, any, unknown };

/// Returns the axis order of an image or sequence that a node requires.
RequiredOrder required_order(const onnx::NodeProto& node) {
  constexpr std::string_view kEither =
      "Clip Concat DequantizeLinear Dropout Pad QuantizeLinear Swish";
  const std::string& op = node.op_type();
  if (!is_standard_domain(node.domain())) return RequiredOrder::unknown;
  const AxisRole axes = traits_of(op).axes;
  if (axes == AxisRole::channels_first ||
      is_one_of(op, "BatchNormalization DepthToSpace PRelu")) {
    return RequiredOrder::channels_first;
  }
  return axes == AxisRole::pointwise || is_one_of(op, kEither)
             ? RequiredOrder::any
             : RequiredOrder::unknown;
}

/// Whether the node selects entries of an axis and keeps other axes whole.
bool selects_entries(const OnnxGraph& graph, const onnx::NodeProto& node) {
  if (!is_standard_domain(node.domain())) return false;
  if (node.op_type() == "Slice") return true;
  if (node.op_type() != "Gather" || node.input_size() < 2) return false;
  const Constant* entries = graph.constant(node.input(1));
  return entries != nullptr && entries->value.shape().rank() == 1;
}

RequiredOrder required_order(const OnnxGraph& graph, const std::string& value,
                             bool behind_transpose = false);

/// Returns the order of a Transpose's input, from the consumers of its output.
RequiredOrder order_before(const OnnxGraph& graph, const OnnxNode& transpose) {
  const Sizes perm = integers_of(transpose.proto, "perm");
  const bool to_front = perm == Sizes{0, 3, 1, 2} || perm == Sizes{0, 2, 1};
  if (!to_front) return RequiredOrder::unknown;
  const RequiredOrder behind =
      required_order(graph, transpose.proto.output(0), true);
  return behind == RequiredOrder::channels_first ? RequiredOrder::channels_last
                                                 : RequiredOrder::unknown;
}

/// Returns the order of the first consumer that requires an order.
RequiredOrder required_order(const OnnxGraph& graph, const std::string& value,
                             bool behind_transpose) {
  std::queue<std::string> values({value});
  std::unordered_set<std::string> seen{value};
  while (!values.empty()) {
    const std::string next = values.front();
    values.pop();
    for (const OnnxNode* consumer : graph.consumers(next)) {
      const bool transpose = !behind_transpose && is_op(*consumer, "Transpose");
      const RequiredOrder order = transpose ? order_before(graph, *consumer)
                                  : selects_entries(graph, consumer->proto)
                                      ? RequiredOrder::any
                                      : required_order(consumer->proto);
      if (order == RequiredOrder::unknown) continue;
      if (order != RequiredOrder::any) return order;
      for (const std::string& output : consumer->proto.output()) {
        if (seen.insert(output).second) values.push(output);
      }
    }
  }
  return RequiredOrder::unknown;
}

[[noreturn]] void refuse_input(const OnnxTensorInfo& input,
                               const std::string& problem) {
  throw UnsupportedError("unsupported_model",
                         fmt::format("input '{}'", printable(input.name)),
                         problem);
}

InputForm form_of(const OnnxGraph& graph, const OnnxTensorInfo& input,
                  bool batched, const Shape* given) {
  if (!is_port_type(input.type)) {
    refuse_input(input,
                 fmt::format("must be float32, bool or integers of 8 to 64 "
                             "bits, got {}",
                             input.type));
  }
  if (!input.shape || input.shape->empty() ||
      input.shape->size() > Shape::kMaxRank) {
    refuse_input(
        input, fmt::format("must be a batch [n,...] of 1 to {} dimensions, "
                           "got {}",
                           static_cast<int>(Shape::kMaxRank),
                           input.shape ? to_string(input.shape) : "no shape"));
  }
  const int rank = static_cast<int>(input.shape->size());
  const RequiredOrder required = required_order(graph, input.name);
  const bool first =
      batched &&
      (rank == 4 ? required != RequiredOrder::channels_last
                 : rank == 3 && required == RequiredOrder::channels_first);
  const int batch = batched ? graph.batch_axis(input.name) : 0;
  InputForm form{.name = input.name,
                 .order = first ? channels_last(rank) : axis_first(rank, batch),
                 .type = input.type,
                 .batched = batched};
  std::vector<int64_t> sample;
  bool fits = given == nullptr || given->rank() == rank - 1;
  bool open = false;
  for (int i = 1; fits && i < rank; ++i) {
    const OnnxDim& dim =
        (*input.shape)[static_cast<size_t>(form.order[static_cast<size_t>(i)])];
    const auto* size = std::get_if<int64_t>(&dim);
    const bool known = size != nullptr && *size > 0;
    sample.push_back(known ? *size : Shape::kAnySize);
    if (given != nullptr) {
      fits = (*given)[i - 1] > 0 && (!known || (*given)[i - 1] == *size);
      sample.back() = (*given)[i - 1];
    }
    open |= sample.back() == Shape::kAnySize;
  }
  if (!fits) {
    throw ValueError("shape_mismatch", "OnnxImportOptions.input_shapes",
                     fmt::format("must be {} for input '{}'{}, got {}",
                                 to_string(input.shape), printable(input.name),
                                 first ? ", channels last and without the batch"
                                       : ", without the batch",
                                 given->to_string()));
  }
  if (open) {
    refuse_input(input,
                 fmt::format("sizes must be known, got {}. Hint: set them in "
                             "OnnxImportOptions.input_shapes",
                             to_string(input.shape)));
  }
  form.sample = Shape(std::span<const int64_t>(sample));
  return form;
}

/// Returns the size of an axis; 0 for a dynamic one, 1 for a scalar.
int64_t size_at(const OnnxTensorInfo& input, int axis) {
  if (!input.shape) return 0;
  if (input.shape->empty()) return 1;
  const auto* size =
      std::get_if<int64_t>(&input.shape->at(static_cast<size_t>(axis)));
  return size == nullptr ? 0 : std::max<int64_t>(*size, 0);
}

/// Returns the sizes of the batch axes.
std::vector<int64_t> batch_sizes(const OnnxGraph& graph) {
  std::vector<int64_t> sizes;
  for (const OnnxTensorInfo& input : graph.inputs()) {
    sizes.push_back(size_at(input, graph.batch_axis(input.name)));
  }
  return sizes;
}

/// Whether an input is a scalar or a vector of fixed size, which have no batch
/// axis.
bool is_list(const OnnxTensorInfo& input) {
  return input.shape && input.shape->size() <= 1 && size_at(input, 0) > 0;
}

/// Whether the file computes one sample: an input has no batch axis, or the
/// first axes have different fixed sizes.
bool has_one_sample(const OnnxGraph& graph) {
  const std::vector<OnnxTensorInfo>& inputs = graph.inputs();
  if (graph.one_sample() || std::ranges::any_of(inputs, is_list)) return true;
  const std::vector<int64_t> sizes = batch_sizes(graph);
  return std::ranges::find(sizes, 0) == sizes.end() &&
         std::ranges::adjacent_find(sizes, std::ranges::not_equal_to()) !=
             sizes.end();
}

/// Returns the inputs of one sample that have no batch axis: all, but for a
/// first axis of size 1 in front of images, and of all inputs with several
/// axes.
std::vector<bool> inputs_without_batch(const OnnxGraph& graph) {
  const std::vector<OnnxTensorInfo>& inputs = graph.inputs();
  std::vector<bool> result(inputs.size());
  if (!has_one_sample(graph)) return result;
  const bool leads =
      !graph.one_sample() && std::ranges::all_of(inputs, [](const auto& input) {
        return is_list(input) || size_at(input, 0) <= 1;
      });
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_batch_of_one =
        !is_list(inputs[i]) && size_at(inputs[i], 0) <= 1;
    const RequiredOrder order = required_order(graph, inputs[i].name);
    const bool is_image = inputs[i].shape && inputs[i].shape->size() > 2 &&
                          (order == RequiredOrder::channels_first ||
                           order == RequiredOrder::channels_last);
    result[i] = !is_batch_of_one || (!leads && !is_image);
  }
  return result;
}

/// Adds a batch of one as first axis to inputs without batch axis. A batch of
/// one or of any size fits another size: samples then have an entry each.
/// Throws: RefusedNodes for a dynamic batch next to a fixed one of another size
/// than 1, or to inputs without batch axis.
std::vector<OnnxTensorInfo> with_batch_axes(
    const OnnxGraph& graph, const std::vector<bool>& without_batch) {
  const std::vector<OnnxTensorInfo>& inputs = graph.inputs();
  const std::vector<int64_t> sizes = batch_sizes(graph);
  const auto refuse = [](const OnnxTensorInfo& input, const std::string& text) {
    throw RefusedNodes("unsupported_model",
                       fmt::format("input '{}'", printable(input.name)), text);
  };
  const bool one_sample =
      std::ranges::find(without_batch, true) != without_batch.end();
  const auto is_dynamic = [&](size_t i) {
    return inputs[i].shape && sizes[i] == 0;
  };
  bool dynamic = false;
  for (size_t i = 0; i < inputs.size(); ++i) dynamic |= is_dynamic(i);
  std::vector<OnnxTensorInfo> result = inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const OnnxTensorInfo& input = inputs[i];
    if (one_sample && is_dynamic(i)) {
      refuse(input,
             fmt::format("has a dynamic batch, {}, but another input has no "
                         "batch axis",
                         to_string(input.shape)));
    }
    if (dynamic && sizes[i] > 1) {
      refuse(input,
             fmt::format("axis {} must be the batch of all inputs, got {} next "
                         "to dynamic sizes",
                         graph.batch_axis(input.name), to_string(input.shape)));
    }
    if (without_batch[i] && input.shape) {
      result[i].shape->insert(result[i].shape->begin(), int64_t{1});
    }
  }
  return result;
}

/// Returns whether a consumer of `value` preserves its leading axes, so that
/// the search continues at its outputs.
bool keeps_leading_axes(const onnx::NodeProto& node, const std::string& value) {
  if (!is_standard_domain(node.domain())) return false;
  const std::string& op = node.op_type();
  if (op == "MatMul") return node.input(0) == value;
  if (op == "Gather") return node.input(1) == value;  // indices of a table
  return traits_of(op).axes == AxisRole::pointwise ||
         is_one_of(op,
                   "Cast Clip DequantizeLinear Dropout Identity "
                   "LayerNormalization QuantizeLinear Slice");
}

/// Whether the second axis of `value` is the batch of a recurrent operator.
bool has_steps_first(const OnnxGraph& graph, const std::string& value) {
  std::queue<std::string> values({value});
  std::unordered_set<std::string> seen{value};
  while (!values.empty()) {
    const std::string next = values.front();
    values.pop();
    for (const OnnxNode* consumer : graph.consumers(next)) {
      const onnx::NodeProto& node = consumer->proto;
      if (is_one_of(node.op_type(), "GRU LSTM RNN")) {
        if (integer_of(node, "layout", 0) != 0) continue;
        for (const int input : {0, 5, 6}) {
          if (input < node.input_size() && node.input(input) == next) {
            return true;
          }
        }
      } else if (keeps_leading_axes(node, next)) {
        for (const std::string& output : node.output()) {
          if (seen.insert(output).second) values.push(output);
        }
      }
    }
  }
  return false;
}

}  // namespace

bool is_recurrent(const OnnxGraph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const OnnxNode& node) {
    return is_one_of(node.proto.op_type(), "GRU LSTM RNN");
  });
}

std::unordered_map<std::string, int> inputs_with_steps_first(
    const OnnxGraph& graph) {
  std::unordered_map<std::string, int> axes;
  if (!is_recurrent(graph)) return axes;
  for (const OnnxTensorInfo& input : graph.inputs()) {
    const size_t rank = input.shape ? input.shape->size() : 0;
    if ((rank == 2 || rank == 3) && has_steps_first(graph, input.name)) {
      axes.emplace(input.name, 1);
    }
  }
  return axes;
}

std::vector<InputForm> input_forms(const OnnxGraph& graph,
                                   const OnnxImportOptions& options) {
  const std::vector<bool> without_batch = inputs_without_batch(graph);
  const std::vector<OnnxTensorInfo> inputs =
      with_batch_axes(graph, without_batch);
  if (inputs.empty()) {
    throw UnsupportedError("unsupported_model", "ONNX model",
                           "must have inputs, got none");
  }
  if (options.input_shapes.size() > graph.file_inputs()) {
    throw ValueError(
        "count_mismatch", "OnnxImportOptions.input_shapes",
        fmt::format("must have at most one shape for each of {} "
                    "inputs, got {}",
                    graph.file_inputs(), options.input_shapes.size()));
  }
  std::vector<InputForm> forms;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t place = graph.input_places()[i];
    const bool given = place < options.input_shapes.size() &&
                       options.input_shapes[place].rank() > 0;
    forms.push_back(form_of(graph, inputs[i], !without_batch[i],
                            given ? &options.input_shapes[place] : nullptr));
  }
  return forms;
}

void drop_unused_inputs(OnnxGraph& graph) {
  constexpr size_t kMost = 5;
  const std::vector<std::string> dropped = graph.drop_unused_inputs();
  for (size_t i = 0; i < std::min(dropped.size(), kMost); ++i) {
    const bool last = i + 1 == kMost && dropped.size() > kMost;
    warn("input_ignored", fmt::format("input '{}'", printable(dropped[i])),
         fmt::format(
             "no node consumes it; the model has no such input{}",
             last ? fmt::format(", nor {} more", dropped.size() - kMost) : ""));
  }
}

int64_t fixed_batch(const OnnxGraph& graph) {
  if (has_one_sample(graph)) return 1;
  const std::vector<int64_t> sizes = batch_sizes(graph);
  const bool dynamic = std::ranges::find(sizes, 0) != sizes.end();
  return dynamic || sizes.empty() ? 0 : sizes[0];
}

}  // namespace octet::io::importing
