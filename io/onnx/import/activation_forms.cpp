// Activations that exporters decompose into sums and products.
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>

#include "../graph_view.h"
#include "forms.h"

namespace octet::io::importing {
namespace {

/// Returns the x of clip(x + 3, 0, 6), computed by `clip`.
const std::string* clipped(FormMatch& form, const ImportNode& clip) {
  const onnx::NodeProto& node = clip.proto;
  const bool bounds = node.input_size() > 1
                          ? node.input_size() == 3 &&
                                form.number(node.input(1)) == 0.0f &&
                                form.is_number(node.input(2), 6)
                          : find_attribute(node, "min") != nullptr &&
                                number_of(node, "min", -1) == 0 &&
                                number_of(node, "max", 0) == 6;
  if (!bounds) return nullptr;
  const ImportNode* sum = form.part(node.input(0), "Add");
  if (sum == nullptr) return nullptr;
  const int three = form.number_input(*sum, 3);
  return three < 0 ? nullptr : &sum->proto.input(1 - three);
}

/// Returns the clip(x + 3, 0, 6) of a hard_sigmoid(x), computed by `node` as a
/// division by 6.
const std::string* divided_by_six(FormMatch& form, const ImportNode& node) {
  int other = -1;
  if (is_op(node, "Div") && form.is_number(FormMatch::input(node, 1), 6)) {
    other = 0;
  } else if (is_op(node, "Mul")) {
    const int sixth = form.number_input(node, 1.0 / 6);
    if (sixth >= 0) other = 1 - sixth;
  }
  return other < 0 ? nullptr : &node.proto.input(other);
}

}  // namespace

bool match_hard_sigmoid(ImportGraph& graph, ImportNode& node) {
  FormMatch form(graph, node);
  const std::string* value = divided_by_six(form, node);
  if (value == nullptr) return false;
  const ImportNode* clip = form.part(*value, "Clip");
  const std::string* x = clip == nullptr ? nullptr : clipped(form, *clip);
  if (x == nullptr) return false;
  onnx::NodeProto by;
  by.set_name(node.proto.name());
  by.set_op_type("HardSigmoid");
  by.add_input(*x);
  auto* alpha = by.add_attribute();
  alpha->set_name("alpha");
  alpha->set_type(onnx::AttributeProto::FLOAT);
  alpha->set_f(1.0f / 6);
  form.replace_by(by);
  return true;
}

// x times an activation of x.
bool match_gated(ImportGraph& graph, ImportNode& node) {
  // x * clip(x + 3, 0, 6) / 6
  {
    FormMatch form(graph, node);
    const std::string* value = divided_by_six(form, node);
    const ImportNode* product =
        value == nullptr ? nullptr : form.part(*value, "Mul");
    if (product != nullptr) {
      for (const int gate : {0, 1}) {
        FormMatch trial(graph, node);
        (void)trial.part(*value, "Mul");
        const ImportNode* clip =
            trial.part(FormMatch::input(*product, gate), "Clip");
        const std::string* x =
            clip == nullptr ? nullptr : clipped(trial, *clip);
        if (x == nullptr || *x != FormMatch::input(*product, 1 - gate)) {
          continue;
        }
        trial.replace_by("HardSwish", {*x});
        return true;
      }
    }
  }
  if (!is_op(node, "Mul") || node.proto.input_size() != 2) return false;
  for (const int gate : {0, 1}) {
    const std::string& x = FormMatch::input(node, 1 - gate);
    FormMatch form(graph, node);
    const std::string& value = FormMatch::input(node, gate);
    if (const ImportNode* sigmoid = form.part(value, "Sigmoid")) {
      if (FormMatch::input(*sigmoid, 0) == x) {
        form.replace_by("Swish", {x});
        return true;
      }
    }
    if (const ImportNode* tanh = form.part(value, "Tanh")) {
      const ImportNode* softplus =
          form.part(FormMatch::input(*tanh, 0), "Softplus");
      if (softplus != nullptr && FormMatch::input(*softplus, 0) == x) {
        form.replace_by("Mish", {x});
        return true;
      }
    }
    const ImportNode* hard = form.part(value, "HardSigmoid");
    if (hard != nullptr && FormMatch::input(*hard, 0) == x &&
        std::abs(number_of(hard->proto, "alpha", 0.2f) - 1.0f / 6) < 1e-6f &&
        number_of(hard->proto, "beta", 0.5f) == 0.5f) {
      form.replace_by("HardSwish", {x});
      return true;
    }
  }
  return false;
}

namespace {

/// Returns the x of erf(x / sqrt(2)), or null.
const std::string* argument_of_erf(FormMatch& form, const ImportNode& erf) {
  const std::string& scaled = FormMatch::input(erf, 0);
  if (const ImportNode* div = form.part(scaled, "Div")) {
    const bool root = form.is_number(FormMatch::input(*div, 1), std::sqrt(2.0));
    return root ? &div->proto.input(0) : nullptr;
  }
  const ImportNode* mul = form.part(scaled, "Mul");
  const int k = mul == nullptr ? -1 : form.number_input(*mul, std::sqrt(0.5));
  return k < 0 ? nullptr : &mul->proto.input(1 - k);
}

/// Whether the value is x^3.
bool is_cube(FormMatch& form, const std::string& value, const std::string& x) {
  if (const ImportNode* power = form.part(value, "Pow")) {
    return FormMatch::input(*power, 0) == x &&
           form.is_number(FormMatch::input(*power, 1), 3);
  }
  const ImportNode* product = form.part(value, "Mul");
  if (product == nullptr) return false;
  for (const int at : {0, 1}) {
    if (FormMatch::input(*product, at) != x) continue;
    const ImportNode* square =
        form.part(FormMatch::input(*product, 1 - at), "Mul");
    if (square != nullptr) {
      return FormMatch::input(*square, 0) == x &&
             FormMatch::input(*square, 1) == x;
    }
  }
  return false;
}

/// Returns the x of tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)), or null.
const std::string* argument_of_tanh(FormMatch& form, const ImportNode& tanh) {
  const ImportNode* scaled = form.part(FormMatch::input(tanh, 0), "Mul");
  const int k =
      scaled == nullptr
          ? -1
          : form.number_input(*scaled, std::sqrt(2 / std::numbers::pi));
  const ImportNode* sum =
      k < 0 ? nullptr : form.part(FormMatch::input(*scaled, 1 - k), "Add");
  if (sum == nullptr) return nullptr;
  for (const int at : {0, 1}) {
    const ImportNode* cubic = form.part(FormMatch::input(*sum, 1 - at), "Mul");
    const int factor =
        cubic == nullptr ? -1 : form.number_input(*cubic, 0.044715);
    if (factor < 0) continue;
    const std::string& x = sum->proto.input(at);
    return is_cube(form, FormMatch::input(*cubic, 1 - factor), x) ? &x
                                                                  : nullptr;
  }
  return nullptr;
}

/// The x of 1 + erf(x / sqrt(2)), or of its tanh approximation; null for other
/// values.
struct Gate {
  const std::string* x = nullptr;
  bool tanh = false;
};
Gate gate_of(FormMatch& form, const std::string& value) {
  const ImportNode* add = form.part(value, "Add");
  const int one = add == nullptr ? -1 : form.number_input(*add, 1);
  if (one < 0) return {};
  const std::string& function = FormMatch::input(*add, 1 - one);
  if (const ImportNode* erf = form.part(function, "Erf")) {
    return {argument_of_erf(form, *erf), false};
  }
  if (const ImportNode* tanh = form.part(function, "Tanh")) {
    return {argument_of_tanh(form, *tanh), true};
  }
  return {};
}

}  // namespace

// The product of x, 1/2 and the gate, in any order.
bool match_gelu(ImportGraph& graph, ImportNode& node) {
  if (!is_op(node, "Mul") || node.proto.input_size() != 2) return false;
  for (int shape = 0; shape < 8; ++shape) {
    FormMatch form(graph, node);
    const int inner_at = shape & 1;
    const int which = (shape >> 1) & 1;
    const ImportNode* inner =
        form.part(FormMatch::input(node, inner_at), "Mul");
    if (inner == nullptr || inner->proto.input_size() != 2) continue;
    // All factors of the product.
    const std::array<std::string, 3> factors{
        FormMatch::input(node, 1 - inner_at), FormMatch::input(*inner, which),
        FormMatch::input(*inner, 1 - which)};
    for (int half = 0; half < 3; ++half) {
      if (!form.is_number(factors[static_cast<size_t>(half)], 0.5)) continue;
      for (const int step : {1, 2}) {
        const std::string& sum =
            factors[static_cast<size_t>((half + step) % 3)];
        const std::string& x =
            factors[static_cast<size_t>((half + 3 - step) % 3)];
        FormMatch trial(graph, node);
        (void)trial.part(FormMatch::input(node, inner_at), "Mul");
        const Gate gate = gate_of(trial, sum);
        if (gate.x == nullptr || *gate.x != x) continue;
        onnx::NodeProto gelu;
        gelu.set_name(node.proto.name());
        gelu.set_op_type("Gelu");
        gelu.add_input(x);
        if (gate.tanh) {
          auto* approximate = gelu.add_attribute();
          approximate->set_name("approximate");
          approximate->set_type(onnx::AttributeProto::STRING);
          approximate->set_s("tanh");
        }
        trial.replace_by(gelu);
        return true;
      }
    }
  }
  return false;
}

}  // namespace octet::io::importing
