#include "importer.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/activation.h>
#include <octet/layers/detail/load_limits.h>
#include <octet/runtime/error.h>
#include <octet/runtime/system.h>

#include "constant_values.h"
#include "converters.h"
#include "inputs.h"
#include "layer_names.h"
#include "limit_checks.h"
#include "onnx/check/proto_limits.h"
#include "onnx/graph/tensors.h"
#include "onnx/normalize/subgraphs.h"
#include "quantizers.h"

namespace octet::io::importing {
namespace {

constexpr int64_t kLargestBatch = int64_t{1}
                                  << 20;  // of OnnxExportOptions::batch

/// Images become channels last unless they are already in the file's order;
/// sequences stay channels last if they are; others get the file's order.
std::vector<int> order_of_output(const ImportedValue& y) {
  const std::vector<int> last = channels_last(y.rank());
  const std::vector<int> file = file_order(y.rank());
  if (y.rank() == 4) {
    return !has_layout(y, last) && has_layout(y, file) ? file : last;
  }
  return y.rank() == 3 && has_layout(y, last) && !has_layout(y, file) ? last
                                                                      : file;
}

}  // namespace

Importer::Importer(OnnxGraph& graph, const OnnxImportOptions& options)
    : graph_(graph), options_(options) {}

std::string Importer::unique(const std::string& name) {
  return names_.add(name);
}

void Importer::refuse(const OnnxNode& node, const std::string& reason) {
  refused_.push_back({describe(node.proto), reason});
  for (const std::string& output : node.proto.output()) {
    failed_[output] = node.name;
  }
}

void Importer::add_inputs() {
  const std::vector<InputForm> forms = input_forms(graph_, options_);
  for (const InputForm& form : forms) {
    const SymbolicTensor x =
        input(form.sample, unique(layer_name_of(printable(form.name))));
    inputs_.push_back(x);
    ImportedValue value = value_of(x, form.order);
    if (!form.batched) {
      value.layout = sample_of(value.layout);
      one_sample_ = true;
    }
    values_[form.name] = std::move(value);
    interface_.inputs.push_back(
        {form.name, form.type, form.order, form.batched});
    if (form.type == "bool") {
      truths_.insert(form.name);
    } else if (form.type.find("float") == std::string::npos) {
      integers_[form.name] = form.type;
    }
  }
  const int64_t batch = fixed_batch(graph_);
  if (batch <= kLargestBatch) interface_.batch = batch;
  const OnnxShape& shape = graph_.inputs()[0].shape;
  if (shape->empty()) return;
  const int axis = graph_.batch_axis(graph_.inputs()[0].name);
  const auto* name =
      std::get_if<std::string>(&shape->at(static_cast<size_t>(axis)));
  if (name != nullptr && *name != "?") interface_.batch_name = printable(*name);
}

/// Whether the node moves integers of an input without computing with them. A
/// Cast to float32 ends this: the model's values are float32 already.
/// Throws: UnsupportedError for integer arithmetic, which differs in float32.
bool Importer::moves_integers(const OnnxNode& node) {
  constexpr std::string_view kMoves =
      "Flatten Gather Identity Reshape Slice Split Squeeze Transpose Unsqueeze";
  const auto& inputs = node.proto.input();
  const auto found = std::ranges::find_if(
      inputs, [&](const auto& input) { return integers_.contains(input); });
  if (found == inputs.end() || is_op(node, "Cast")) return false;
  if (found == inputs.begin() && is_one_of(node.proto.op_type(), kMoves)) {
    return true;
  }
  // Comparisons and lookups of indices are exact.
  const bool is_index = is_op(node, "Gather") && found == inputs.begin() + 1;
  if (is_op(node, "Shape") || is_index || is_comparison(node.proto.op_type())) {
    return false;
  }
  throw UnsupportedError(
      "unsupported_type", "",
      fmt::format("arithmetic with {} values of '{}' is not supported. Hint: "
                  "insert a Cast to float32 after the input",
                  integers_.at(*found), printable(*found)));
}

// Nodes that only depend on rejected nodes are not reported.
bool Importer::depends_on_failure(const OnnxNode& node) {
  for (const std::string& input : node.proto.input()) {
    const auto failed = failed_.find(input);
    if (failed == failed_.end()) continue;
    for (const std::string& output : node.proto.output()) {
      failed_[output] = failed->second;
    }
    return true;
  }
  return false;
}

void Importer::convert(OnnxNode& node) {
  if (depends_on_failure(node)) return;
  if (has_subgraph_to_inline(node)) {
    std::string refusal = inline_subgraph(graph_, node);
    if (!refusal.empty() && is_op(node, "If")) {
      refusal = select_branch(graph_, node);
    }
    if (!refusal.empty()) refuse(node, refusal);
    return;
  }
  if (!fold(graph_, node)) apply(node);
}

/// Adds the layers of a node.
void Importer::apply(OnnxNode& node) {
  const Converter converter = is_standard_domain(node.proto.domain())
                                  ? find_converter(node.proto.op_type())
                                  : nullptr;
  if (converter == nullptr) {
    return refuse(node, "no equivalent layer");
  }
  try {
    Conversion conversion(*this, node);
    make_repeated_values(conversion);
    const bool moves = moves_integers(node);
    converter(conversion);
    if (moves) {
      const std::string& type = integers_.at(node.proto.input(0));
      for (const auto& output : node.proto.output()) integers_[output] = type;
    }
    check_stated(node);
    if (traces(TraceKind::import)) trace_import(node);
  } catch (const Error& error) {
    const ErrorKind kind = error.kind();
    if (kind != ErrorKind::unsupported && kind != ErrorKind::value &&
        kind != ErrorKind::shape && kind != ErrorKind::not_found) {
      throw;
    }
    refuse(node, error.message());
  }
}

// Reports a node with the layer that produces its output, and the shape in the
// file's axes.
void Importer::trace_import(const OnnxNode& node) const {
  std::string layer = "constant";
  const auto made = values_.find(node.output(0));
  if (made != values_.end() && made->second.tensor.node != nullptr) {
    const Layer& producer = *made->second.tensor.node->layer;
    layer = fmt::format("{} '{}' {}", producer.class_name(), producer.name(),
                        made->second.text());
  }
  trace_event(TraceKind::import,
              fmt::format("{} '{}'", node.proto.op_type(), name_of(node.proto)),
              layer);
}

// Checks that a layer's output has the shape that the file states or that
// follows from its operator.
void Importer::check_stated(const OnnxNode& node) const {
  if (node.proto.output_size() == 0) return;
  const auto made = values_.find(node.proto.output(0));
  const auto stated = graph_.stated(node.proto.output(0));
  if (made == values_.end() || !stated) return;
  const Dims dims = made->second.dims();
  const int64_t batch = fixed_batch(graph_);
  bool fits = dims.size() == stated->size();
  for (size_t axis = 0; fits && axis < dims.size(); ++axis) {
    const int64_t size = (*stated)[axis];
    const auto [factor, samples] = dims[axis];
    fits = size < 0 || (!samples ? size == factor
                                 : batch == 0 || (size % batch == 0 &&
                                                  size / batch == factor));
  }
  if (fits) return;
  throw UnsupportedError("shape_mismatch", "",
                         fmt::format("the layer's output has shape {}, but the "
                                     "file states {}",
                                     made->second.text(), dims_text(*stated)));
}

Model Importer::model() {
  std::vector<SymbolicTensor> outputs;
  for (const OnnxTensorInfo& output : graph_.outputs()) {
    const std::string base = layer_name_of(printable(output.name));
    const Constant* constant = graph_.constant(output.name);
    if (constant != nullptr && !values_.contains(output.name)) {
      values_[output.name] = with_context(
          [&] { return fmt::format("output '{}'", printable(output.name)); },
          [&] {
            return constant_output(*constant, fixed_batch(graph_),
                                   inputs_.front(), unique(base));
          });
    }
    const auto found = values_.find(output.name);
    if (found == values_.end()) {
      throw UnsupportedError(
          "unsupported_model",
          fmt::format("output '{}'", printable(output.name)),
          "must depend on the model's inputs, got a constant");
    }
    const bool batched = found->second.layout.batch_axis().has_value();
    const Dims dims = found->second.dims();
    const auto batch = std::ranges::find(dims, kBatch) - dims.begin();
    if (batched && batch != 0 &&
        (!is_recurrent(graph_) || batch == std::ssize(dims))) {
      throw UnsupportedError("unsupported_model",
                             fmt::format("output '{}'", printable(output.name)),
                             fmt::format("first axis must be the batch, got {}",
                                         found->second.text()));
    }
    const ImportedValue value = LayerAxes(found->second).value;
    const auto name = [&](const char* what) {
      return unique(base + "/" + what);
    };
    const std::vector<int> order =
        !batched     ? file_order(value.rank())
        : batch == 0 ? order_of_output(value)
                     : axis_first(value.rank(), static_cast<int>(batch));
    SymbolicTensor y = materialize(value, order, name);
    interface_.outputs.push_back(
        {output.name, is_port_type(output.type) ? output.type : "float32",
         order, batched});
    if (value.qparams != nullptr) {
      const LayerHandle last = Activation(
          {.activation = "linear", .name = unique(base + "/quantized")});
      y = last(y);
      sites_.push_back(site_of(last->name(), 0, *value.qparams));
    }
    outputs.push_back(y);
  }
  if (outputs.size() > 1) name_by_outputs(outputs);
  ModelOptions options;
  if (!graph_.name().empty()) options.name = graph_.name();
  options.aliases = aliases(outputs);
  return Model(inputs_, std::move(outputs), options);
}

// Losses and labels are addressed by output name if there are several outputs:
// a layer that produces an output and nothing else gets the output's name.
void Importer::name_by_outputs(std::span<const SymbolicTensor> outputs) {
  std::map<const Layer*, int> calls, made;
  std::map<std::string, const GraphNode*> named;
  std::vector<const GraphNode*> open;
  std::set<const GraphNode*> seen;
  for (const SymbolicTensor& y : outputs) {
    ++made[y.node->layer.get()];
    open.push_back(y.node.get());
  }
  while (!open.empty()) {
    const GraphNode* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    ++calls[node->layer.get()];
    named[node->layer->name()] = node;
    for (const SymbolicTensor& x : node->inputs) open.push_back(x.node.get());
  }
  const auto rename = [&](const GraphNode& node, const std::string& name) {
    const std::string before = node.layer->name();
    // Valid while no model contains the layer.
    std::const_pointer_cast<Layer>(node.layer)->set_name(name);
    named.erase(before);
    named[name] = &node;
    names_.insert(name);
    for (SitePlan& site : sites_) {
      if (site.layer == before) site.layer = name;
    }
    for (auto& node_report : graph_.report().nodes) {
      if (node_report.layer == before) node_report.layer = name;
    }
  };
  for (size_t i = 0; i < outputs.size(); ++i) {
    const GraphNode& node = *outputs[i].node;
    const std::string& given = graph_.outputs()[i].name;
    const std::string name = layer_name_of(printable(given));
    const bool own =
        made[node.layer.get()] == 1 && calls[node.layer.get()] == 1;
    if (node.inputs.empty() || !own || !is_given_name(given) ||
        node.layer->name() == name) {
      continue;
    }
    const auto other = named.find(name);
    if (other != named.end()) {
      if (other->second->inputs.empty()) continue;  // an input has the name
      rename(*other->second, unique(name));
    }
    rename(node, name);
  }
}

void Importer::warn_of_floats() const {
  constexpr size_t kMost = 5;
  const size_t count = float_weights_.size();
  if (count == 0) return;
  std::vector<std::string> lines(
      float_weights_.begin(),
      float_weights_.begin() + static_cast<int64_t>(std::min(count, kMost)));
  if (count > kMost) lines.push_back(fmt::format("and {} more", count - kMost));
  warn("weights_dequantized", "ONNX model",
       fmt::format("quantized weights that become floats, so that devices run "
                   "their layers in floating point: {}\n  {}\n{}",
                   count, fmt::join(lines, "\n  "), kDropHint));
}

OnnxImport Importer::run() {
  const ParameterLimit limit(options_.limits.memory_limit /
                             static_cast<int64_t>(sizeof(float)));
  add_inputs();
  for (OnnxNode& node : graph_.nodes()) {
    if (node.gone) continue;
    if (graph_.budget().is_late()) {
      throw FormatError("time_limit", "ONNX model",
                        fmt::format("import exceeds the limit of {} seconds",
                                    options_.limits.time_limit));
    }
    convert(node);
    graph_.drop_constants(node);
  }
  if (refused_.size() == 1) {
    throw RefusedNodes("unsupported_operator", refused_[0].node,
                       refused_[0].reason);
  }
  if (!refused_.empty()) {
    throw RefusedNodes("unsupported_operator", "ONNX model",
                       fmt::format("cannot import {} nodes:{}", refused_.size(),
                                   lines_of(refused_)));
  }
  if (options_.drop_quantizers && rectified_ > 0) {
    warn("layers_restored", "ONNX model",
         fmt::format("restored {} ReLU layers that the quantizer had removed; "
                     "other clips that it removed cannot be detected. Hint: "
                     "compare with the float model, if available",
                     rectified_));
  }
  warn_of_floats();
  Model result = model();
  check_activations(result, options_.limits);
  if (options_.symmetric_activations) {
    std::ranges::for_each(sites_, make_symmetric);
  }
  if (!sites_.empty()) result = with_quantizers(result, sites_);
  return {std::move(result), std::move(graph_.report()), std::move(interface_)};
}

}  // namespace octet::io::importing
