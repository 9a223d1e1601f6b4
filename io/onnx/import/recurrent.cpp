// LSTM, GRU and RNN: recurrent layers, one for each direction.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/merging.h>
#include <octet/layers/recurrent.h>
#include <octet/runtime/detail/printable.h>
#include <octet/runtime/error.h>

#include "converters.h"

namespace octet::io::importing {
namespace {

/// An operator: the order of its gates, and whether its state has two parts.
struct Cell {
  std::string_view op;
  /// Keras' gate i is gate gates[i] of ONNX.
  std::vector<int64_t> gates;
  /// Functions of a direction: gates, candidate, state.
  std::vector<std::string_view> functions;
};

const Cell& cell_of(const Conversion& c) {
  static const std::array<Cell, 3> kCells{
      Cell{"LSTM", {0, 2, 3, 1}, {"Sigmoid", "Tanh", "Tanh"}},
      Cell{"GRU", {0, 1, 2}, {"Sigmoid", "Tanh"}}, Cell{"RNN", {0}, {"Tanh"}}};
  return *std::ranges::find(kCells, std::string_view(c.op()), &Cell::op);
}

/// Names and parameters of the functions, in the order of the attribute.
class Functions {
 public:
  Functions(const Conversion& c, const Cell& cell, size_t directions) : c_(c) {
    const auto* given = find_attribute(c.proto(), "activations");
    for (size_t i = 0; i < directions * cell.functions.size(); ++i) {
      names_.emplace_back(cell.functions[i % cell.functions.size()]);
    }
    if (given == nullptr) return;
    if (given->strings_size() != static_cast<int>(names_.size())) {
      c.refuse(fmt::format("activations must have {} {}, got {}", names_.size(),
                           names_.size() == 1 ? "name" : "names",
                           given->strings_size()));
    }
    names_.assign(given->strings().begin(), given->strings().end());
  }

  /// Returns the layers' name of the next function.
  std::string next() {
    const std::string name = names_.at(at_++);
    if (name == "Sigmoid") return "sigmoid";
    if (name == "Tanh") return "tanh";
    if (name == "Relu") return "relu";
    if (name == "HardSigmoid") {
      const float alpha = parameter("activation_alpha", alpha_++, 0.2f);
      const float beta = parameter("activation_beta", beta_++, 0.5f);
      if (beta == 0.5f && alpha == 0.2f) return "hard_sigmoid_v2";
      if (beta == 0.5f && std::abs(alpha * 6 - 1) < 1e-6f) {
        return "hard_sigmoid";
      }
    } else if (name == "Affine") {
      // ONNX and ONNX Runtime have different defaults.
      const float alpha = parameter("activation_alpha", alpha_++, 0);
      const float beta = parameter("activation_beta", beta_++, 1);
      if (alpha == 1 && beta == 0) return "linear";
    }
    c_.refuse(
        fmt::format("activations must be Sigmoid, Tanh, Relu, HardSigmoid with "
                    "alpha 0.2 or 1/6 and beta 0.5, or Affine with alpha 1 and "
                    "beta 0, got {}",
                    printable(name)));
  }

 private:
  float parameter(const char* name, int index, float otherwise) const {
    const auto* list = find_attribute(c_.proto(), name);
    return list == nullptr || index >= list->floats_size()
               ? otherwise
               : list->floats(index);
  }

  const Conversion& c_;
  std::vector<std::string> names_;
  size_t at_ = 0;
  int alpha_ = 0;
  int beta_ = 0;
};

bool all_equal(const Tensor& tensor, float value) {
  return tensor.dtype() == DType::f32 &&
         std::ranges::all_of(tensor.f32(),
                             [&](float each) { return each == value; });
}

/// Whether an input is a constant of zeros, also one that nodes repeat for each
/// sample.
bool is_zero(const Conversion& c, int input) {
  const auto* constant = c.graph().constant(c.proto().input(input));
  if (constant != nullptr) return all_equal(constant->value, 0);
  if (c.is_constant(input)) return all_equal(c.constant(input), 0);
  const GraphNode* node = c.value(input).tensor.node.get();
  while (node->inputs.size() == 1 &&
         node->facts().role == LayerRole::movement) {
    node = node->inputs[0].node.get();
  }
  return node->layer->class_name() == "Constant" &&
         all_equal(node->layer->parameters()[0].variable.value(), 0);
}

void check_options(const Conversion& c, int64_t steps) {
  if (c.number("clip", 0) != 0) c.refuse("clip is not supported");
  if (c.integer("input_forget", 0) != 0) {
    c.refuse("input_forget must be 0, got 1");
  }
  if (c.has(4)) {
    const Sizes lengths = c.integers(4);
    if (std::ranges::any_of(lengths, [&](auto n) { return n != steps; })) {
      c.refuse(fmt::format("sequence_lens must be the whole length {}", steps));
    }
  }
  if (c.has(7) && !is_zero(c, 7)) c.refuse("peepholes are not supported");
}

/// Returns [D,gates*units,k] of a direction as [k,gates*units], in Keras' order
/// of the gates.
Tensor kernel_of(const Tensor& all, int64_t direction, const Cell& cell) {
  const int64_t width = all.shape()[1];
  const int64_t depth = all.shape()[2];
  const int64_t units = width / std::ssize(cell.gates);
  Tensor result({depth, width});
  const float* from = all.f32().data() + direction * width * depth;
  float* to = result.f32().data();
  for (size_t gate = 0; gate < cell.gates.size(); ++gate) {
    for (int64_t j = 0; j < units; ++j) {
      const int64_t row = cell.gates[gate] * units + j;
      const int64_t column = static_cast<int64_t>(gate) * units + j;
      for (int64_t k = 0; k < depth; ++k) {
        to[k * width + column] = from[row * depth + k];
      }
    }
  }
  return result;
}

/// Returns [D,2*gates*units] of a direction as [gates*units], the sum, or with
/// `separate` as [2,gates*units].
Tensor bias_of(const Tensor& all, int64_t direction, const Cell& cell,
               bool separate) {
  const int64_t width = all.shape()[1] / 2;
  const int64_t units = width / std::ssize(cell.gates);
  Tensor result = Tensor::zeros(separate ? Shape{2, width} : Shape{width});
  for (int64_t part = 0; part < 2; ++part) {
    const float* from = all.f32().data() + (2 * direction + part) * width;
    float* to = result.f32().data() + (separate ? part * width : 0);
    for (int64_t i = 0; i < width; ++i) {
      to[i] +=
          from[cell.gates[static_cast<size_t>(i / units)] * units + i % units];
    }
  }
  return result;
}

/// Returns the initial states [n,units] of each direction; none if they are
/// zero.
std::vector<std::vector<Operand>> initial_states(Conversion& c,
                                                 int64_t directions,
                                                 bool samples_first) {
  const bool two = c.op() == "LSTM";
  const bool h = c.has(5) && !is_zero(c, 5);
  const bool cell = two && c.has(6) && !is_zero(c, 6);
  std::vector<std::vector<Operand>> states(static_cast<size_t>(directions));
  if (!h && !cell) return states;
  if (two && h != cell) {
    c.refuse("initial_h and initial_c must both be given, or be zero");
  }
  for (const int input : two ? std::vector{5, 6} : std::vector{5}) {
    if (c.is_constant(input)) {
      c.refuse(fmt::format(
          "initial_{} must be zero or a computed value, got another "
          "constant",
          input == 5 ? "h" : "c"));
    }
    const Operand all = c.operand(
        input, samples_first ? file_order(3) : std::vector<int>{1, 0, 2});
    for (int64_t d = 0; d < directions; ++d) {
      states[static_cast<size_t>(d)].push_back(
          {c.named(all.tensor.index({Slice(), d}), {all},
                   fmt::format("/initial_{}{}", input == 5 ? "h" : "c",
                               d == 0 ? "" : "_backward")
                       .c_str())});
    }
  }
  return states;
}

/// Options of the layer of a direction.
struct DirectionOptions {
  std::string gates, function;
  int64_t units = 0;
  bool use_bias = false, sequences = false, backwards = false;
  bool initial_state = false, reset_after = false, return_cell = false;
};

/// Returns the options that all recurrent layers have.
template <class Options>
Options common_options(const DirectionOptions& o) {
  return {.units = o.units,
          .activation = o.function,
          .use_bias = o.use_bias,
          .return_sequences = o.sequences,
          .go_backwards = o.backwards,
          .keep_order = o.backwards,
          .initial_state = o.initial_state};
}

LayerHandle layer_of(const std::string& op, const DirectionOptions& o) {
  if (op == "LSTM") {
    auto options = common_options<LSTMOptions>(o);
    options.recurrent_activation = o.gates;
    options.return_cell = o.return_cell;
    return LSTM(options);
  }
  if (op == "GRU") {
    auto options = common_options<GRUOptions>(o);
    options.recurrent_activation = o.gates;
    options.reset_after = o.reset_after;
    return GRU(options);
  }
  return SimpleRNN(common_options<SimpleRNNOptions>(o));
}

bool is_used(const Conversion& c, int output) {
  return output < c.proto().output_size() &&
         !c.proto().output(output).empty() &&
         c.graph().uses(c.proto().output(output)) > 0;
}

struct GateWeights {
  ImportedWeight w, r;
  std::optional<ImportedWeight> b;
  int64_t units = 0;
};

/// Checks the shapes.
GateWeights weights_of(const Conversion& c, const Cell& cell,
                       int64_t directions, int64_t features) {
  GateWeights result{
      c.weight(1, "kernel"), c.weight(2, "recurrent_kernel"), {}};
  const Shape& w = result.w.value.shape();
  const Shape& r = result.r.value.shape();
  const auto gates = std::ssize(cell.gates);
  const int64_t units = r.rank() == 3 ? r[2] : 0;
  if (units < 1 || w != Shape{directions, gates * units, features} ||
      r != Shape{directions, gates * units, units}) {
    c.refuse(
        fmt::format("W and R must be [{},{}*units,{}] and "
                    "[{},{}*units,units], got {} and {}",
                    directions, gates, features, directions, gates,
                    w.to_string(), r.to_string()));
  }
  if (c.integer("hidden_size", units) != units) {
    c.refuse(fmt::format("hidden_size must be {}, as in R, got {}", units,
                         c.integer("hidden_size", units)));
  }
  if (c.has(3)) {
    result.b = c.weight(3, "bias");
    const Shape& b = result.b->value.shape();
    if (b != Shape{directions, 2 * gates * units}) {
      c.refuse(fmt::format("B must be [{},{}], got {}", directions,
                           2 * gates * units, b.to_string()));
    }
  }
  for (ImportedWeight* weight : {&result.w, &result.r}) {
    if (weight->qparams) {
      c.keep_as_floats(*weight, "recurrent layers compute in float32");
    }
  }
  result.units = units;
  return result;
}

}  // namespace

void convert_recurrent(Conversion& c) {
  const Cell& cell = cell_of(c);
  const std::string direction = c.text("direction", "forward");
  const bool both = direction == "bidirectional";
  if (!both && direction != "forward" && direction != "reverse") {
    c.refuse(fmt::format("unknown direction '{}'", printable(direction)));
  }
  const bool samples_first = c.integer("layout", 0) != 0;
  const ImportedValue& x = c.value(0);
  const int batch = samples_first ? 0 : 1;
  if (x.rank() != 3 || !x.has_batch(batch) ||
      x.dims()[static_cast<size_t>(batch)] != kBatch) {
    c.refuse(
        fmt::format("input must be sequences {} with the batch as axis "
                    "{}, got {}",
                    samples_first ? "[N,t,c]" : "[t,N,c]", batch, x.text()));
  }
  const int64_t steps = x.dims()[static_cast<size_t>(1 - batch)].factor;
  check_options(c, steps);
  const bool cells = is_used(c, 2);
  const int64_t count = both ? 2 : 1;
  GateWeights weights = weights_of(c, cell, count, x.dims()[2].factor);
  Functions functions(c, cell, static_cast<size_t>(count));
  const bool reset_after =
      cell.op == "GRU" && c.integer("linear_before_reset", 0) != 0;
  const bool sequences = is_used(c, 0);
  const bool states = is_used(c, 1) || !sequences;
  const Operand operand =
      c.operand(0, samples_first ? file_order(3) : std::vector<int>{1, 0, 2});
  const auto initial = initial_states(c, count, samples_first);
  std::vector<SymbolicTensor> steps_of, last_of, cells_of;
  for (int64_t d = 0; d < count; ++d) {
    const bool backwards = d == 1 || direction == "reverse";
    const std::string gates = cell.op == "RNN" ? "" : functions.next();
    const std::string function = functions.next();
    if (cell.op == "LSTM" && functions.next() != function) {
      c.refuse("activations of candidates and states must be equal");
    }
    const std::string source = d == 0 ? "" : "/backward";
    std::vector<ImportedWeight> own{{"kernel",
                                     kernel_of(weights.w.value, d, cell),
                                     {},
                                     weights.w.source + source},
                                    {"recurrent_kernel",
                                     kernel_of(weights.r.value, d, cell),
                                     {},
                                     weights.r.source + source}};
    if (weights.b) {
      own.push_back({"bias",
                     bias_of(weights.b->value, d, cell, reset_after),
                     {},
                     weights.b->source + source});
    }
    std::vector<Operand> operands{operand};
    const auto& given = initial[static_cast<size_t>(d)];
    operands.insert(operands.end(), given.begin(), given.end());
    const std::string part = !both ? "" : d == 0 ? "/forward" : "/backward";
    SymbolicTensor y =
        c.add(layer_of(c.op(), {.gates = gates,
                                .function = function,
                                .units = weights.units,
                                .use_bias = weights.b.has_value(),
                                .sequences = sequences,
                                .backwards = backwards,
                                .initial_state = !given.empty(),
                                .reset_after = reset_after,
                                .return_cell = cells}),
              operands, own, part.c_str());
    const auto select = [&](std::vector<Index> indices, const char* suffix) {
      return c.named(y.index(std::move(indices)), {{y}},
                     (part + suffix).c_str());
    };
    const int64_t last = backwards ? 0 : steps - 1;
    if (cells) {
      const Slice of_state({}, weights.units), of_cell(weights.units);
      cells_of.push_back(sequences ? select({Slice(), last, of_cell}, "/cell")
                                   : select({Slice(), of_cell}, "/cell"));
      y = sequences ? select({Slice(), Slice(), of_state}, "/steps")
                    : select({Slice(), of_state}, "/state");
    }
    if (sequences) steps_of.push_back(y);
    if (!states) continue;
    last_of.push_back(sequences ? select({Slice(), last}, "/last") : y);
  }
  const auto joined = [&](const std::vector<SymbolicTensor>& parts,
                          const char* suffix) {
    if (!both) return parts[0];
    return c.add(Concatenate(), {{parts[0]}, {parts[1]}}, {}, suffix);
  };
  const Dim each{weights.units};
  if (sequences) {
    const ImportedValue y = value_of(joined(steps_of, ""), file_order(3));
    const auto layout = y.layout.reshaped(Dims{kBatch, {steps}, {count}, each});
    c.set_output(y.with(layout->transposed(
        samples_first ? std::array{0, 1, 2, 3} : std::array{1, 2, 0, 3})));
  }
  const auto set_states = [&](const std::vector<SymbolicTensor>& parts,
                              const char* suffix, int output) {
    const ImportedValue y = value_of(joined(parts, suffix), file_order(2));
    const auto layout = y.layout.reshaped(Dims{kBatch, {count}, each});
    c.set_output(
        y.with(layout->transposed(samples_first ? std::array{0, 1, 2}
                                                : std::array{1, 0, 2})),
        output);
  };
  if (is_used(c, 1)) set_states(last_of, sequences ? "/states" : "", 1);
  if (cells) set_states(cells_of, "/cells", 2);
}

}  // namespace octet::io::importing
