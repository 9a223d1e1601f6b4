#include "quantizers.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

#include "../bounds.h"
#include "../run/operators.h"
#include "converters.h"

namespace octet::io::importing {
namespace {

constexpr const char* kQuantize = "QuantizeLinear";
constexpr const char* kDequantize = "DequantizeLinear";
constexpr const char* kDropHint =
    "Hint: OnnxImportOptions::drop_quantizers reads the float model, to be "
    "quantized anew";

/// Whether codes at this zero point stand for what int8 codes do at 0.
bool is_symmetric(const Tensor& zero_point) {
  const auto all = [](const auto& values, auto expected) {
    return std::ranges::all_of(values,
                               [&](auto value) { return value == expected; });
  };
  switch (zero_point.dtype()) {
    case DType::i8:
      return all(zero_point.data<int8_t>(), 0);
    case DType::u8:
      return all(zero_point.data<uint8_t>(), 128);
    default:
      return false;
  }
}

/// 0 of a type unless it is there; no tensor if it is computed.
Tensor zero_point_of(const ImportGraph& graph, const onnx::NodeProto& node,
                     DType type) {
  if (node.input_size() < 3 || node.input(2).empty()) {
    return Tensor::zeros({}, type);
  }
  const Constant* constant = graph.constant(node.input(2));
  return constant == nullptr ? Tensor() : constant->value;
}

std::string refusal_of(const ImportNode& node, const std::string& reason) {
  return fmt::format("{}: {}", describe(node.proto), reason);
}

/// The grid of a weight behind a DequantizeLinear, if it has one. `reason` says
/// what is wrong with it otherwise.
std::optional<WeightGrid> weight_grid(const ImportGraph& graph,
                                      const onnx::NodeProto& node,
                                      const Tensor& codes,
                                      std::string& reason) {
  const Shape& shape = codes.shape();
  const Tensor zero_point = zero_point_of(graph, node, codes.dtype());
  if (zero_point.empty() || !is_symmetric(zero_point)) {
    reason =
        "expected zero points of 0 (128 of uint8) for a weight, got others";
    return {};
  }
  const Tensor& scale = graph.constant(node.input(1))->value;
  WeightGrid grid;
  grid.scales.assign(scale.f32().begin(), scale.f32().end());
  int64_t axis = integer_of(node, "axis", 1);
  if (axis < 0) axis += shape.rank();
  grid.axis = axis;
  grid.per_channel = scale.shape().rank() == 1 &&
                     (scale.size() > 1 || (axis >= 0 && axis < shape.rank() &&
                                           shape[static_cast<int>(axis)] == 1));
  return grid;
}

Tensor compute(ImportGraph& graph, const onnx::NodeProto& node) {
  std::vector<Tensor> inputs;
  for (const std::string& input : node.input()) {
    inputs.push_back(input.empty() ? Tensor() : graph.constant(input)->value);
  }
  const run::NodeContext context(node, graph.opset(), inputs, graph.budget());
  std::vector<Tensor> made = node.op_type() == kQuantize
                                 ? run::quantize_linear(context)
                                 : run::dequantize_linear(context);
  graph.budget().hold(made[0]);
  graph.budget().settle();
  return made[0];
}

bool all_constant(const ImportGraph& graph, const onnx::NodeProto& node) {
  return std::ranges::all_of(node.input(), [&](const std::string& input) {
    return input.empty() || graph.constant(input) != nullptr;
  });
}

/// Codes, or a float constant through both.
class Pass {
 public:
  Pass(ImportGraph& graph, bool drop) : graph_(graph), drop_(drop) {}

  void run() {
    for (ImportNode& node : graph_.nodes()) {
      if (is_op(node, kDequantize)) take(node);
    }
    for (ImportNode& node : graph_.nodes()) {
      if (is_op(node, kQuantize) && !rounds_constant(node)) {
        if (graph_.uses(node.proto.output(0)) == 0) {
          graph_.remove(node, "quantizer");
        } else {
          refuse(node, "expected DequantizeLinear alone to read the codes");
        }
      }
    }
    if (refused_.empty()) return;
    throw UnsupportedError(fmt::format(
        "ONNX model: expected Q/DQ pairs that are quantizers, got {} that are "
        "none:\n  {}\n{}",
        refused_.size(), fmt::join(refused_, "\n  "), kDropHint));
  }

 private:
  void refuse(const ImportNode& node, const std::string& reason) {
    refused_.push_back(refusal_of(node, reason));
  }

  bool rounds_constant(const ImportNode& node) const {
    return all_constant(graph_, node.proto);
  }

  void take(ImportNode& node) {
    ImportNode* maker = graph_.maker(node.proto.input(0));
    const bool pair = maker != nullptr && is_op(*maker, kQuantize);
    if (pair && rounds_constant(*maker)) {
      const Constant& source = *graph_.constant(maker->proto.input(0));
      const std::string name = source.source;
      graph_.set_constant(maker->proto.output(0),
                          {compute(graph_, maker->proto), {}, name});
      if (!drop_ && !same_grid(maker->proto, node.proto)) {
        return refuse(node,
                      "expected the scale and zero point of its "
                      "QuantizeLinear");
      }
    }
    if (graph_.constant(node.proto.input(0)) != nullptr)
      return take_weight(node);
    if (!pair) {
      return refuse(node, "expected codes of a QuantizeLinear or a constant");
    }
    take_activation(node, *maker);
  }

  void take_weight(ImportNode& node) {
    const onnx::NodeProto& proto = node.proto;
    if (!all_constant(graph_, proto)) {
      return refuse(node, "expected a constant scale and zero point");
    }
    const Constant codes = *graph_.constant(proto.input(0));
    Constant weight{compute(graph_, proto), {}, codes.source};
    std::string reason;
    if (!drop_ && codes.value.dtype() != DType::i32) {
      weight.grid = weight_grid(graph_, proto, codes.value, reason);
    }
    if (!reason.empty()) return refuse(node, reason);
    graph_.set_constant(proto.output(0), std::move(weight));
    graph_.remove(node, "quantizer of a weight");
  }

  void take_activation(ImportNode& node, ImportNode& quantize) {
    if (!drop_) {
      if (!same_grid(quantize.proto, node.proto)) {
        return refuse(
            node, "expected the scale and zero point of its QuantizeLinear");
      }
      const Constant* scale = graph_.constant(node.proto.input(1));
      const Tensor zero_point = zero_point_of(graph_, node.proto, DType::u8);
      if (scale == nullptr || zero_point.empty()) {
        return refuse(node, "expected a constant scale and zero point");
      }
      if (scale->value.size() != 1) {
        return refuse(node,
                      "expected one scale for an activation, got one a "
                      "channel");
      }
      if (!is_symmetric(zero_point)) {
        return refuse(
            node,
            "expected a zero point of 0 (128 of uint8), got another; Octet's "
            "quantizers are symmetric, as TensorRT's");
      }
    }
    onnx::NodeProto direct = node.proto;
    direct.set_input(0, quantize.proto.input(0));
    graph_.replace(node, direct, {});
  }

  bool same_grid(const onnx::NodeProto& a, const onnx::NodeProto& b) const {
    const auto equal = [&](int input) {
      const std::string& x = input < a.input_size() ? a.input(input) : "";
      const std::string& y = input < b.input_size() ? b.input(input) : "";
      if (x == y) return true;
      const Constant* p = graph_.constant(x);
      const Constant* q = graph_.constant(y);
      return p != nullptr && q != nullptr &&
             p->value.dtype() == q->value.dtype() &&
             p->value.shape() == q->value.shape() &&
             std::equal(
                 static_cast<const char*>(p->value.raw()),
                 static_cast<const char*>(p->value.raw()) + p->value.bytes(),
                 static_cast<const char*>(q->value.raw()));
    };
    return equal(1) && equal(2) &&
           integer_of(a, "axis", 1) == integer_of(b, "axis", 1);
  }

  ImportGraph& graph_;
  bool drop_;
  std::vector<std::string> refused_;
};

/// "conv1/input" of "conv1/input/dequantize/output".
std::string quantizer_name(const ImportNode& node) {
  const std::string& name = node.name;
  for (const std::string_view suffix : {"/dequantize", "_DequantizeLinear"}) {
    if (name.ends_with(suffix)) {
      return name.substr(0, name.size() - suffix.size());
    }
  }
  return name;
}

}  // namespace

void find_quantizers(ImportGraph& graph, bool drop) { Pass(graph, drop).run(); }

std::shared_ptr<const ActivationGrid> grid_of(const ImportGraph& graph,
                                              const ImportNode& node) {
  return std::make_shared<const ActivationGrid>(ActivationGrid{
      .name = quantizer_name(node),
      .scale = graph.constant(node.proto.input(1))->value.f32()[0]});
}

SitePlan site_of(const std::string& layer, int input,
                 const ActivationGrid& grid) {
  quant::QuantizerConfig config = quant::activation_quantizer();
  config.bits = grid.bits;
  config.narrow_range = grid.narrow;
  return {layer, quant::QdqSite::input(input), config, grid.name, {grid.scale}};
}

SitePlan site_of(const std::string& layer, const std::string& parameter,
                 const WeightGrid& grid) {
  quant::QuantizerConfig config = quant::weight_quantizer();
  config.rule = quant::ScaleRule::fixed;
  config.per_channel = grid.per_channel;
  return {layer, quant::QdqSite::weight(parameter), config, "", grid.scales};
}

Model with_quantizers(const Model& model, const std::vector<SitePlan>& sites) {
  quant::QdqPlan plan;
  // Readers of a pair share a quantizer where they read one tensor.
  std::map<std::string, std::vector<const GraphNode*>> tensors;
  std::unordered_map<std::string, const GraphNode*> calls;
  for (const auto& node : model.nodes()) {
    calls.try_emplace(node->layer->name(), node.get());
  }
  std::vector<const SitePlan*> used;
  for (const SitePlan& site : sites) {
    const auto call = calls.find(site.layer);
    if (call == calls.end()) continue;  // nothing reads the layer
    quant::QdqPoint point{{site.site, "file", "the file has a scale for it"},
                          site.layer,
                          site.config,
                          ""};
    if (site.site.kind == quant::SiteKind::input) {
      const GraphNode* read =
          call->second->inputs[static_cast<size_t>(site.site.index)].node.get();
      auto& known = tensors[site.group];
      auto at = std::ranges::find(known, read);
      if (at == known.end()) at = known.insert(at, read);
      const auto number = at - known.begin();
      point.group =
          number == 0 ? site.group : fmt::format("{}_{}", site.group, number);
    } else {
      point.group = site.layer + "/" + site.site.parameter;
    }
    plan.points.push_back(std::move(point));
    used.push_back(&site);
  }
  Model result = quant::apply(plan, model);
  for (const SitePlan* site : used) {
    for (auto& layer : result.layers()) {
      if (layer->original_name() != site->layer) continue;
      const auto* wrapper = quant::as_wrapper(*layer);
      const quant::PlacedQuantizer* placed =
          wrapper == nullptr ? nullptr : wrapper->find(site->site);
      if (placed == nullptr) continue;
      if (site->config.per_channel) {
        placed->quantizer->set_scales(site->scales);
      } else {
        placed->quantizer->set_scale(site->scales[0]);
      }
    }
  }
  return result;
}

void convert_dequantize(Conversion& c) {
  if (c.scores(0) != nullptr) {
    c.refuse("expected attention without Q/DQ between its products");
  }
  c.note("quantizer");
  c.quantize(c.options().drop_quantizers ? nullptr : c.grid());
}

}  // namespace octet::io::importing
