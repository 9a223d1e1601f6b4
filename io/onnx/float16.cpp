#include "float16.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "check.h"
#include "float16_biases.h"
#include "float16_weights.h"
#include "graph_view.h"
#include "qdq.h"
#include "run/precision.h"
#include "tensors.h"

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
  result.set_name(tensor.name());
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
bool stays_float32(const onnx::NodeProto& node) {
  static const std::set<std::string> kOperators = {
      "Cast", "Pow", "ReduceMean", "ReduceSum", "ReduceSumSquare", "Sqrt"};
  return kOperators.contains(node.op_type());
}

/// Inputs that are always float32.
bool takes_float32(const onnx::NodeProto& node, int input) {
  return node.op_type() == "Resize" && input > 0;
}

class Conversion {
 public:
  explicit Conversion(onnx::ModelProto& model)
      : graph_(*model.mutable_graph()), inferred_(model) {
    check_onnx(inferred_);
    const GraphView view(inferred_.graph());
    for (const auto& node : graph_.node()) {
      for (const auto& name : node.input()) note_type(view, name);
      for (const auto& name : node.output()) note_type(view, name);
    }
    for (const auto& tensor : graph_.initializer()) {
      constants_.emplace(tensor.name(), tensor);
    }
    for (const auto& output : graph_.output()) outputs_.insert(output.name());
    choose_nodes(view);
    warn_of_scales();
  }

  void run() {
    for (onnx::NodeProto& node : *graph_.mutable_node()) convert(node);
    graph_.mutable_node()->Swap(&nodes_);
    graph_.clear_initializer();
    for (auto& tensor : initializers_) {
      graph_.add_initializer()->Swap(&tensor);
    }
  }

 private:
  void note_type(const GraphView& view, const std::string& name) {
    if (view.element_type(name) == TensorProto::FLOAT) floats_.insert(name);
  }

  bool reads_floats(const onnx::NodeProto& node) const {
    for (const auto& name : node.input()) {
      if (floats_.contains(name)) return true;
    }
    return false;
  }

  // Before opset 23, Q and DQ require data and scale of the same type.
  bool has_unfit_scale(const onnx::NodeProto& node) {
    if (!is_quantize(node) && !is_dequantize(node)) return false;
    const auto scale = constants_.find(node.input(1));
    if (scale == constants_.end()) return false;
    const std::optional<float> worst = unfit_scale(scale->second);
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
  void choose_nodes(const GraphView& view) {
    std::set<std::string> full;
    for (const auto& node : graph_.node()) {
      if (stays_float32(node) || !reads_floats(node) || has_unfit_scale(node)) {
        full.insert(node.output().begin(), node.output().end());
      }
    }
    for (const auto& node : graph_.node()) {
      bool between = false;
      for (const auto& name : node.input()) {
        between = between || (full.contains(name) && floats_.contains(name));
      }
      for (const auto& name : node.output()) {
        const auto& consumers = view.consumers(name);
        between = between && !consumers.empty() && !outputs_.contains(name);
        for (const auto* consumer : consumers) {
          between = between && stays_float32(*consumer);
        }
      }
      if (between) full.insert(node.output().begin(), node.output().end());
    }
    full_ = std::move(full);
  }

  bool is_full(const onnx::NodeProto& node) const {
    return node.output_size() > 0 && full_.contains(node.output(0));
  }

  void convert(onnx::NodeProto& node) {
    const bool full = is_full(node);
    for (int i = 0; i < node.input_size(); ++i) {
      const std::string name = node.input(i);
      if (name.empty()) continue;
      node.set_input(i, as_type(name, full || takes_float32(node, i)));
    }
    std::vector<std::string> ends;
    for (std::string& name : *node.mutable_output()) {
      if (!floats_.contains(name)) continue;
      halves_[name] = !full;
      if (full || !outputs_.contains(name)) continue;
      // A Cast produces the output under its name.
      ends.push_back(name);
      renamed_[name] = name + "/float16";
      name += "/float16";
    }
    nodes_.Add()->Swap(&node);
    for (const std::string& name : ends) {
      add_cast(renamed_.at(name), name, TensorProto::FLOAT);
    }
  }

  /// Returns the name of a value in the type that a node takes.
  std::string as_type(const std::string& name, bool full) {
    const auto constant = constants_.find(name);
    if (constant != constants_.end()) {
      return constant_as(constant->second, full);
    }
    const auto renamed = renamed_.find(name);
    const std::string& own = renamed == renamed_.end() ? name : renamed->second;
    if (!floats_.contains(name)) return own;
    const auto half = halves_.find(name);  // inputs are float32
    const bool is_half = half != halves_.end() && half->second;
    if (is_half == !full) return own;
    if (full && renamed != renamed_.end()) return name;
    std::string& cast = casts_[{name, full}];
    if (cast.empty()) {
      cast = name + (full ? "/float32" : "/float16");
      add_cast(own, cast, full ? TensorProto::FLOAT : TensorProto::FLOAT16);
    }
    return cast;
  }

  std::string constant_as(const TensorProto& tensor, bool full) {
    const bool halve = !full && tensor.data_type() == TensorProto::FLOAT;
    std::string& name = written_[{tensor.name(), halve}];
    if (!name.empty()) return name;
    TensorProto copy = halve ? rounded(tensor) : tensor;
    // If nodes need both types, the later one gets another name.
    const bool taken = written_.contains({tensor.name(), !halve});
    name = taken ? tensor.name() + (halve ? "/float16" : "/float32")
                 : tensor.name();
    copy.set_name(name);
    initializers_.push_back(std::move(copy));
    return name;
  }

  void add_cast(const std::string& from, const std::string& to, int32_t type) {
    onnx::NodeProto& cast = *nodes_.Add();
    cast.set_op_type("Cast");
    cast.set_name(to + "/cast");
    cast.add_input(from);
    cast.add_output(to);
    auto& attribute = *cast.add_attribute();
    attribute.set_name("to");
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(type);
  }

  onnx::GraphProto& graph_;
  onnx::ModelProto inferred_;
  std::set<std::string> floats_;  // float32 values of the original graph
  std::set<std::string> full_;    // outputs of nodes that stay float32
  std::set<std::string> outputs_;
  std::map<std::string, float> unfit_;  // smallest value of each such scale
  std::unordered_map<std::string, TensorProto> constants_;
  std::unordered_map<std::string, bool> halves_;  // node outputs: now float16?
  std::unordered_map<std::string, std::string> renamed_;
  std::map<std::pair<std::string, bool>, std::string> casts_;
  std::map<std::pair<std::string, bool>, std::string> written_;
  std::vector<TensorProto> initializers_;
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes_;
};

}  // namespace

void to_float16(onnx::ModelProto& model) {
  fit_weights_to_float16(*model.mutable_graph());
  Conversion(model).run();
  separate_biases(*model.mutable_graph());
}

}  // namespace octet::io
