#include "recurrent/recurrent_layer.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

#include <octet/runtime/error.h>

namespace octet {
namespace {

struct NamedCellFunction {
  std::string_view name;
  // Name for the ONNX operators; alpha and beta if the function has them.
  const char* onnx;
  CellFunction function;
  std::optional<float> alpha = {};
  float beta = 0;
};

constexpr NamedCellFunction kCellFunctions[] = {
    {"hard_sigmoid", "HardSigmoid", CellFunction::hard_sigmoid, 1.0f / 6, 0.5f},
    {"hard_sigmoid_v2", "HardSigmoid", CellFunction::hard_sigmoid_v2, 0.2f,
     0.5f},
    {"linear", "Affine", CellFunction::linear, 1.0f, 0.0f},
    {"relu", "Relu", CellFunction::relu},
    {"sigmoid", "Sigmoid", CellFunction::sigmoid},
    {"tanh", "Tanh", CellFunction::tanh},
};

// Reorders the gates along the last axis.
Tensor in_onnx_order(const Tensor& value, const std::vector<int>& gates) {
  const int64_t width = value.shape()[-1];
  const int64_t units = width / std::ssize(gates);
  Tensor result(value.shape());
  const float* from = value.f32().data();
  float* to = result.f32().data();
  for (int64_t row = 0; row < value.size() / width; ++row) {
    for (size_t i = 0; i < gates.size(); ++i) {
      std::copy_n(from + row * width + gates[i] * units, units,
                  to + row * width + static_cast<int64_t>(i) * units);
    }
  }
  return result;
}

// [k,gates*units] as [1,gates*units,k].
Tensor onnx_matrix(const Tensor& value, const std::vector<int>& gates) {
  const Shape& s = value.shape();
  return in_onnx_order(value, gates)
      .transposed({1, 0})
      .reshaped({1, s[1], s[0]});
}

// The biases of inputs and states, [1,2*gates*units].
Tensor onnx_bias(const Tensor& value, const std::vector<int>& gates) {
  const int64_t width = value.shape()[-1];
  Tensor both = Tensor::zeros({1, 2 * width});
  const Tensor ordered = in_onnx_order(value, gates);
  std::ranges::copy(ordered.f32(), both.f32().begin());
  return both;
}

OnnxBuilder::Attributes attributes_of(const OnnxCell& cell,
                                      const SequenceForm& form) {
  OnnxBuilder::Attributes result{{"hidden_size", form.units}};
  if (form.backwards) result.push_back({"direction", std::string("reverse")});
  if (cell.reset_after) {
    result.push_back({"linear_before_reset", int64_t{1}});
  }
  std::vector<std::string> names;
  std::vector<float> alpha;
  std::vector<float> beta;
  bool usual = true;
  for (size_t i = 0; i < cell.functions.size(); ++i) {
    const auto* const f = std::ranges::find(kCellFunctions, cell.functions[i],
                                            &NamedCellFunction::function);
    names.emplace_back(f->onnx);
    if (f->alpha) {
      alpha.push_back(*f->alpha);
      beta.push_back(f->beta);
    }
    const bool gate = i == 0 && cell.functions.size() > 1;
    usual &= f->function == (gate ? CellFunction::sigmoid : CellFunction::tanh);
  }
  if (usual) return result;
  result.push_back({"activations", names});
  if (!alpha.empty()) {
    result.push_back({"activation_alpha", alpha});
    result.push_back({"activation_beta", beta});
  }
  return result;
}

}  // namespace

CellFunction find_cell_function(const char* option, const std::string& name) {
  return find_named(option, kCellFunctions, name).function;
}

Variable select_steps(const Variable& y, const SequenceForm& form) {
  if (form.return_sequences) return form.flipped ? flip(y, 1) : y;
  const Shape& s = y.shape();
  return reshape(slice(y, 1, form.backwards ? 0 : s[1] - 1, 1),
                 {s[0], form.units});
}

// Source: LSTM-14, GRU-14 and RNN-14 of the ONNX operator specification.
OnnxValue emit_cell(EmitContext& context, const OnnxValue& x,
                    const OnnxCell& cell, const SequenceForm& form,
                    const Parameter& kernel, const Parameter& recurrent,
                    const Parameter* bias) {
  const std::vector<int64_t> steps_first{1, 0, 2};
  const auto matrix = [&](const Tensor& value) {
    return onnx_matrix(value, cell.gates);
  };
  std::vector<std::string> operands{
      context.part("Transpose", "steps", {x.name}, {{"perm", steps_first}}),
      context.weight(kernel, matrix, 1), context.weight(recurrent, matrix, 1)};
  if (bias != nullptr) {
    operands.push_back(context.weight(
        *bias,
        [&](const Tensor& value) {
          return cell.reset_after ? in_onnx_order(value, cell.gates)
                                        .reshaped({1, value.size()})
                                  : onnx_bias(value, cell.gates);
        },
        1));
  }
  // [t,1,n,units]
  std::string y = context.node(cell.op, operands, attributes_of(cell, form));
  if (!form.return_sequences) {
    const int64_t last = form.backwards ? 0 : x.shape[1] - 1;
    y = context.part("Gather", "last", {y, context.integers("step", {last})},
                     {{"axis", int64_t{0}}});
    y = context.part("Squeeze", "state", {y, context.integers("axes", {0, 1})});
    return {y, {x.shape[0], form.units}};
  }
  y = context.part("Squeeze", "states", {y, context.integers("axes", {1})});
  if (form.flipped) {
    y = context.part(
        "Slice", "flipped",
        {y, context.integers("start", {-1}),
         context.integers("end", {std::numeric_limits<int64_t>::min()}),
         context.integers("axis", {0}), context.integers("stride", {-1})});
  }
  y = context.part("Transpose", "sequence", {y}, {{"perm", steps_first}});
  return {y, {x.shape[0], x.shape[1], form.units}};
}

// Sources: keras/layers/recurrent.py of Keras 1.2.2 and 2.3;
// keras/src/layers/rnn of Keras 3.
void upgrade_recurrent(Config& config) {
  const auto is_set = [&](const char* key) {
    const Config* value = config.find(key);
    return value != nullptr && !value->is_null() && *value != Config(false) &&
           *value != Config(0);
  };
  for (const char* key : {"return_state", "stateful", "time_major"}) {
    if (!is_set(key)) continue;
    throw UnsupportedError("unsupported_attribute", key,
                           "must be false: states start from zero and are "
                           "not returned");
  }
  if (config.find("reset_after") == nullptr) config.set("reset_after", false);
}

}  // namespace octet
