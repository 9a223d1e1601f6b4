// lint_tflite(): rules for the runtimes of .tflite files.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/io/lint.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "tflite/file/file.h"

namespace octet::io {

using namespace tflite;  // NOLINT: a source file

namespace {

using schema::Op;
using schema::TensorType;

// Codes of TensorFlow Lite Micro's micro_mutable_op_resolver.h, 2026-10.
constexpr int kMicroOperators[] = {
    0,   1,   2,   3,   4,   5,   6,   7,   8,   9,   11,  12,  14,  17,  18,
    19,  21,  22,  23,  25,  26,  27,  28,  34,  36,  37,  38,  39,  40,  41,
    42,  43,  44,  45,  47,  49,  50,  53,  54,  55,  56,  57,  58,  59,  60,
    61,  62,  63,  65,  66,  67,  70,  71,  72,  73,  74,  75,  76,  77,  79,
    82,  83,  84,  86,  87,  88,  89,  90,  91,  92,  93,  94,  95,  97,  98,
    99,  100, 101, 102, 104, 105, 106, 107, 108, 111, 114, 116, 117, 118, 119,
    123, 126, 128, 129, 130, 142, 143, 144, 145};

bool is_any(Op op, std::initializer_list<Op> list) {
  return std::ranges::find(list, op) != list.end();
}

bool is_convolution(Op op) {
  return is_any(op, {Op::CONV_2D, Op::DEPTHWISE_CONV_2D, Op::TRANSPOSE_CONV});
}

// First input with values; others are sizes or an axis.
size_t first_value(Op op) {
  return op == Op::TRANSPOSE_CONV ? 2 : op == Op::SPLIT ? 1 : 0;
}

std::string_view activation_of(const schema::OperatorT& op) {
  const auto name = [](const auto* options) {
    return options == nullptr || options->activation == schema::Activation::NONE
               ? std::string_view()
               : schema::EnumNameActivation(options->activation);
  };
  const auto& o = op.builtin_options;
  switch (o.type) {
    case schema::BuiltinOptions::Conv2DOptions:
      return name(o.AsConv2DOptions());
    case schema::BuiltinOptions::DepthwiseConv2DOptions:
      return name(o.AsDepthwiseConv2DOptions());
    case schema::BuiltinOptions::FullyConnectedOptions:
      return name(o.AsFullyConnectedOptions());
    case schema::BuiltinOptions::AddOptions:
      return name(o.AsAddOptions());
    default:
      return {};
  }
}

class TfliteLint {
 public:
  explicit TfliteLint(const schema::ModelT& model)
      : model_(model), graph_(*model.subgraphs[0]) {}

  LintReport run() {
    const auto is_integer = [&](const auto& op) {
      return !op->outputs.empty() && is_quantized(tensor(op->outputs[0]));
    };
    quantized_ = std::ranges::any_of(graph_.operators, is_integer);
    for (const auto& op : graph_.operators) check(*op);
    std::ranges::stable_sort(
        report_.findings, [](const auto& a, const auto& b) {
          return std::pair(b.severity, a.id) < std::pair(a.severity, b.id);
        });
    return std::move(report_);
  }

 private:
  const schema::TensorT& tensor(int32_t index) const {
    return *graph_.tensors[static_cast<size_t>(index)];
  }
  const schema::TensorT* input(const schema::OperatorT& op, size_t i) const {
    return i < op.inputs.size() && op.inputs[i] >= 0 ? &tensor(op.inputs[i])
                                                     : nullptr;
  }
  static bool is_quantized(const schema::TensorT& t) {
    return t.type == TensorType::INT8 || t.type == TensorType::INT16;
  }
  bool is_constant(const schema::TensorT& t) const {
    return !constant_of(model_, t).empty();
  }
  static std::vector<float> scales_of(const schema::TensorT& t) {
    return t.quantization == nullptr ? std::vector<float>()
                                     : t.quantization->scale;
  }
  static bool has_zero_point(const schema::TensorT& t) {
    return t.quantization != nullptr &&
           std::ranges::any_of(t.quantization->zero_point,
                               [](int64_t zero) { return zero != 0; });
  }
  static int64_t zero_point_of(const schema::TensorT& t) {
    return t.quantization == nullptr || t.quantization->zero_point.empty()
               ? 0
               : t.quantization->zero_point[0];
  }
  static std::string text_of(const schema::TensorT& t) {
    const std::vector<float> scales = scales_of(t);
    return scales.empty() ? "no scale"
                          : fmt::format("scale {:.6g} and zero point {}",
                                        scales[0], zero_point_of(t));
  }

  void add(std::string_view id, const schema::OperatorT& op, std::string reason,
           std::string hint) {
    const auto rules = tflite_lint_rules();
    const char severity =
        std::ranges::find(rules, id, &LintRule::id)->severities[0];
    report_.findings.push_back(
        {.id = std::string(id),
         .severity = severity == 'E'   ? LintSeverity::error
                     : severity == 'W' ? LintSeverity::warning
                                       : LintSeverity::info,
         .node = node_name(op),
         .reason = std::move(reason),
         .hint = std::move(hint)});
  }
  std::string node_name(const schema::OperatorT& op) const {
    return op.outputs.empty() ? "" : tensor(op.outputs[0]).name;
  }

  void check(const schema::OperatorT& op) {
    const Op code = op_of(model_, op);
    if (code == Op::CUSTOM ||
        std::ranges::find(kMicroOperators, static_cast<int>(code)) ==
            std::end(kMicroOperators)) {
      const std::string& custom =
          model_.operator_codes[op.opcode_index]->custom_code;
      add("M01", op,
          custom.empty() ? name_of(code) : fmt::format("operator '{}'", custom),
          "replace the layer, or register the operator in the firmware");
    }
    check_types(op, code);
    if (op.outputs.empty()) return;
    if (is_convolution(code) || code == Op::FULLY_CONNECTED) {
      check_weights(op, code);
    }
    check_equal_scales(op, code);
    check_prescribed(op, code);
    forecast(op, code);
  }

  void check_types(const schema::OperatorT& op, Op code) {
    const bool converts = is_any(code, {Op::QUANTIZE, Op::DEQUANTIZE});
    std::set<std::string> unsigned_values, shifted;
    for (const auto* list : {&op.inputs, &op.outputs}) {
      for (const int32_t index : *list) {
        if (index < 0) continue;
        const schema::TensorT& t = tensor(index);
        if (t.type == TensorType::UINT8) unsigned_values.insert(t.name);
        if (t.type == TensorType::INT16 && has_zero_point(t)) {
          shifted.insert(t.name);
        }
        if (t.type == TensorType::FLOAT16) {
          add("M10", op, fmt::format("'{}' is float16", t.name),
              "export float32 or INT8");
        }
      }
    }
    if (!unsigned_values.empty() && !converts) {
      add("M08", op,
          fmt::format("'{}' of {} is uint8", *unsigned_values.begin(),
                      name_of(code)),
          "quantize to int8 again: --io uint8 converts inputs and outputs "
          "only");
    }
    if (!shifted.empty()) {
      add("M11", op, fmt::format("'{}' has another one", *shifted.begin()),
          "quantize int16 symmetrically");
    }
  }

  void check_weights(const schema::OperatorT& op, Op code) {
    const schema::TensorT* x = input(op, first_value(code));
    const schema::TensorT* w = input(op, 1);
    if (x == nullptr || w == nullptr || w->type != TensorType::INT8) return;
    if (x->type == TensorType::FLOAT32) {
      return add("M07", op, "its input is float32: dynamic-range quantization",
                 "calibrate the activations: octet quantize --drop-quantizers");
    }
    if (is_convolution(code) && has_zero_point(*w)) {
      add("M02", op, fmt::format("'{}' has {}", w->name, text_of(*w)),
          "quantize weights symmetrically: runtimes ignore their zero point");
    }
    if (constant_of(model_, *w).find('\x80') != std::string_view::npos) {
      add("M03", op, fmt::format("'{}' has a value of -128", w->name),
          "quantize weights to [-127,127]: SIMD kernels may overflow");
    }
    const std::vector<float> scales = scales_of(*w);
    if (code == Op::FULLY_CONNECTED && scales.size() > 1) {
      add("M12", op, fmt::format("'{}' has {} scales", w->name, scales.size()),
          "update TensorFlow Lite Micro: older versions apply the first "
          "scale to all channels");
    }
    const schema::TensorT* bias = input(op, code == Op::TRANSPOSE_CONV ? 3 : 2);
    if (bias != nullptr) check_bias(op, *x, *bias, scales);
  }

  void check_bias(const schema::OperatorT& op, const schema::TensorT& x,
                  const schema::TensorT& bias,
                  const std::vector<float>& weights) {
    const char* const hint =
        "quantize the bias with scale s_input * s_weight: runtimes ignore its "
        "own scale";
    const bool wide = x.type == TensorType::INT16;
    if (bias.type != TensorType::INT32 &&
        !(wide && bias.type == TensorType::INT64)) {
      return add("M04", op,
                 fmt::format("'{}' is {}", bias.name, name_of(bias.type)),
                 hint);
    }
    const std::vector<float> scales = scales_of(bias), in = scales_of(x);
    if (has_zero_point(bias)) {
      return add("M04", op,
                 fmt::format("'{}' has {}", bias.name, text_of(bias)), hint);
    }
    if (scales.empty() || in.empty() || weights.empty()) return;
    for (size_t c = 0; c < std::max(scales.size(), weights.size()); ++c) {
      const double wanted = double{in[0]} * weights[c % weights.size()];
      const double scale{scales[c % scales.size()]};
      if (std::abs(scale - wanted) <= 1e-3 * wanted) continue;
      return add("M04", op,
                 fmt::format("'{}' has scale {:.6g} in channel {}, s_input * "
                             "s_weight is {:.6g}",
                             bias.name, scale, c, wanted),
                 hint);
    }
  }

  void check_equal_scales(const schema::OperatorT& op, Op code) {
    const bool moves = is_any(
        code, {Op::AVERAGE_POOL_2D, Op::MAX_POOL_2D, Op::CONCATENATION,
               Op::RESHAPE, Op::PAD, Op::PADV2, Op::TRANSPOSE,
               Op::STRIDED_SLICE, Op::SPLIT, Op::GATHER, Op::MAXIMUM,
               Op::MINIMUM, Op::RESIZE_BILINEAR, Op::RESIZE_NEAREST_NEIGHBOR});
    const schema::TensorT& y = tensor(op.outputs[0]);
    if (!moves || !is_quantized(y)) return;
    for (size_t i = first_value(code); i < op.inputs.size(); ++i) {
      const schema::TensorT* x = input(op, i);
      const bool same = x == nullptr || x->type != y.type ||
                        (scales_of(*x) == scales_of(y) &&
                         zero_point_of(*x) == zero_point_of(y));
      if (same) continue;
      add("M05", op,
          fmt::format("{}: '{}' has {}, the output {}", name_of(code), x->name,
                      text_of(*x), text_of(y)),
          "give both one quantizer, or insert QUANTIZE: the runtime copies "
          "quantized values");
    }
  }

  void check_prescribed(const schema::OperatorT& op, Op code) {
    const schema::TensorT& y = tensor(op.outputs[0]);
    const bool tanh = code == Op::TANH;
    if (!is_quantized(y) ||
        !(tanh || is_any(code, {Op::SOFTMAX, Op::LOGISTIC}))) {
      return;
    }
    const bool wide = y.type == TensorType::INT16;
    const float scale = wide ? 1.0f / 32768 : tanh ? 1.0f / 128 : 1.0f / 256;
    const int64_t zero = wide || tanh ? 0 : -128;
    const std::vector<float> scales = scales_of(y);
    if (scales.size() == 1 && std::abs(scales[0] - scale) < 1e-3f * scale &&
        zero_point_of(y) == zero) {
      return;
    }
    add("M06", op, fmt::format("{}: {}", name_of(code), text_of(y)),
        "use the prescribed scale and convert by QUANTIZE");
  }

  // Operators with arithmetic.
  void forecast(const schema::OperatorT& op, Op code) {
    if (code == Op::QUANTIZE) {
      const schema::TensorT* x = input(op, 0);
      const schema::TensorT& y = tensor(op.outputs[0]);
      if (x != nullptr && is_quantized(*x) && is_quantized(y)) {
        add("M13", op, fmt::format("from {} to {}", text_of(*x), text_of(y)),
            "a quantizer that both sides share saves the conversion");
      }
    }
    if (is_any(code, {Op::QUANTIZE, Op::DEQUANTIZE, Op::RESHAPE, Op::PAD,
                      Op::PADV2, Op::TRANSPOSE, Op::STRIDED_SLICE, Op::SPLIT,
                      Op::GATHER, Op::CONCATENATION})) {
      return;
    }
    const schema::TensorT* x = input(op, first_value(code));
    const bool in = x != nullptr && is_quantized(*x);
    const bool out = is_quantized(tensor(op.outputs[0]));
    LayerForecast layer;
    layer.node = node_name(op);
    layer.op = name_of(code);
    layer.precision = in && out ? LayerPrecision::int8
                      : in      ? LayerPrecision::int8_to_float
                                : LayerPrecision::floating;
    layer.group = layer.op;
    const std::string_view activation = activation_of(op);
    if (!activation.empty()) layer.group += fmt::format(" + {}", activation);
    if (in && x->type == TensorType::INT16)
      layer.group += ", int16 activations";
    if (x != nullptr && !in) {
      layer.reason = fmt::format("'{}' is {}", x->name, name_of(x->type));
      if (quantized_) {
        add("M09", op, layer.reason, "quantize all layers: --policy tflite");
      }
    }
    report_.layers.push_back(std::move(layer));
  }

  const schema::ModelT& model_;
  const schema::SubGraphT& graph_;
  bool quantized_ = false;
  LintReport report_{.target = "tflite"};
};

}  // namespace

LintReport lint_tflite_bytes(const std::string& bytes) {
  return TfliteLint(*parse_tflite(bytes)).run();
}

LintReport lint_tflite(const std::filesystem::path& path) {
  return with_context(
      [&] { return fmt::format("in file '{}'", path.string()); },
      [&] { return lint_tflite_bytes(read_file(path)); });
}

}  // namespace octet::io
