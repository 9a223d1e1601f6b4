#include "quantizers.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "onnx/check/proto_limits.h"
#include "onnx/reference/constants.h"
#include "refused_nodes.h"

namespace octet::io::importing {
namespace {

constexpr const char* kUnlikeQuantize =
    "must have the scale and zero point of its QuantizeLinear";

constexpr const char* kQuantize = "QuantizeLinear";
constexpr const char* kDequantize = "DequantizeLinear";

/// Whether the zero point is equivalent to that of int8 at 0.
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
    case DType::f32:  // float8e4m3fn
      return all(zero_point.f32(), 0.0f);
    default:
      return false;
  }
}

/// Returns the offset of the zero point from the lowest value.
std::optional<int> place_of_zero(const Tensor& zero_point) {
  if (zero_point.dtype() == DType::u8) return zero_point.data<uint8_t>()[0];
  if (zero_point.dtype() == DType::i8) {
    return 128 + zero_point.data<int8_t>()[0];
  }
  return {};
}

/// Whether int8 values, or uint8 values around 128, contain the lowest value.
bool has_lowest(const Tensor& codes) {
  if (codes.dtype() == DType::u8) {
    return std::ranges::find(codes.data<uint8_t>(), 0) !=
           codes.data<uint8_t>().end();
  }
  return codes.dtype() == DType::i8 &&
         std::ranges::find(codes.data<int8_t>(), -128) !=
             codes.data<int8_t>().end();
}

/// Returns the zero point; 0 of `type` if absent, no tensor if computed.
Tensor zero_point_of(const OnnxGraph& graph, const onnx::NodeProto& node,
                     DType type) {
  if (node.input_size() < 3 || node.input(2).empty()) {
    return Tensor::zeros({}, type);
  }
  const Constant* constant = graph.constant(node.input(2));
  return constant == nullptr ? Tensor() : constant->value;
}

/// Returns the zero point of a pair. The attribute is of opset 21.
Tensor zero_point_of_pair(const OnnxGraph& graph,
                          const onnx::NodeProto& quantize) {
  const auto type = static_cast<int32_t>(
      integer_of(quantize, "output_dtype", onnx::TensorProto::UINT8));
  return zero_point_of(graph, quantize,
                       run::dtype_of(type).value_or(DType::i64));
}

/// Returns the quantization parameters of a constant behind a DequantizeLinear
/// if a quantizer can have them; otherwise sets `no_qparams` to the reason.
std::optional<WeightQuantParams> weight_qparams(const OnnxGraph& graph,
                                                const onnx::NodeProto& node,
                                                const Tensor& codes,
                                                std::string& no_qparams) {
  const Shape& shape = codes.shape();
  const Tensor zero_point = zero_point_of(graph, node, codes.dtype());
  if (zero_point.empty() || !is_symmetric(zero_point)) {
    no_qparams = "zero points are not 0 (128 for uint8)";
    return {};
  }
  const Tensor& scale = graph.constant(node.input(1))->value;
  if (scale.size() > 1 && scale.shape().rank() != 1) {
    no_qparams = "scales are per block";
    return {};
  }
  WeightQuantParams qparams;
  if (codes.dtype() == DType::f32) qparams.format = NumberFormat::fp8_e4m3;
  qparams.lowest = has_lowest(codes);
  qparams.scales.assign(scale.f32().begin(), scale.f32().end());
  int64_t axis = integer_of(node, "axis", 1);
  if (axis < 0) axis += shape.rank();
  qparams.axis = axis;
  qparams.per_channel =
      scale.shape().rank() == 1 &&
      (scale.size() > 1 || (axis >= 0 && axis < shape.rank() &&
                            shape[static_cast<int>(axis)] == 1));
  return qparams;
}

/// "conv1/input" for "conv1/input/dequantize/output".
std::string quantizer_name(const OnnxNode& node) {
  const std::string& name = node.name;
  for (const std::string_view suffix : {"/dequantize", "_DequantizeLinear"}) {
    if (name.ends_with(suffix)) {
      return name.substr(0, name.size() - suffix.size());
    }
  }
  return name;
}

/// Converts all pairs of a graph.
class Pass {
 public:
  Pass(OnnxGraph& graph, bool drop) : graph_(graph), drop_(drop) {}

  void run() {
    for (OnnxNode& node : graph_.nodes()) {
      if (is_op(node, kDequantize)) take(node);
    }
    for (OnnxNode& node : graph_.nodes()) {
      if (is_op(node, kQuantize)) drop_quantize(node);
    }
    if (refused_.empty()) return;
    if (refused_.size() == 1) {
      throw UnsupportedError(
          "unsupported_operator", refused_[0].node,
          fmt::format("{}. {}", refused_[0].reason, kDropHint));
    }
    throw UnsupportedError(
        "unsupported_operator", "ONNX model",
        fmt::format("cannot import {} Q/DQ pairs:{}\n{}", refused_.size(),
                    lines_of(refused_), kDropHint));
  }

 private:
  void refuse(const OnnxNode& node, const std::string& reason) {
    refused_.push_back({describe(node.proto), reason});
  }

  void drop_quantize(OnnxNode& node) {
    const std::string& codes = node.proto.output(0);
    if (rounds_constant(node)) {
      if (graph_.constant(codes) == nullptr) {
        graph_.set_constant(codes, {computed(graph_, node.proto), {}, codes});
      }
      return graph_.remove(node, "quantizer of a weight");
    }
    if (graph_.uses(codes) == 0) return graph_.remove(node, "quantizer");
    // Reported at its DequantizeLinear.
    const auto consumers = graph_.consumers(codes);
    const bool reported =
        !graph_.is_output(codes) &&
        std::ranges::all_of(consumers, [](const OnnxNode* consumer) {
          return is_op(*consumer, kDequantize);
        });
    if (reported || wide_type(node) != nullptr) return;
    refuse(node, "quantized values may only be consumed by DequantizeLinear");
  }

  /// Returns the type of a node's quantized values if quantizers do not support
  /// it, otherwise null.
  const std::string* wide_type(const OnnxNode& node) const {
    for (const int input : {2, 0}) {
      if (input >= node.proto.input_size()) continue;
      if (const auto* type = graph_.other_type(node.proto.input(input))) {
        return type;
      }
    }
    return nullptr;
  }

  bool rounds_constant(const OnnxNode& node) const {
    return has_constant_inputs(graph_, node.proto);
  }

  void take(OnnxNode& node) {
    OnnxNode* producer = graph_.producer(node.proto.input(0));
    const bool pair = producer != nullptr && is_op(*producer, kQuantize);
    if (pair && rounds_constant(*producer)) {
      const Constant& source = *graph_.constant(producer->proto.input(0));
      const std::string name = source.source;
      graph_.set_constant(producer->proto.output(0),
                          {computed(graph_, producer->proto), {}, name});
      if (!drop_ && !same_qparams(producer->proto, node.proto)) {
        return refuse(node, kUnlikeQuantize);
      }
    }
    if (graph_.constant(node.proto.input(0)) != nullptr)
      return take_weight(node);
    const std::string* wide = wide_type(node);
    if (wide != nullptr && !(pair && drop_)) {
      return refuse(node, fmt::format("quantized values are {}, but must be "
                                      "int8 or uint8",
                                      *wide));
    }
    if (!pair) {
      return refuse(node, "input must be a QuantizeLinear or a constant");
    }
    take_activation(node, *producer);
  }

  void take_weight(OnnxNode& node) {
    const onnx::NodeProto& proto = node.proto;
    if (!has_constant_inputs(graph_, proto)) {
      return refuse(node, "scale and zero point must be constant");
    }
    const Constant codes = *graph_.constant(proto.input(0));
    Constant weight{computed(graph_, proto), {}, codes.source};
    if (!drop_ && codes.value.dtype() != DType::i32) {
      weight.qparams =
          weight_qparams(graph_, proto, codes.value, weight.no_qparams);
    }
    graph_.set_constant(proto.output(0), std::move(weight));
    graph_.remove(node, "quantizer of a weight");
  }

  void take_activation(OnnxNode& node, OnnxNode& quantize) {
    const std::string refusal = refusal_of_pair(node.proto, quantize.proto);
    if (!drop_ && !refusal.empty()) return refuse(node, refusal);
    onnx::NodeProto direct = node.proto;
    direct.set_input(0, quantize.proto.input(0));
    std::vector<OnnxNode*> parts;
    std::optional<ActivationQuantParams> qparams;
    if (refusal.empty()) {
      qparams = ActivationQuantParams{
          .name = quantizer_name(node),
          .scale = graph_.constant(node.proto.input(1))->value.f32()[0]};
      const Tensor zero_point = zero_point_of_pair(graph_, quantize.proto);
      if (zero_point.dtype() == DType::f32) {
        qparams->config.format = NumberFormat::fp8_e4m3;
      } else if (!is_symmetric(zero_point)) {
        qparams->config.is_signed = false;
        qparams->config.zero_point = *place_of_zero(zero_point);
      } else if (drop_) {
        qparams.reset();
      } else if (OnnxNode* clip = narrowing(direct, *qparams)) {
        direct.set_input(0, clip->proto.input(0));
        parts.push_back(clip);
      }
    }
    graph_.replace(node, direct, parts);
    if (qparams)
      node.qparams = std::make_shared<const ActivationQuantParams>(*qparams);
  }

  /// Returns why no quantizer can express the pair; otherwise "".
  std::string refusal_of_pair(const onnx::NodeProto& dequantize,
                              const onnx::NodeProto& quantize) const {
    if (!same_qparams(quantize, dequantize)) {
      return kUnlikeQuantize;
    }
    const Constant* scale = graph_.constant(dequantize.input(1));
    const Tensor zero_point = zero_point_of_pair(graph_, quantize);
    if (scale == nullptr || zero_point.empty()) {
      return "scale and zero point must be constant";
    }
    if (scale->value.size() != 1) {
      return "activations must have a single scale, got a scale per channel";
    }
    if (!is_symmetric(zero_point) && !place_of_zero(zero_point)) {
      return "quantized values of an activation must have 8 bits";
    }
    return {};
  }

  /// Returns the Clip with which Octet limits a range to fewer values than int8
  /// and sets the bits of `qparams`; null if there is none.
  OnnxNode* narrowing(const onnx::NodeProto& dequantize,
                      ActivationQuantParams& qparams) const {
    OnnxNode* clip = graph_.producer(dequantize.input(0));
    if (clip == nullptr || !is_op(*clip, "Clip") ||
        clip->proto.input_size() != 3 ||
        graph_.uses(clip->proto.output(0)) != 1 ||
        !all_constant_but_first(clip->proto)) {
      return nullptr;
    }
    const float low = graph_.constant(clip->proto.input(1))->value.f32()[0];
    const float high = graph_.constant(clip->proto.input(2))->value.f32()[0];
    const auto fits = [&](int bits, bool narrow, bool is_signed) {
      quant::QuantizerConfig config = qparams.config;
      config.bits = bits;
      config.narrow_range = narrow;
      config.is_signed = is_signed;
      if (low != qparams.scale * static_cast<float>(config.low()) ||
          high != qparams.scale * static_cast<float>(config.high())) {
        return false;
      }
      qparams.config = config;
      return true;
    };
    for (int bits = 2; bits <= 8; ++bits) {
      for (const bool narrow : {false, true}) {
        if (fits(bits, narrow, true)) return clip;
      }
      // A ReLU6 before 8 bits may have the same bounds: requires Octet's name.
      if (bits < 8 && clip->name.ends_with("/clip") &&
          fits(bits, false, false)) {
        return clip;
      }
    }
    return nullptr;
  }

  bool all_constant_but_first(const onnx::NodeProto& node) const {
    for (int i = 1; i < node.input_size(); ++i) {
      const Constant* constant = graph_.constant(node.input(i));
      if (constant == nullptr || constant->value.size() != 1 ||
          constant->value.dtype() != DType::f32) {
        return false;
      }
    }
    return true;
  }

  bool same_qparams(const onnx::NodeProto& a, const onnx::NodeProto& b) const {
    const auto equal = [&](int input) {
      const std::string& x = input < a.input_size() ? a.input(input) : "";
      const std::string& y = input < b.input_size() ? b.input(input) : "";
      if (x == y) return true;
      const Constant* p = graph_.constant(x);
      const Constant* q = graph_.constant(y);
      return p != nullptr && q != nullptr &&
             p->value.dtype() == q->value.dtype() &&
             (p->value.shape() == q->value.shape() ||
              (p->value.size() == 1 && q->value.size() == 1)) &&
             std::equal(
                 static_cast<const char*>(p->value.raw()),
                 static_cast<const char*>(p->value.raw()) + p->value.bytes(),
                 static_cast<const char*>(q->value.raw()));
    };
    const Constant* scale = graph_.constant(a.input(1));
    const bool one = scale != nullptr && scale->value.size() == 1;
    return equal(1) && equal(2) &&
           (one || integer_of(a, "axis", 1) == integer_of(b, "axis", 1));
  }

  OnnxGraph& graph_;
  bool drop_;
  std::vector<RefusedNode> refused_;
};

}  // namespace

void find_quantizers(OnnxGraph& graph, bool drop) { Pass(graph, drop).run(); }

}  // namespace octet::io::importing
