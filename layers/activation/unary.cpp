#include <fmt/format.h>

#include <octet/layers/activation.h>
#include <octet/layers/custom_layer.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, UnaryOptions& o) {
  v("operation", o.operation);
}

namespace {

struct UnaryOperation {
  std::string_view name;
  Variable (*apply)(const Variable& x);
  const char* onnx_op;  // of x, or of (x, x) if `twice`
  bool twice = false;
  bool non_negative = false;
  bool keeps_sign = false;  // for nonnegative inputs
};

constexpr UnaryOperation kUnaryOperations[] = {
    {"abs", absolute, "Abs", false, true},
    {"ceil", [](const Variable& x) { return octet::ceil(x); }, "Ceil", false,
     false, true},
    {"cos", [](const Variable& x) { return octet::cos(x); }, "Cos"},
    {"erf", [](const Variable& x) { return octet::erf(x); }, "Erf"},
    {"floor", [](const Variable& x) { return octet::floor(x); }, "Floor", false,
     false, true},
    {"log", [](const Variable& x) { return log(x); }, "Log"},
    {"reciprocal", [](const Variable& x) { return 1 / x; }, "Reciprocal", false,
     false, true},
    {"round", [](const Variable& x) { return octet::round(x); }, "Round", false,
     false, true},
    {"sign", sign, "Sign", false, false, true},
    {"sin", [](const Variable& x) { return octet::sin(x); }, "Sin"},
    {"sqrt", [](const Variable& x) { return octet::sqrt(x); }, "Sqrt", false,
     true},
    {"square", square, "Mul", true, true},
};

class UnaryLayer final : public Layer {
 public:
  explicit UnaryLayer(const UnaryOptions& options)
      : o_(options),
        operation_(find_named("operation", kUnaryOperations, o_.operation)) {}

  std::string class_name() const override { return "Unary"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.activation = "";
    facts.sign = operation_.non_negative ? OutputSign::non_negative
                 : operation_.keeps_sign ? OutputSign::of_inputs
                                         : OutputSign::any;
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return single_input(inputs);
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return operation_.apply(inputs[0]);
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    OnnxValue y = inputs[0];
    std::vector<std::string> operands{y.name};
    if (operation_.twice) operands.push_back(y.name);
    y.name = context.node(operation_.onnx_op, operands);
    return y;
  }

 private:
  UnaryOptions o_;
  const UnaryOperation& operation_;
};

}  // namespace

Unary::Unary(const UnaryOptions& options)
    : LayerHandle(make_layer<UnaryLayer>("Unary", options)) {}

extern const LayerDef unary_def;
const LayerDef unary_def{
    .class_name = "Unary",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<UnaryLayer>(read_fields<UnaryOptions>(config));
    },
    .role = LayerRole::activation,
    .keras = {.layout = KerasLayout::pointwise},
};

}  // namespace octet
