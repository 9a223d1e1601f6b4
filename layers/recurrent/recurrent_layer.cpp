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

void check_recurrent_inputs(std::span<const Shape> inputs,
                            const SequenceForm& form, bool has_cell) {
  const size_t states = !form.initial_state ? 0 : has_cell ? 2 : 1;
  if (inputs.size() != 1 + states && inputs.size() != 2 + states) {
    throw ValueError(
        "count_mismatch", "inputs",
        fmt::format("must be a sequence{}, and optionally a mask, got {} "
                    "inputs",
                    states == 0   ? ""
                    : states == 1 ? ", a state"
                                  : ", two states",
                    inputs.size()));
  }
  const Shape& x = inputs[0];
  if (x.rank() != 3) {
    throw ShapeError(
        "invalid_shape", "input",
        fmt::format("must be sequences [n,t,c], got {}", x.to_string()));
  }
  for (size_t i = 1; i <= states; ++i) {
    if (inputs[i] == Shape{x[0], form.units}) continue;
    throw ShapeError(
        "shape_mismatch", "state",
        fmt::format("must be {}, got {}", Shape{x[0], form.units}.to_string(),
                    inputs[i].to_string()));
  }
  if (inputs.size() == 1 + states) return;
  if (inputs.back() != Shape{x[0], x[1]}) {
    throw ShapeError(
        "shape_mismatch", "mask",
        fmt::format("must be {}, got {}", Shape{x[0], x[1]}.to_string(),
                    inputs.back().to_string()));
  }
}

RecurrentInputs further_inputs(std::span<const Variable> inputs,
                               const SequenceForm& form, bool has_cell) {
  RecurrentInputs more;
  size_t next = 1;
  if (form.initial_state) {
    more.state = inputs[next++];
    if (has_cell) more.cell = inputs[next++];
  }
  if (next < inputs.size()) more.mask = inputs[next];
  return more;
}

Variable select_steps(const Variable& y, const Variable& mask,
                      const SequenceForm& form) {
  const Shape& s = y.shape();
  if (form.return_sequences) {
    Variable result = y;
    if (mask && form.zero_masked) {  // masks have no gradient
      const Variable counts =
          compare(Comparison::not_equal, mask, Tensor::scalar(0));
      result = result * expand_dims(counts, 2);
    }
    return form.flipped ? flip(result, 1) : result;
  }
  return reshape(slice(y, 1, form.backwards ? 0 : s[1] - 1, 1), {s[0], s[2]});
}

namespace {

// Moves the steps that count to the front, and outputs back, by products with
// matrices of zeros and ones: ONNX operators skip steps at the end only
// (sequence_lens).
class PackedSteps {
 public:
  // mask: [n,t]. x: [n,t,c]
  PackedSteps(EmitContext& context, const OnnxValue& mask)
      : context_(context), steps_(mask.shape[1]), mask_(mask.name) {
    Tensor places({1, 1, steps_});
    for (int64_t i = 0; i < steps_; ++i) {
      places.f32()[static_cast<size_t>(i)] = static_cast<float>(i);
    }
    places_ =
        context.builder().add_initializer(context.layer() + "/places", places);
    one_ = context.scalar("one", 1);
    counts_ = context.part("CumSum", "counts", {mask_, axis(1)});
    column_ = column("mask_column", mask_);
    // Row t has a one in column j if step t is the j-th that counts.
    shown_ = rows("shown", context.part("Sub", "place", {counts_, one_}));
  }

  std::string pack(const std::string& x) {
    const std::string chosen =
        context_.part("Mul", "chosen", {shown_, column_});
    const std::string by_place =
        context_.part("Transpose", "by_place", {chosen},
                      {{"perm", std::vector<int64_t>{0, 2, 1}}});
    return context_.part("MatMul", "packed", {by_place, x});
  }
  std::string lengths() {
    constexpr int64_t kInt32 = 6;  // TensorProto::INT32
    return context_.part("Cast", "lengths",
                         {context_.part("ReduceSum", "total", {mask_, axes(1)},
                                        {{"keepdims", int64_t{0}}})},
                         {{"to", kInt32}});
  }
  // Returns the states [n,t,units] after each step.
  std::string unpack(const std::string& y, const SequenceForm& form) {
    std::string shown = shown_;
    if (form.backwards) {
      shown = rows("shown_backwards",
                   context_.part("Sub", "place_before", {counts_, mask_}));
    }
    const std::string states = context_.part("MatMul", "unpacked", {shown, y});
    return form.zero_masked ? context_.part("Mul", "masked", {states, column_})
                            : states;
  }
  // Returns the state [n,units] after the last step in order of computation.
  std::string last(const std::string& y, const SequenceForm& form) {
    std::string place = context_.scalar("first_place", 0);
    if (!form.backwards) {
      const std::string total =
          context_.part("ReduceSum", "total_steps", {mask_, axes(1)},
                        {{"keepdims", int64_t{1}}});
      place = column("last_place",
                     context_.part("Sub", "last_count", {total, one_}));
    }
    const std::string row = as_float("last_row", place);
    return context_.part(
        "Squeeze", "last",
        {context_.part("MatMul", "last_step", {row, y}), axes(1)});
  }

 private:
  std::string axis(int64_t value) {
    return context_.builder().add_initializer(context_.layer() + "/axis",
                                              Tensor::of<int64_t>({}, {value}));
  }
  std::string axes(int64_t value) { return context_.integers("axes", {value}); }
  std::string column(const char* name, const std::string& x) {
    return context_.part("Unsqueeze", name,
                         {x, context_.integers("column_axis", {2})});
  }
  std::string as_float(const std::string& name, const std::string& place) {
    constexpr int64_t kFloat = 1;  // TensorProto::FLOAT
    return context_.part(
        "Cast", name,
        {context_.part("Equal", name + "_places", {place, places_})},
        {{"to", kFloat}});
  }
  std::string rows(const std::string& name, const std::string& place) {
    return as_float(name, column((name + "_column").c_str(), place));
  }

  EmitContext& context_;
  int64_t steps_;
  std::string mask_, places_, one_, counts_, column_, shown_;
};

void refuse_export(const char* option, const char* reason) {
  throw UnsupportedError("unsupported_attribute", option, reason);
}

}  // namespace

// Source: LSTM-14, GRU-14 and RNN-14 of the ONNX operator specification.
OnnxValue emit_cell(EmitContext& context, std::span<const OnnxValue> inputs,
                    const OnnxCell& cell, const SequenceForm& form,
                    const Parameter& kernel, const Parameter& recurrent,
                    const Parameter* bias) {
  const OnnxValue& x = inputs[0];
  const std::vector<int64_t> steps_first{1, 0, 2};
  const size_t states = !form.initial_state      ? 0
                        : cell.gates.size() == 4 ? 2
                                                 : 1;
  std::optional<PackedSteps> packed;
  if (inputs.size() > 1 + states) packed.emplace(context, inputs.back());
  if (packed && form.initial_state) {
    refuse_export("initial_state", "export with a mask is not supported");
  }
  if (form.return_cell) {
    refuse_export("return_cell", "ONNX has no output for all cell states");
  }
  const auto matrix = [&](const Tensor& value) {
    return onnx_matrix(value, cell.gates);
  };
  std::vector<std::string> operands{
      context.part("Transpose", "steps",
                   {packed ? packed->pack(x.name) : x.name},
                   {{"perm", steps_first}}),
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
  if (packed || states > 0) {
    operands.resize(4);  // an empty name omits an input
    operands.push_back(packed ? packed->lengths() : "");
    for (size_t i = 1; i <= states; ++i) {
      operands.push_back(
          context.part("Unsqueeze", i == 1 ? "initial_h" : "initial_c",
                       {inputs[i].name, context.integers("direction", {0})}));
    }
  }
  // [t,1,n,units]
  std::string y = context.node(cell.op, operands, attributes_of(cell, form));
  const Shape state{x.shape[0], form.units};
  if (!form.return_sequences && !packed) {
    const int64_t last = form.backwards ? 0 : x.shape[1] - 1;
    y = context.part("Gather", "last", {y, context.integers("step", {last})},
                     {{"axis", int64_t{0}}});
    y = context.part("Squeeze", "state", {y, context.integers("axes", {0, 1})});
    return {y, state};
  }
  y = context.part("Squeeze", "states", {y, context.integers("axes", {1})});
  if (packed) {
    y = context.part("Transpose", "packed_sequence", {y},
                     {{"perm", steps_first}});
    if (!form.return_sequences) return {packed->last(y, form), state};
    y = packed->unpack(y, form);
  }
  if (form.flipped) {
    y = context.part(
        "Slice", "flipped",
        {y, context.integers("start", {-1}),
         context.integers("end", {std::numeric_limits<int64_t>::min()}),
         context.integers("axis", {packed ? 1 : 0}),
         context.integers("stride", {-1})});
  }
  if (!packed) {
    y = context.part("Transpose", "sequence", {y}, {{"perm", steps_first}});
  }
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
  for (const char* key : {"stateful", "time_major"}) {
    if (!is_set(key)) continue;
    throw UnsupportedError("unsupported_attribute", key,
                           "must be false: no state is kept between calls, and "
                           "sequences are [n,t,c]");
  }
  if (config.find("reset_after") == nullptr) config.set("reset_after", false);
}

}  // namespace octet
