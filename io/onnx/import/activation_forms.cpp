// Activations that exporters write as sums and products.
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "../graph_view.h"
#include "forms.h"

namespace octet::io::importing {
namespace {

/// The value x of clip(x + 3, 0, 6), made by `clip`.
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

/// The value x of hard_sigmoid(x) = clip(x + 3, 0, 6) / 6, made by `node`.
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

// x times a gate of x.
bool match_gated(ImportGraph& graph, ImportNode& node) {
  // x * clip(x + 3, 0, 6), and the division behind it
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

// The product of x, 1/2 and 1 + erf(x / sqrt(2)), in any order.
bool match_gelu(ImportGraph& graph, ImportNode& node) {
  if (!is_op(node, "Mul") || node.proto.input_size() != 2) return false;
  for (int shape = 0; shape < 8; ++shape) {
    FormMatch form(graph, node);
    const int inner_at = shape & 1;
    const int which = (shape >> 1) & 1;
    const ImportNode* inner =
        form.part(FormMatch::input(node, inner_at), "Mul");
    if (inner == nullptr || inner->proto.input_size() != 2) continue;
    // The three factors.
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
        const ImportNode* add = trial.part(sum, "Add");
        const int one = add == nullptr ? -1 : trial.number_input(*add, 1);
        const ImportNode* erf =
            one < 0 ? nullptr
                    : trial.part(FormMatch::input(*add, 1 - one), "Erf");
        if (erf == nullptr) continue;
        const std::string& scaled = FormMatch::input(*erf, 0);
        const std::string* base = nullptr;
        if (const ImportNode* div = trial.part(scaled, "Div")) {
          if (trial.is_number(FormMatch::input(*div, 1), std::sqrt(2.0))) {
            base = &div->proto.input(0);
          }
        } else if (const ImportNode* mul = trial.part(scaled, "Mul")) {
          const int k = trial.number_input(*mul, std::sqrt(0.5));
          if (k >= 0) base = &mul->proto.input(1 - k);
        }
        if (base == nullptr || *base != x) continue;
        trial.replace_by("Gelu", {x});
        return true;
      }
    }
  }
  return false;
}

}  // namespace octet::io::importing
