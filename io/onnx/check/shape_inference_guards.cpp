// Guards around the shape inference of onnx 1.12.
#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "onnx/graph/operator_traits.h"
#include "shape_inference.h"

namespace octet::io::rules {
namespace {

constexpr int kAnyRank = 1 << 20;

/// Range of the rank of an input.
struct RankRange {
  int least = 0;
  int most = kAnyRank;
};

/// Parses OperatorTraits::ranks.
std::vector<RankRange> rank_ranges(std::string_view ranks) {
  std::vector<RankRange> result;
  std::istringstream entries{std::string(ranks)};
  for (std::string entry; entries >> entry;) {
    RankRange range;
    if (entry != "*") {
      range.least = range.most = entry[0] - '0';
      if (entry.size() > 1) range.most = kAnyRank;
      if (entry.size() > 2 && entry[1] == '-') range.most = entry[2] - '0';
    }
    result.push_back(range);
  }
  return result;
}

std::string ranks_text(const RankRange& range) {
  if (range.most == kAnyRank) return fmt::format("at least {}", range.least);
  if (range.most == range.least) return std::to_string(range.least);
  return fmt::format("{} to {}", range.least, range.most);
}

/// Returns a check of the ranks of an operator's inputs, which onnx's inference
/// indexes unchecked; empty for operators with inputs of any rank. Inputs of
/// unknown rank pass.
onnx::InferenceFunction rank_check(const std::string& op) {
  const std::string_view ranks = traits_of(op).ranks;
  if (ranks.empty()) return {};
  return
      [all = ranks.ends_with("..."), ranges = rank_ranges(ranks)](Context& c) {
        const size_t count =
            all ? c.getNumInputs() : std::min(c.getNumInputs(), ranges.size());
        for (size_t i = 0; i < count; ++i) {
          const RankRange& range = ranges[std::min(i, ranges.size() - 1)];
          if (!onnx::hasInputShape(c, i)) continue;
          const int rank = onnx::getInputShape(c, i).dim_size();
          if (rank >= range.least && rank <= range.most) continue;
          fail_shape_inference("input ", i, " must have rank ",
                               ranks_text(range), ", got rank ", rank);
        }
      };
}

// Returns the input of a convolution's weights, -1 for other operators.
int weight_input(const std::string& name) {
  if (name == "Conv" || name == "ConvTranspose" || name == "ConvInteger") {
    return 1;
  }
  return name == "QLinearConv" ? 3 : -1;
}

// Whether weights and image have known, equal ranks, which onnx assumes.
bool has_kernel(Context& c, size_t weights) {
  if (!onnx::hasInputShape(c, 0) || !onnx::hasInputShape(c, weights)) {
    return false;
  }
  const int image = onnx::getInputShape(c, 0).dim_size();
  const int rank = onnx::getInputShape(c, weights).dim_size();
  if (image != rank) {
    fail_shape_inference("weights must have the image's rank ", image,
                         ", got rank ", rank);
  }
  return true;
}

// onnx counts windows with automatic padding in a loop.
void check_windows(Context& c) {
  constexpr int64_t kMostWindows = int64_t{1} << 20;
  const auto* padding = c.getAttribute("auto_pad");
  if (padding == nullptr || !padding->s().starts_with("SAME") ||
      !onnx::hasInputShape(c, 0)) {
    return;
  }
  for (const auto& dim : onnx::getInputShape(c, 0).dim()) {
    if (dim.has_dim_value() && dim.dim_value() > kMostWindows) {
      fail_shape_inference("axes with auto_pad must have at most ",
                           kMostWindows, " pixels, got ", dim.dim_value());
    }
  }
}

// Whether auto_pad determines the sizes of ConvTranspose, to which onnx adds
// output_padding.
bool has_automatic_sizes(Context& c) {
  const auto* padding = c.getAttribute("auto_pad");
  return padding != nullptr && padding->s().starts_with("SAME") &&
         c.getAttribute("output_padding") != nullptr;
}

// Returns the input with the sizes of the output, -1 for other operators. If
// only the length of the list is known, onnx creates a shape of that rank.
int sizes_input(const std::string& name) {
  if (name == "ConstantOfShape") return 0;
  return name == "Expand" ? 1 : -1;
}

void check_length(Context& c, size_t input) {
  constexpr int64_t kMostAxes = 64;
  if (!onnx::hasInputShape(c, input)) return;
  const auto& list = onnx::getInputShape(c, input);
  if (list.dim_size() == 1 && list.dim(0).dim_value() > kMostAxes) {
    fail_shape_inference("list of sizes must have at most ", kMostAxes,
                         " entries, got ", list.dim(0).dim_value());
  }
}

// Whether the axis of LayerNormalization's statistics is known.
bool has_axis(Context& c) {
  if (c.getNumOutputs() < 2) return true;
  if (!onnx::hasInputShape(c, 0)) return false;
  const int rank = onnx::getInputShape(c, 0).dim_size();
  const int64_t axis = onnx::getAttribute(c, "axis", -1);
  if (axis < -rank || axis >= rank) {
    fail_shape_inference("axis must be from ", -rank, " to ", rank - 1,
                         ", got ", axis);
  }
  return true;
}

// Returns onnx's inference for a schema with guards specific to it; empty for
// schemas that need none.
onnx::InferenceFunction fenced(const onnx::OpSchema& schema) {
  const std::string& name = schema.Name();
  const auto onnxs = schema.GetTypeAndShapeInferenceFunction();
  if (name == "MaxPool" || name == "AveragePool") return pool;
  if (name == "LayerNormalization") {
    return [onnxs](Context& c) {
      if (has_axis(c)) return onnxs(c);
      // Without the shape, only the type is known.
      onnx::propagateElemTypeFromInputToOutput(c, 0, 0);
    };
  }
  // onnx parses equations without checking them.
  if (name == "Einsum") {
    return
        [](Context& c) { onnx::propagateElemTypeFromInputToOutput(c, 0, 0); };
  }
  if (name == "Gemm") {
    return [onnxs](Context& c) {
      if (onnx::hasNInputShapes(c, 2)) return onnxs(c);
      onnx::propagateElemTypeFromInputToOutput(c, 0, 0);
    };
  }
  if (const int sizes = sizes_input(name); sizes >= 0) {
    return [onnxs, input = static_cast<size_t>(sizes)](Context& c) {
      check_length(c, input);
      onnxs(c);
    };
  }
  const int weights = weight_input(name);
  if (weights < 0) return {};
  const auto input = static_cast<size_t>(weights);
  return [onnxs, input, name](Context& c) {
    check_windows(c);
    const bool automatic = name == "ConvTranspose" && has_automatic_sizes(c);
    if (has_kernel(c, input) && !automatic) return onnxs(c);
    if (name == "ConvInteger") {
      onnx::updateOutputElemType(c, 0, onnx::TensorProto::INT32);
    } else {
      // Quantized results have the type of their zero point.
      onnx::propagateElemTypeFromInputToOutput(c, name == "QLinearConv" ? 7 : 0,
                                               0);
    }
  };
}

}  // namespace

onnx::InferenceFunction safer(const onnx::OpSchema& schema) {
  if (!schema.has_type_and_shape_inference_function()) return {};
  const auto ranks = rank_check(schema.Name());
  const auto inference = fenced(schema);
  if (!ranks) return inference;
  return [ranks, inference = inference
                                 ? inference
                                 : schema.GetTypeAndShapeInferenceFunction()](
             Context& c) {
    ranks(c);
    inference(c);
  };
}

onnx::DataPropagationFunction safer_propagation(const onnx::OpSchema& schema) {
  const auto onnxs = schema.GetDataPropagationFunction();
  // Slice may lack all inputs but the first.
  const bool all = schema.Name() != "Slice";
  return [onnxs, all](onnx::DataPropagationContext& c) {
    for (size_t i = 0; i < (all ? c.getNumInputs() : 1); ++i) {
      if (c.getInputType(i) == nullptr) return;
      const auto* list = c.getInputData(i);
      if (list != nullptr && list->dim_size() == 0) return;
    }
    onnxs(c);
  };
}

}  // namespace octet::io::rules
