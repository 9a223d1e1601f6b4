// to_float16(): for engines that take types from the file.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "graph_passes.h"
#include "onnx/check/check.h"
#include "onnx/graph/qdq.h"
#include "onnx/graph/tensors.h"
#include "onnx/reference/precision.h"

namespace octet::io {
namespace {

using onnx::TensorProto;

/// Returns the bits of a number that float16 represents exactly.
uint16_t half_bits(float x) {
  constexpr int kDigits = 10;    // of the fraction
  constexpr int kExponent = 14;  // of the smallest normal number, negated
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const float a = std::fabs(x);
  if (a == 0) return sign;
  if (std::isinf(a)) return sign | 0x7c00;
  const int exponent = std::ilogb(a);
  if (exponent < -kExponent) {
    return static_cast<uint16_t>(
        sign | static_cast<int>(std::ldexp(a, kDigits + kExponent)));
  }
  const int fraction =
      static_cast<int>(std::ldexp(a, kDigits - exponent)) - (1 << kDigits);
  return static_cast<uint16_t>(sign | (exponent + kExponent + 1) << kDigits |
                               fraction);
}

TensorProto rounded(const TensorProto& tensor) {
  TensorProto result;
  *result.mutable_dims() = tensor.dims();
  result.set_data_type(TensorProto::FLOAT16);
  std::string bytes;
  for (const float x : float_values(tensor)) {
    const float half = run::rounded_to(TensorProto::FLOAT16, x);
    if (!std::isfinite(half) && !std::isinf(x)) {
      throw ValueError("out_of_range",
                       fmt::format("initializer '{}'", tensor.name()),
                       fmt::format("values must be at most 65504 for float16, "
                                   "got {}. Hint: export float32",
                                   x));
    }
    const uint16_t bits = half_bits(half);
    bytes.append(reinterpret_cast<const char*>(&bits), sizeof(bits));
  }
  result.set_raw_data(std::move(bytes));
  return result;
}

bool fits_scale(float x) {
  constexpr float kScaleError = 1.0f / 256;
  const float half = run::rounded_to(TensorProto::FLOAT16, x);
  return std::fabs(half - x) <= kScaleError * x;
}

/// Returns the smallest scale that does not fit float16, if any.
std::optional<float> unfit_scale(const TensorProto& scales) {
  if (scales.data_type() != TensorProto::FLOAT) return std::nullopt;
  std::optional<float> worst;
  for (const float x : float_values(scales)) {
    if (!fits_scale(x) && (!worst || x < *worst)) worst = x;
  }
  return worst;
}

/// Operators that need more range or precision than float16, or that state
/// their output type.
bool stays_float32(const OnnxNode& node) {
  return is_op(node, {"Cast", "Pow", "ReduceMean", "ReduceSum",
                      "ReduceSumSquare", "Sqrt"});
}

/// Inputs that are always float32.
bool takes_float32(const OnnxNode& node, int input) {
  return is_op(node, "Resize") && input > 0;
}

class HalfConversion {
 public:
  explicit HalfConversion(OnnxGraph& graph) : graph_(graph) {
    onnx::ModelProto checked = graph.copy_model();
    for (const auto& tensor : checked.graph().initializer()) {
      constants_.emplace(tensor.name(), tensor);
    }
    check_onnx(checked);
    const OnnxGraph typed(std::move(checked));
    const auto note_type = [&](const std::string& name) {
      if (typed.element_type(name) == TensorProto::FLOAT) floats_.insert(name);
    };
    for (OnnxNode& node : graph.nodes()) {
      nodes_.push_back(&node);
      for (const auto& name : node.input()) note_type(name);
      for (const auto& name : node.output()) note_type(name);
    }
    choose_nodes();
    warn_of_scales();
  }

  void run() {
    for (OnnxNode* node : nodes_) convert(*node);
  }

 private:
  bool reads_floats(const OnnxNode& node) const {
    return std::ranges::any_of(
        node.input(), [&](const auto& name) { return floats_.contains(name); });
  }

  // Before opset 23, Q and DQ require data and scale of the same type.
  bool has_unfit_scale(const OnnxNode& node) {
    if (!is_quantize(node) && !is_dequantize(node)) return false;
    const TensorProto* scale = graph_.tensor(node.input(1));
    const std::optional<float> worst =
        scale == nullptr ? std::nullopt : unfit_scale(*scale);
    if (worst) unfit_.emplace(node.input(1), *worst);
    return worst.has_value();
  }

  void warn_of_scales() const {
    if (unfit_.empty()) return;
    const auto worst = std::ranges::min_element(
        unfit_, {}, [](const auto& scale) { return scale.second; });
    warn(
        "float16_scale", "ONNX float16",
        fmt::format("{} of Q/DQ {} float32 with a Cast, because float16 "
                    "represents scales from {:.2g} to 65504 only, got {:.2g} "
                    "in '{}'{}. These layers may run in floating point",
                    unfit_.size() == 1 ? "a pair"
                                       : fmt::format("{} pairs", unfit_.size()),
                    unfit_.size() == 1 ? "stays" : "stay", kLeastHalfScale,
                    worst->second, worst->first,
                    unfit_.size() == 1 ? "" : " and others"));
  }

  // Nodes between others that stay float32 stay float32, too.
  void choose_nodes() {
    for (const OnnxNode* node : nodes_) {
      if (stays_float32(*node) || !reads_floats(*node) ||
          has_unfit_scale(*node)) {
        full_.insert(node->output().begin(), node->output().end());
      }
    }
    for (const OnnxNode* node : nodes_) {
      const bool between =
          std::ranges::any_of(node->input(),
                              [&](const auto& name) {
                                return full_.contains(name) &&
                                       floats_.contains(name);
                              }) &&
          std::ranges::all_of(node->output(), [&](const auto& name) {
            const auto consumers = graph_.consumers(name);
            return !consumers.empty() && !graph_.is_output(name) &&
                   std::ranges::all_of(consumers, [](const OnnxNode* consumer) {
                     return stays_float32(*consumer);
                   });
          });
      if (between) full_.insert(node->output().begin(), node->output().end());
    }
  }

  void convert(OnnxNode& node) {
    const bool full = full_.contains(node.output(0));
    for (int i = 0; i < node.input_size(); ++i) {
      const std::string name = node.input(i);
      if (name.empty()) continue;
      graph_.set_input(node, i,
                       as_type(node, name, full || takes_float32(node, i)));
    }
    for (int i = 0; i < node.output_size(); ++i) {
      const std::string name = node.output(i);
      if (!floats_.contains(name)) continue;
      halves_[name] = !full;
      if (full || !graph_.is_output(name)) continue;
      // A Cast produces the output under its name.
      renamed_[name] = name + "/float16";
      graph_.change(node, [&](onnx::NodeProto& proto) {
        proto.set_output(i, renamed_[name]);
      });
      graph_.insert_after(node, cast(renamed_[name], name, TensorProto::FLOAT));
    }
  }

  /// Returns the name of a value in the type that a node takes.
  std::string as_type(OnnxNode& node, const std::string& name, bool full) {
    if (constants_.contains(name)) return constant_as(name, full);
    const auto renamed = renamed_.find(name);
    const std::string& own = renamed == renamed_.end() ? name : renamed->second;
    if (!floats_.contains(name)) return own;
    const auto half = halves_.find(name);  // inputs are float32
    const bool is_half = half != halves_.end() && half->second;
    if (is_half == !full) return own;
    if (full && renamed != renamed_.end()) return name;
    std::string& converted = casts_[{name, full}];
    if (converted.empty()) {
      converted = name + (full ? "/float32" : "/float16");
      graph_.insert_before(
          node, cast(own, converted,
                     full ? TensorProto::FLOAT : TensorProto::FLOAT16));
    }
    return converted;
  }

  // If nodes need both types, the later one gets another name.
  std::string constant_as(const std::string& constant, bool full) {
    const TensorProto& tensor = constants_.at(constant);
    const bool halve = !full && tensor.data_type() == TensorProto::FLOAT;
    std::string& name = written_[{constant, halve}];
    if (!name.empty()) return name;
    const bool taken = written_.contains({constant, !halve});
    if (taken) {
      name = graph_.add_tensor(constant + (halve ? "/float16" : "/float32"),
                               halve ? rounded(tensor) : tensor);
      return name;
    }
    name = constant;
    if (halve) {
      *graph_.initializer(constant) = rounded(tensor);
      graph_.initializer(constant)->set_name(constant);
    }
    return name;
  }

  static onnx::NodeProto cast(const std::string& from, const std::string& to,
                              int32_t type) {
    onnx::NodeProto cast;
    cast.set_op_type("Cast");
    cast.set_name(to + "/cast");
    cast.add_input(from);
    cast.add_output(to);
    set_integer(cast, "to", type);
    return cast;
  }

  OnnxGraph& graph_;
  std::vector<OnnxNode*> nodes_;
  std::unordered_map<std::string, TensorProto> constants_;
  std::unordered_set<std::string> floats_;  // float32 values before
  std::unordered_set<std::string> full_;    // outputs of nodes in float32
  std::map<std::string, float> unfit_;      // smallest value of each such scale
  std::unordered_map<std::string, bool> halves_;  // node outputs: now float16?
  std::unordered_map<std::string, std::string> renamed_;
  std::map<std::pair<std::string, bool>, std::string> casts_;
  std::map<std::pair<std::string, bool>, std::string> written_;
};

}  // namespace

void to_float16(OnnxGraph& graph) { HalfConversion(graph).run(); }

}  // namespace octet::io
