// The interface between converters and the importer: inputs and attributes of a
// node, new layers.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/layers/reshaping.h>
#include <octet/runtime/error.h>

#include "../../added_layers.h"
#include "importer.h"
#include "layer_names.h"
#include "onnx/check/proto_limits.h"
#include "onnx/graph/attributes.h"
#include "onnx/graph/tensors.h"

namespace octet::io::importing {
namespace {

bool same_values(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::ranges::equal(a.f32(), b.f32());
}

/// Quantization parameters of a call, to compare calls of a layer.
std::vector<std::string> quantization_texts(
    const std::vector<Operand>& operands,
    const std::vector<ImportedWeight>& weights) {
  std::vector<std::string> quantization;
  for (const Operand& x : operands) {
    quantization.push_back(x.qparams == nullptr
                               ? ""
                               : fmt::format("{} {}", x.qparams->scale,
                                             to_string(x.qparams->config)));
  }
  for (const ImportedWeight& weight : weights) {
    if (!weight.qparams) continue;
    quantization.push_back(fmt::format("{} {} {}", weight.name,
                                       weight.qparams->axis,
                                       fmt::join(weight.qparams->scales, " ")));
  }
  return quantization;
}

}  // namespace

bool Conversion::has_attribute(const char* name) const {
  return find_attribute(node_.proto, name) != nullptr;
}

bool Conversion::has(int input) const {
  return input < inputs() && !node_.proto.input(input).empty();
}

bool Conversion::is_constant(int input) const {
  return has(input) && !made_.contains(input) &&
         graph().constant(node_.proto.input(input)) != nullptr;
}

const Tensor& Conversion::constant(int input) const {
  const Constant& found = stored_constant(input);
  if (!found.times_batch.empty()) {
    refuse(fmt::format("input {} must not depend on the batch size", input));
  }
  return found.value;
}

const Constant& Conversion::stored_constant(int input) const {
  if (!has(input)) refuse(fmt::format("input {} is missing", input));
  const std::string& name = node_.proto.input(input);
  if (const Constant* found = graph().constant(name)) {
    if (found->samples_axis) check_samples(input, *found);
    return *found;
  }
  if (const std::string* type = graph().other_type(name)) {
    refuse(
        fmt::format("input {} must be a constant of float32 or int64, got "
                    "{}",
                    input, *type));
  }
  refuse(
      fmt::format("input {} must be a constant, got a computed value", input));
}

// A constant with one entry for each sample is equal for all samples only if
// its batch axis matches that of the other inputs.
void Conversion::check_samples(int input, const Constant& constant) const {
  bool beside = constant.value.dtype() != DType::i64;
  for (int i = 0; beside && i < inputs(); ++i) {
    if (!has(i) || is_constant(i)) continue;
    const ImportedValue& other = value(i);
    const int more = other.rank() - constant.value.shape().rank();
    beside = more >= 0 && other.has_batch(*constant.samples_axis + more);
  }
  if (beside) return;
  refuse(
      fmt::format("input {} must be a constant that is the same for all "
                  "samples, got one entry for each sample",
                  input));
}

Tensor Conversion::floats(int input) const {
  const Tensor& value = constant(input);
  if (value.dtype() != DType::f32) {
    refuse(fmt::format("input {} must be float32, got {}", input,
                       to_string(value.dtype())));
  }
  return value;
}

float Conversion::scalar(int input) const {
  const Tensor value = floats(input);
  if (value.size() != 1) {
    refuse(fmt::format("input {} must be a single number, got {}", input,
                       value.shape().to_string()));
  }
  return value.f32()[0];
}

Sizes Conversion::integers(int input) const {
  Sizes values;
  for (const Dim& size : sizes(input)) {
    if (size.batch) {
      refuse(fmt::format("input {} must not depend on the batch size", input));
    }
    values.push_back(size.factor);
  }
  return values;
}

Dims Conversion::sizes(int input) const {
  const Constant& found = stored_constant(input);
  const Tensor& value = found.value;
  if (value.shape().rank() > 1) {
    refuse(fmt::format("input {} must be a list, got {}", input,
                       value.shape().to_string()));
  }
  if (value.dtype() == DType::i64) {
    Dims sizes = fixed_dims(value.data<int64_t>());
    for (size_t i = 0; i < found.times_batch.size(); ++i) {
      sizes[i].batch = found.times_batch[i];
    }
    return sizes;
  }
  if (value.dtype() == DType::i32) {
    const auto values = value.data<int32_t>();
    return fixed_dims(Sizes(values.begin(), values.end()));
  }
  refuse(fmt::format("input {} must be integers, got {}", input,
                     to_string(value.dtype())));
}

ImportedWeight Conversion::weight(int input, const char* name) const {
  ImportedWeight weight{name, floats(input)};
  const Constant& constant = *graph().constant(node_.proto.input(input));
  if (constant.samples_axis) {
    refuse("weight must not depend on the sample");
  }
  weight.qparams = constant.qparams;
  weight.source = constant.source;
  if (!constant.no_qparams.empty()) keep_as_floats(weight, constant.no_qparams);
  return weight;
}

ImportedWeight Conversion::channels(int input, const char* name, int64_t count,
                                    bool broadcasts) const {
  ImportedWeight weight{name, floats(input)};
  const Shape& shape = weight.value.shape();
  if (broadcasts && weight.value.size() == 1) {
    weight.value = Tensor::full({count}, weight.value.f32()[0]);
    return weight;
  }
  if (weight.value.size() != count || shape.rank() < 1) {
    refuse(fmt::format("{} must have {} numbers, got {}", name, count,
                       shape.to_string()));
  }
  weight.value = weight.value.reshaped({count});
  return weight;
}

void Conversion::expect_scales(ImportedWeight& weight, int64_t axis) const {
  if (!weight.qparams || !weight.qparams->per_channel ||
      weight.qparams->axis == axis) {
    return;
  }
  keep_as_floats(weight, fmt::format("scales are on axis {}, but a layer needs "
                                     "them on axis {}, the outputs",
                                     weight.qparams->axis, axis));
}

void Conversion::keep_as_floats(ImportedWeight& weight,
                                const std::string& reason) const {
  weight.qparams.reset();
  importer_.float_weights_.push_back(
      fmt::format("{}: {}", describe(node_.proto), reason));
}

const ImportedValue& Conversion::value(int input) const {
  if (!has(input)) refuse(fmt::format("input {} is missing", input));
  const auto made = made_.find(input);
  if (made != made_.end()) return made->second;
  const std::string& name = node_.proto.input(input);
  const auto found = importer_.values_.find(name);
  if (found != importer_.values_.end()) return found->second;
  if (graph().constant(name) != nullptr ||
      graph().other_type(name) != nullptr) {
    refuse(
        fmt::format("input {} must depend on the model's inputs, got a "
                    "constant",
                    input));
  }
  throw FormatError("invalid_graph", describe(node_.proto),
                    fmt::format("input '{}' has no producer before this node",
                                printable(name)));
}

void Conversion::set_value(int input, ImportedValue value) {
  made_.insert_or_assign(input, std::move(value));
}

const SymbolicTensor& Conversion::model_input() const {
  return importer_.inputs_.front();
}

Operand Conversion::operand(int input, std::span<const int> order) {
  const ImportedValue& x = value(input);
  return {materialize(x, order, namer()), x.qparams};
}

Operand Conversion::operand(const LayerAxes& axes) {
  return {materialize(axes.value, axes.order, namer()), axes.value.qparams};
}

Operand Conversion::stored(int input) const {
  const ImportedValue& x = value(input);
  return {x.tensor, x.qparams};
}

Operand Conversion::features(int input) {
  const ImportedValue& x = value(input);
  if (x.rank() != 2 || !x.samples_lead()) {
    refuse(fmt::format("input must be features [N,c], got {}", x.text()));
  }
  if (x.tensor.shape().rank() == 2) return stored(input);
  const Operand flat{x.tensor};
  return {add(Flatten(), {flat}, {}, "/flatten"), x.qparams};
}

int Conversion::axis_of(int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) {
    refuse(fmt::format("axis must be from {} to {}, got {}", -rank, rank - 1,
                       axis));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Namer Conversion::namer() const {
  return [this](const char* what) {
    return importer_.unique(layer_name_of(node_.name) + "/" + what);
  };
}

// Nodes that share weights and have equal options become one layer.
std::shared_ptr<Layer> Conversion::known_layer(
    const LayerHandle& layer, const std::vector<Operand>& operands,
    const std::vector<ImportedWeight>& weights) {
  // Exporters also store other parameters once if their values are equal.
  if (!weights[0].name.ends_with("kernel")) return nullptr;
  const std::string source = layer->class_name() + " " + weights[0].source;
  const std::string config = to_json(layer->config());
  const std::vector<std::string> quantization =
      quantization_texts(operands, weights);
  const auto [begin, end] = importer_.called_.equal_range(source);
  for (auto at = begin; at != end; ++at) {
    const Importer::Called& called = at->second;
    const auto theirs = called.layer->parameters();
    bool same = called.config == config && called.quantization == quantization;
    for (size_t i = 0; same && i < weights.size(); ++i) {
      same = same_values(theirs[i].variable.value(), weights[i].value);
    }
    if (same) return called.layer;
  }
  if (begin != end) {
    warn("weights_copied", describe(node_.proto),
         fmt::format("shares weights with '{}' but has other options; the "
                     "weights are copied and trained separately",
                     begin->second.layer->name()));
  }
  importer_.called_.emplace(
      source, Importer::Called{layer.layer(), config, quantization});
  return nullptr;
}

SymbolicTensor Conversion::add(const LayerHandle& layer,
                               const std::vector<Operand>& operands,
                               const std::vector<ImportedWeight>& weights,
                               const char* suffix) {
  std::vector<SymbolicTensor> inputs;
  for (const Operand& x : operands) inputs.push_back(x.tensor);
  if (!weights.empty()) {
    if (const auto known = known_layer(layer, operands, weights)) {
      for (const size_t index : node_.origin) {
        graph().report().nodes[index].layer = known->name();
      }
      return call(known, std::move(inputs));
    }
  }
  const SymbolicTensor y =
      named(call(layer.layer(), std::move(inputs)), operands, suffix);
  if (!weights.empty()) {
    std::vector<Tensor> values;
    for (const ImportedWeight& weight : weights) values.push_back(weight.value);
    layer->set_parameters(values);
  }
  for (const ImportedWeight& weight : weights) {
    if (!weight.qparams) continue;
    importer_.sites_.push_back(
        site_of(layer->name(), weight.name, *weight.qparams));
  }
  return y;
}

SymbolicTensor Conversion::named(const SymbolicTensor& y,
                                 const std::vector<Operand>& operands,
                                 const char* suffix) {
  std::vector<SymbolicTensor> tensors;
  for (const Operand& x : operands) tensors.push_back(x.tensor);
  name_added_layers(
      tensors, y, layer_name_of(node_.name) + suffix,
      [&](const std::string& name) { return importer_.unique(name); });
  for (const GraphNode* node : added_nodes(tensors, std::span(&y, 1))) {
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const auto is_input = [&](const Operand& x) {
        return x.tensor.node == node->inputs[i].node;
      };
      // Two operands may be one tensor with other quantization parameters.
      auto x = operands.begin() +
               std::min(std::ssize(operands), static_cast<std::ptrdiff_t>(i));
      if (x == operands.end() || !is_input(*x)) {
        x = std::ranges::find_if(operands, is_input);
      }
      if (x == operands.end() || x->qparams == nullptr) continue;
      importer_.sites_.push_back(
          site_of(node->layer->name(), static_cast<int>(i), *x->qparams));
    }
  }
  for (size_t i = 0; i < node_.origin.size(); ++i) {
    OnnxNodeImport& entry = graph().report().nodes[node_.origin[i]];
    entry.layer = y.node->layer->name();
    if (i > 0) entry.note = fmt::format("part of {}", op());
  }
  return y;
}

bool Conversion::is_truth(int input) const {
  return importer_.truths_.contains(node_.proto.input(input));
}

void Conversion::mark_truth() { importer_.truths_.insert(output()); }

std::string Conversion::integer_type(int input) const {
  const auto found = importer_.integers_.find(node_.proto.input(input));
  return found == importer_.integers_.end() ? std::string() : found->second;
}

void Conversion::mark_integers(std::string type) {
  importer_.integers_[output()] = std::move(type);
}

void Conversion::set_output(ImportedValue y, int output) {
  importer_.values_[node_.proto.output(output)] = std::move(y);
}

void Conversion::forward_layout(ImportedValue y, int output) {
  y.qparams = value(0).qparams;
  importer_.values_[node_.proto.output(output)] = std::move(y);
}

void Conversion::forward_layout(AxisLayout layout) {
  set_output(value(0).with(std::move(layout)));
}

SymbolicTensor Conversion::part_of_layer(
    const GraphNode& whole, const LayerHandle& part,
    const std::vector<ImportedWeight>& weights, const PartOfScales& scales,
    const std::string& suffix) {
  const std::string name = importer_.unique(whole.layer->name() + suffix);
  part->set_name(name);
  const SymbolicTensor y = call(part.layer(), whole.inputs);
  std::vector<Tensor> values;
  for (const ImportedWeight& weight : weights) values.push_back(weight.value);
  part->set_parameters(values);
  const std::vector<SitePlan> sites = importer_.sites_;
  for (SitePlan site : sites) {
    if (site.layer != whole.layer->name()) continue;
    site.layer = name;
    if (site.scales.size() > 1) {
      std::vector<float> own;
      const int64_t group = scales.size * scales.inner;
      for (int64_t at = 0; at < std::ssize(site.scales); at += group) {
        const auto from =
            site.scales.begin() + at + scales.first * scales.inner;
        own.insert(own.end(), from, from + scales.count * scales.inner);
      }
      site.scales = std::move(own);
    }
    importer_.sites_.push_back(std::move(site));
  }
  for (const size_t index : node_.origin) {
    graph().report().nodes[index].layer = name;
  }
  return y;
}

bool Conversion::has_quantized_input(const Layer& layer) const {
  return std::ranges::find(importer_.sites_, layer.name(), &SitePlan::layer) !=
         importer_.sites_.end();
}

void Conversion::convert_parts() {
  for (OnnxNode& part : node_.parts) {
    if (!importer_.depends_on_failure(part)) importer_.apply(part);
  }
}

void Conversion::set_sizes(const Shape& shape, const Dims& sizes) {
  OnnxConstant constant{.value = Tensor(shape, DType::i64), .source = output()};
  for (size_t i = 0; i < sizes.size(); ++i) {
    constant.value.data<int64_t>()[i] = sizes[i].factor;
    constant.times_batch.push_back(sizes[i].batch);
  }
  if (std::ranges::none_of(sizes, &Dim::batch)) constant.times_batch.clear();
  graph().set_constant(output(), std::move(constant));
  report("sizes");
}

void Conversion::report(const char* text) {
  for (const size_t index : node_.origin) {
    graph().report().nodes[index].note = text;
  }
}

void Conversion::refuse(const std::string& reason) const {
  throw UnsupportedError("unsupported_operator", "", reason);
}

}  // namespace octet::io::importing
