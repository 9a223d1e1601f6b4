// LSTM, GRU and RNN, one sample and one step after another.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/detail/printable.h>

#include "deadline.h"
#include "operators.h"

namespace octet::io::run {
namespace {

using Floats = std::span<const float>;
using Vector = std::vector<float>;

// Marks a parameter that must be given: ONNX and ONNX Runtime have different
// defaults.
constexpr float kRequired = std::numeric_limits<float>::quiet_NaN();

/// A function of `activations`; ONNX Runtime ignores the case of its name.
struct NamedFunction {
  std::string_view name;
  float (*f)(float x, float alpha, float beta);
  int parameters = 0;       ///< 1: alpha, 2: alpha and beta
  float alpha = kRequired;  ///< default
  float beta = kRequired;
};

// Source: ONNX LSTM-14; defaults of ONNX Runtime's rnn_helpers.cc.
constexpr NamedFunction kFunctions[] = {
    {"affine", [](float x, float a, float b) { return a * x + b; }, 2},
    {"elu",
     [](float x, float a, float) { return x < 0 ? a * std::expm1(x) : x; }, 1,
     1},
    {"hardsigmoid",
     [](float x, float a, float b) {
       return std::clamp(a * x + b, 0.0f, 1.0f);
     },
     2, 0.2f, 0.5f},
    {"leakyrelu", [](float x, float a, float) { return x < 0 ? a * x : x; }, 1,
     0.01f},
    {"relu", [](float x, float, float) { return std::max(x, 0.0f); }},
    {"scaledtanh",
     [](float x, float a, float b) { return a * std::tanh(b * x); }, 2},
    {"sigmoid", [](float x, float, float) { return 1 / (1 + std::exp(-x)); }},
    {"softplus", [](float x, float, float) { return std::log1p(std::exp(x)); }},
    {"softsign", [](float x, float, float) { return x / (1 + std::abs(x)); }},
    {"tanh", [](float x, float, float) { return std::tanh(x); }},
    {"thresholdedrelu",
     [](float x, float a, float) { return x > a ? x : 0.0f; }, 1},
};

/// A function with its parameters, of clipped inputs.
struct CellActivation {
  const NamedFunction* function = nullptr;
  float alpha = 0, beta = 0;
  float clip = std::numeric_limits<float>::infinity();

  float operator()(float x) const {
    return function->f(std::clamp(x, -clip, clip), alpha, beta);
  }
};

const NamedFunction* find_function(std::string name) {
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  const auto* found = std::ranges::find(kFunctions, name, &NamedFunction::name);
  return found == std::end(kFunctions) ? nullptr : found;
}

/// Returns the functions of all directions. Source: ONNX LSTM-14.
std::vector<CellActivation> cell_activations(const NodeContext& context,
                                             std::vector<std::string> names,
                                             int64_t directions) {
  const auto find = [&](const char* name) -> const onnx::AttributeProto* {
    for (const auto& attribute : context.node().attribute()) {
      if (attribute.name() == name) return &attribute;
    }
    return nullptr;
  };
  const size_t each = names.size();
  for (size_t i = each; i < each * static_cast<size_t>(directions); ++i) {
    names.push_back(names[i - each]);
  }
  if (const auto* given = find("activations")) {
    if (given->strings_size() != static_cast<int>(names.size())) {
      context.refuse(fmt::format(
          "activations must have {} {}, got {}", names.size(),
          names.size() == 1 ? "name" : "names", given->strings_size()));
    }
    names.assign(given->strings().begin(), given->strings().end());
  }
  // Functions consume the parameters in order.
  int alphas = 0, betas = 0;
  const auto parameter = [&](const char* name, int& used, float otherwise) {
    const auto* list = find(name);
    const int place = used++;
    const float value = list == nullptr || place >= list->floats_size()
                            ? otherwise
                            : list->floats(place);
    if (std::isnan(value)) {
      context.refuse(
          fmt::format("{} must be given for {}", name, fmt::join(names, ", ")));
    }
    return value;
  };
  const float clip = context.number("clip", 0);
  if (!(clip >= 0)) {
    context.refuse(fmt::format("clip must be >= 0, got {}", clip));
  }
  std::vector<CellActivation> result;
  for (const std::string& name : names) {
    CellActivation each_function{find_function(name)};
    if (each_function.function == nullptr) {
      context.unsupported(
          fmt::format("has the unknown activation '{}'", printable(name)));
    }
    const NamedFunction& f = *each_function.function;
    if (f.parameters > 0) {
      each_function.alpha = parameter("activation_alpha", alphas, f.alpha);
    }
    if (f.parameters > 1) {
      each_function.beta = parameter("activation_beta", betas, f.beta);
    }
    if (clip > 0) each_function.clip = clip;
    result.push_back(each_function);
  }
  return result;
}

struct Recurrent {
  const NodeContext& context;
  std::string op;
  int64_t gates = 0, directions = 1, steps = 0, n = 0, c = 0, units = 0;
  bool samples_first = false, reset_after = false, input_forget = false;
  std::vector<CellActivation> functions;

  explicit Recurrent(const NodeContext& node)
      : context(node), op(node.node().op_type()) {
    gates = op == "LSTM" ? 4 : op == "GRU" ? 3 : 1;
    const std::string direction = context.text("direction", "forward");
    if (direction == "bidirectional") {
      directions = 2;
    } else if (direction != "forward" && direction != "reverse") {
      context.refuse(
          fmt::format("unknown direction '{}'", printable(direction)));
    }
    samples_first = context.integer("layout", 0) != 0;
    reset_after = context.integer("linear_before_reset", 0) != 0;
    input_forget = context.integer("input_forget", 0) != 0;
    const Shape& x = context.input(0).shape();
    const Shape& r = context.input(2).shape();
    if (x.rank() != 3 || r.rank() != 3) {
      context.refuse(fmt::format("X and R must have rank 3, got {} and {}",
                                 x.to_string(), r.to_string()));
    }
    steps = x[samples_first ? 1 : 0];
    n = x[samples_first ? 0 : 1];
    c = x[2];
    units = r[2];
    expect(1, {directions, gates * units, c});
    expect(2, {directions, gates * units, units});
    expect(3, {directions, 2 * gates * units});
    expect(5, state_dims());
    expect(6, state_dims());
    expect(7, {directions, 3 * units});
    functions = cell_activations(
        context,
        op == "LSTM"  ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
        : op == "GRU" ? std::vector<std::string>{"Sigmoid", "Tanh"}
                      : std::vector<std::string>{"Tanh"},
        directions);
    // As in ONNX Runtime, cells are not clipped.
    for (size_t i = 2; op == "LSTM" && i < functions.size(); i += 3) {
      functions[i].clip = std::numeric_limits<float>::infinity();
    }
  }

  Sizes state_dims() const {
    return samples_first ? Sizes{n, directions, units}
                         : Sizes{directions, n, units};
  }
  /// Element of a sample's state in Y_h, Y_c and the initial states.
  int64_t state_at(int64_t d, int64_t i) const {
    return (samples_first ? i * directions + d : d * n + i) * units;
  }
  int64_t input_at(int64_t t, int64_t i) const {
    return (samples_first ? i * steps + t : t * n + i) * c;
  }
  int64_t output_at(int64_t t, int64_t d, int64_t i) const {
    return (samples_first ? (i * steps + t) * directions + d
                          : (t * directions + d) * n + i) *
           units;
  }

  void expect(size_t input, const Sizes& dims) const {
    if (!context.has_input(input)) return;
    const Tensor& given = context.input(input);
    if (given.dtype() != DType::f32) context.refuse_type(given.dtype());
    if (sizes_of(given) == dims) return;
    context.refuse(fmt::format("input {} must have shape [{}], got {}", input,
                               fmt::join(dims, ","),
                               given.shape().to_string()));
  }

  Floats input(size_t index, int64_t first, int64_t count) const {
    if (!context.has_input(index)) return {};
    return context.input(index).f32().subspan(static_cast<size_t>(first),
                                              static_cast<size_t>(count));
  }

  /// y[i] += (matrix x)[i] for rows of `matrix`, first to last of y.
  static void add_matrix(Floats matrix, Floats x, std::span<float> y) {
    for (size_t i = 0; i < y.size(); ++i) {
      y[i] += dot(matrix.subspan(i * x.size(), x.size()), x);
    }
  }
  static float dot(Floats a, Floats b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
    return static_cast<float>(sum);
  }

  /// One step of direction d: x are the products and biases of the inputs.
  void step(int64_t d, Vector x, Vector& h, Vector& cell) const {
    const auto u = static_cast<size_t>(units);
    const int64_t width = gates * units;
    const Floats r = input(2, d * width * units, width * units);
    const Floats b = input(3, (2 * d + 1) * width, width);
    const auto* f = functions.data() + static_cast<size_t>(d) *
                                           functions.size() /
                                           static_cast<size_t>(directions);
    Vector z(x.size());
    if (!b.empty()) z.assign(b.begin(), b.end());
    if (op != "GRU") {
      add_matrix(r, h, z);
      for (size_t j = 0; j < z.size(); ++j) z[j] += x[j];
      // Weights of the cell in gates i, o and f.
      const Floats p = input(7, d * 3 * units, 3 * units);
      const auto peephole = [&](size_t gate, size_t j) {
        return p.empty() ? 0.0f : p[gate * u + j] * cell[j];
      };
      for (size_t j = 0; j < u; ++j) {
        if (op == "RNN") {
          h[j] = f[0](z[j]);
          continue;
        }
        const float in = f[0](z[j] + peephole(0, j));
        const float forget =
            input_forget ? 1 - in : f[0](z[2 * u + j] + peephole(2, j));
        cell[j] = forget * cell[j] + in * f[1](z[3 * u + j]);
        h[j] = f[0](z[u + j] + peephole(1, j)) * f[2](cell[j]);
      }
      return;
    }
    add_matrix(r.first(2 * u * u), h, std::span(z).first(2 * u));
    Vector reset = h;
    for (size_t j = 0; j < 2 * u; ++j) z[j] = f[0](z[j] + x[j]);
    for (size_t j = 0; j < u && !reset_after; ++j) reset[j] *= z[u + j];
    add_matrix(r.subspan(2 * u * u), reset, std::span(z).subspan(2 * u));
    for (size_t j = 0; j < u; ++j) {
      const float inner = z[2 * u + j] * (reset_after ? z[u + j] : 1);
      h[j] = (1 - z[j]) * f[1](x[2 * u + j] + inner) + z[j] * h[j];
    }
  }
};

Values recurrent(const NodeContext& context) {
  const Recurrent s(context);
  const int64_t width = s.gates * s.units;
  const Sizes lengths = context.has_input(4)
                            ? context.integers_of(4)
                            : Sizes(static_cast<size_t>(s.n), s.steps);
  if (std::ssize(lengths) != s.n ||
      std::ranges::any_of(lengths,
                          [&](int64_t l) { return l < 0 || l > s.steps; })) {
    context.refuse("sequence_lens must have a length for each sample");
  }
  Tensor y =
      context.make(s.samples_first ? Sizes{s.n, s.steps, s.directions, s.units}
                                   : Sizes{s.steps, s.directions, s.n, s.units},
                   DType::f32);
  std::ranges::fill(y.f32(), 0.0f);
  Tensor last = context.make(s.state_dims(), DType::f32);
  Tensor cells = context.make(s.state_dims(), DType::f32);
  DeadlineCheck deadline(context);
  for (int64_t d = 0; d < s.directions; ++d) {
    const bool backwards =
        d == 1 || context.text("direction", "forward") == "reverse";
    const Floats w = s.input(1, d * width * s.c, width * s.c);
    const Floats b = s.input(3, 2 * d * width, width);
    for (int64_t i = 0; i < s.n; ++i) {
      const auto state = [&](size_t index) {
        const Floats given = s.input(index, s.state_at(d, i), s.units);
        return given.empty() ? Vector(static_cast<size_t>(s.units))
                             : Vector(given.begin(), given.end());
      };
      Vector h = state(5);
      Vector cell = s.op == "LSTM" ? state(6) : h;
      const int64_t length = lengths[static_cast<size_t>(i)];
      for (int64_t k = 0; k < length; ++k) {
        const int64_t t = backwards ? length - 1 - k : k;
        Vector x(static_cast<size_t>(width));
        if (!b.empty()) x.assign(b.begin(), b.end());
        deadline.add(width * (s.c + s.units));
        Recurrent::add_matrix(w, s.input(0, s.input_at(t, i), s.c), x);
        s.step(d, std::move(x), h, cell);
        std::ranges::copy(h, y.f32().begin() + s.output_at(t, d, i));
      }
      std::ranges::copy(h, last.f32().begin() + s.state_at(d, i));
      std::ranges::copy(cell, cells.f32().begin() + s.state_at(d, i));
    }
  }
  if (s.op == "LSTM") return {y, last, cells};
  return {y, last};
}

}  // namespace

Operators recurrent_operators() {
  static constexpr NamedOperator kOperators[] = {
      {"GRU", recurrent},
      {"LSTM", recurrent},
      {"RNN", recurrent},
  };
  return kOperators;
}

}  // namespace octet::io::run
