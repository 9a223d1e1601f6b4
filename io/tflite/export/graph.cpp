#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

#include "export.h"
#include "lowering.h"

namespace octet::io::tflite {
namespace {

using quant::QdqSite;

bool is_clip(const std::string& function) {
  return function == "relu" || function == "relu6";
}

// Operators with a fused activation.
bool fuses(std::string_view name) {
  return name == "Conv1D" || name == "Conv2D" || name == "Conv2DTranspose" ||
         name == "DepthwiseConv1D" || name == "DepthwiseConv2D" ||
         name == "SeparableConv1D" || name == "SeparableConv2D" ||
         name == "Dense" || name == "BatchNormalization" || name == "Add" ||
         name == "Subtract" || name == "Multiply" || name == "Rescaling" ||
         name == "LayerScale";
}

void expect_int8(const Quant& quant) {
  if (!quant.int16) return;
  throw ValueError("unsupported_value", "io",
                   "uint8 needs 8-bit activations, the model has 16 bits. "
                   "Hint: int8, which writes int16 here, or float32");
}

class GraphExport {
 public:
  GraphExport(const Model& model, const TfliteOptions& options,
              FileBuilder& file)
      : model_(model),
        options_(options),
        file_(file),
        int8_(quant::is_quantized(model)) {
    for (const auto& node : model.nodes()) {
      for (size_t i = 0; i < node->inputs.size(); ++i) {
        consumers_[node->inputs[i].node.get()].push_back({node.get(), i});
      }
    }
    for (const SymbolicTensor& output : model.outputs()) {
      outputs_.insert(output.node.get());
    }
  }

  void run() {
    add_inputs();
    for (const auto& node : model_.nodes()) {
      if (values_.contains(node.get())) continue;
      lower(*node);
    }
    if (!problems_.empty()) throw_problems();
    add_outputs();
  }

 private:
  struct Consumer {
    const GraphNode* node;
    size_t input;
  };

  static const quant::PlacedQuantizer* quantizer_at(const GraphNode& node,
                                                    const QdqSite& site) {
    const auto* wrapper = quant::as_wrapper(*node.layer);
    return wrapper == nullptr ? nullptr : wrapper->find(site);
  }
  static const quant::PlacedQuantizer* input_quantizer(const Consumer& c) {
    return quantizer_at(*c.node, QdqSite::input(static_cast<int>(c.input)));
  }

  // Parameters of a value: of its own quantizer, else the common ones of its
  // consumers.
  std::optional<Quant> quant_at(const GraphNode& node) const {
    if (const auto* own = quantizer_at(node, QdqSite::output())) {
      return quant_of(*own->quantizer);
    }
    const auto found = consumers_.find(&node);
    if (found == consumers_.end() || outputs_.contains(&node)) return {};
    std::optional<Quant> common;
    for (const Consumer& consumer : found->second) {
      std::optional<Quant> wanted;
      if (const auto* placed = input_quantizer(consumer)) {
        wanted = quant_of(*placed->quantizer);
      } else if (const LoweringRow* row = find_lowering(
                     quant::float_layer(*consumer.node->layer).class_name());
                 row != nullptr && row->equal_scales) {
        wanted = quant_at(*consumer.node);
      }
      if (!wanted || (common && common != wanted)) return {};
      common = wanted;
    }
    return common;
  }

  // The ReLU that is part of the node's operator, or null.
  const GraphNode* fused_activation(const GraphNode& node) const {
    const std::string name = quant::float_layer(*node.layer).class_name();
    const auto found = consumers_.find(&node);
    if (!fuses(name) || found == consumers_.end() ||
        found->second.size() != 1 || outputs_.contains(&node) ||
        node.facts().activation != "linear" ||
        quantizer_at(node, QdqSite::output()) != nullptr) {
      return nullptr;
    }
    const Consumer& next = found->second[0];
    const std::string next_name =
        quant::float_layer(*next.node->layer).class_name();
    const bool clips = (next_name == "ReLU" || next_name == "Activation") &&
                       is_clip(next.node->facts().activation);
    return clips && input_quantizer(next) == nullptr ? next.node : nullptr;
  }

  void report(const GraphNode& node, std::string_view reason) {
    const Layer& layer = quant::float_layer(*node.layer);
    problems_[{layer.class_name(), std::string(reason)}].push_back(
        fmt::format("'{}'", layer.name()));
    ++problem_count_;
    // Lets later layers report, too.
    values_[&node] = file_.add_value(layer.name(), node.shape, {});
    failed_.insert(&node);
  }

  [[noreturn]] void throw_problems() const;
  void lower(const GraphNode& node);
  /// Reports a problem of a layer whose inputs were reported.
  void lower_failed(const LoweringRow& row, Lowering call,
                    const GraphNode& end);
  void add_inputs();
  void add_outputs();
  std::string port_name(const std::vector<std::string>& given, size_t index,
                        const GraphNode& node) const;

  const Model& model_;
  const TfliteOptions& options_;
  FileBuilder& file_;
  const bool int8_;
  std::map<const GraphNode*, std::vector<Consumer>> consumers_;
  std::set<const GraphNode*> outputs_;
  std::map<const GraphNode*, Value> values_;
  std::set<const GraphNode*> failed_;
  ImageForms images_;
  // By class and reason: quoted layer names.
  std::map<std::pair<std::string, std::string>, std::vector<std::string>>
      problems_;
  int problem_count_ = 0;
};

void GraphExport::throw_problems() const {
  std::vector<std::string> lines;
  for (const auto& [problem, layers] : problems_) {
    lines.push_back(fmt::format("{} {}: {}", problem.first,
                                fmt::join(layers, ", "), problem.second));
  }
  throw UnsupportedError(
      "unsupported_layer", "tflite export",
      fmt::format("cannot export {} layer{} of model '{}':\n  {}{}",
                  problem_count_, problem_count_ == 1 ? "" : "s", model_.name(),
                  fmt::join(lines, "\n  "),
                  int8_ ? "\nHint: Policy::tflite quantizes every layer that "
                          "has an integer operator (octet: --policy tflite)"
                        : ""));
}

void GraphExport::lower_failed(const LoweringRow& row, Lowering call,
                               const GraphNode& end) {
  for (Value& x : call.inputs) x = file_.add_value("", x.shape, {});
  values_[&call.node] = values_[&end] =
      file_.add_value(call.name, end.shape, {});
  failed_.insert({&call.node, &end});
  try {
    (void)row.lower(call);
  } catch (const UnsupportedError& error) {
    report(call.node, error.text());
  }
}

void GraphExport::lower(const GraphNode& node) {
  const Layer& layer = quant::float_layer(*node.layer);
  const LoweringRow* row = find_lowering(layer.class_name());
  if (row == nullptr) {
    return report(node, "no operator of TensorFlow Lite");
  }
  const GraphNode* activation = fused_activation(node);
  const GraphNode& end = activation != nullptr ? *activation : node;
  Lowering call{.node = node,
                .layer = layer,
                .wrapper = quant::as_wrapper(*node.layer),
                .config = layer.config(),
                .name = quant::float_layer(*end.layer).name(),
                .file = file_,
                .images = images_};
  bool failed = false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const GraphNode* source = node.inputs[i].node.get();
    failed = failed || failed_.contains(source);
    Value x = values_.at(source);
    if (const auto* placed = input_quantizer({&node, i})) {
      x = requantized(call, x, quant_of(*placed->quantizer),
                      fmt::format("input_{}", i));
    }
    call.inputs.push_back(std::move(x));
  }
  // Its inputs were reported; the layer may have a problem, too.
  if (failed) return lower_failed(*row, std::move(call), end);
  std::optional<Quant> wanted = quant_at(end);
  if (row->equal_scales && call.inputs.size() == 1) {
    call.quant = call.inputs[0].quant;
    if (!wanted) wanted = call.quant;
  } else {
    if (!wanted && row->equal_scales) wanted = call.inputs[0].quant;
    call.quant = wanted;
  }
  const bool float_input = std::ranges::any_of(
      call.inputs, [](const Value& x) { return !x.quant.has_value(); });
  if (int8_ && (!wanted || float_input)) {
    return report(node, float_input ? "its input has no quantizer"
                                    : "its output has no quantizer");
  }
  if (activation != nullptr) {
    call.fused = activation->facts().activation == "relu"
                     ? schema::Activation::RELU
                     : schema::Activation::RELU6;
  }
  const bool converts = wanted != call.quant;
  if (converts) call.name += "/input_scale";
  try {
    Value y = row->lower(call);
    if (converts) {
      call.name = quant::float_layer(*end.layer).name();
      y = requantized(call, y, *wanted, "");
    }
    values_[&node] = values_[&end] = y;
  } catch (const UnsupportedError& error) {
    report(node, error.text());
    values_[&end] = values_[&node];
    failed_.insert(&end);
  }
}

std::string GraphExport::port_name(const std::vector<std::string>& given,
                                   size_t index, const GraphNode& node) const {
  if (!given.empty()) return given[index];
  return quant::float_layer(*node.layer).name();
}

void GraphExport::add_inputs() {
  for (size_t i = 0; i < model_.inputs().size(); ++i) {
    const GraphNode& node = *model_.inputs()[i].node;
    const std::string name = port_name(options_.input_names, i, node);
    const std::optional<Quant> quant = int8_ ? quant_at(node) : std::nullopt;
    if (int8_ && !quant) {
      report(node, "the input has no quantizer");
      continue;
    }
    if (!quant || options_.io == TfliteIo::int8) {
      values_[&node] = file_.add_value(name, node.shape, quant);
      file_.add_input(values_[&node].tensor, name);
      continue;
    }
    const bool is_float = options_.io == TfliteIo::float32;
    if (!is_float) expect_int8(*quant);
    const int tensor = file_.add_tensor(
        name, node.shape,
        is_float ? schema::TensorType::FLOAT32 : schema::TensorType::UINT8,
        is_float ? std::nullopt
                 : std::optional(Quant{quant->scale, quant->zero_point + 128}));
    const Value x = file_.add_value(name + "/int8", node.shape, quant);
    file_.add_operator(schema::Op::QUANTIZE, is_float ? 1 : 2, {tensor},
                       {x.tensor}, schema::QuantizeOptionsT());
    values_[&node] = x;
    file_.add_input(tensor, name);
  }
}

void GraphExport::add_outputs() {
  for (size_t i = 0; i < model_.outputs().size(); ++i) {
    const GraphNode& node = *model_.outputs()[i].node;
    const std::string name = port_name(options_.output_names, i, node);
    const Value& y = values_.at(&node);
    if (!y.quant || options_.io == TfliteIo::int8) {
      file_.add_output(y.tensor, name);
      continue;
    }
    const bool is_float = options_.io == TfliteIo::float32;
    if (!is_float) expect_int8(*y.quant);
    const std::string tensor_name =
        fmt::format("{}/{}", name, to_string(options_.io));
    const int tensor = file_.add_tensor(
        tensor_name, y.shape,
        is_float ? schema::TensorType::FLOAT32 : schema::TensorType::UINT8,
        is_float
            ? std::nullopt
            : std::optional(Quant{y.quant->scale, y.quant->zero_point + 128}));
    if (is_float) {
      file_.add_operator(schema::Op::DEQUANTIZE, 2, {y.tensor}, {tensor},
                         schema::DequantizeOptionsT());
    } else {
      file_.add_operator(schema::Op::QUANTIZE, 2, {y.tensor}, {tensor},
                         schema::QuantizeOptionsT());
    }
    file_.add_output(tensor, name);
  }
}

}  // namespace

void add_model(const Model& model, const TfliteOptions& options,
               FileBuilder& file) {
  GraphExport(model, options, file).run();
}

}  // namespace octet::io::tflite
