#include <array>

#include <fmt/format.h>

#include <octet/layers/merging.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"
#include "merging/merge.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, CompareOptions& o) {
  v("operation", o.operation);
  v("value", o.value);
}

namespace {

struct NamedComparison {
  std::string_view name;
  Comparison comparison;
  const char* onnx_op;
  bool inverse = false;  // negated operator
};

constexpr std::array kComparisons{
    NamedComparison{"equal", Comparison::equal, "Equal"},
    NamedComparison{"not_equal", Comparison::not_equal, "Equal", true},
    NamedComparison{"greater", Comparison::greater, "Greater"},
    NamedComparison{"greater_equal", Comparison::greater_equal,
                    "GreaterOrEqual"},
    NamedComparison{"less", Comparison::less, "Less"},
    NamedComparison{"less_equal", Comparison::less_equal, "LessOrEqual"},
};

class CompareLayer final : public Layer {
 public:
  explicit CompareLayer(const CompareOptions& options)
      : o_(options),
        named_(find_named("operation", kComparisons, o_.operation)) {}

  std::string class_name() const override { return "Compare"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.activation = "";
    facts.sign = OutputSign::non_negative;
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    const size_t expected = o_.value ? 1 : 2;
    if (inputs.size() != expected) {
      throw ValueError(
          "count_mismatch", "inputs",
          fmt::format("the layer takes {}, got {}",
                      expected == 1 ? "1 input with the option value"
                                    : "2 inputs without the option value",
                      inputs.size()));
    }
    return merged_shape(inputs);
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    if (o_.value) {
      return compare(named_.comparison, inputs[0], Tensor::scalar(*o_.value));
    }
    const std::vector<Variable> x = of_one_rank(inputs);
    return compare(named_.comparison, x[0], x[1]);
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    auto [y, operands] = merged_operands(context, inputs);
    if (o_.value) operands.push_back(context.scalar("value", *o_.value));
    y.name = context.node(named_.onnx_op, operands);
    if (named_.inverse) y.name = context.node("Not", {y.name});
    constexpr int64_t kFloat = 1;  // TensorProto::FLOAT
    y.name = context.node("Cast", {y.name}, {{"to", kFloat}});
    return y;
  }

 private:
  CompareOptions o_;
  const NamedComparison& named_;
};

}  // namespace

Compare::Compare(const CompareOptions& options)
    : LayerHandle(make_layer<CompareLayer>("Compare", options)) {}

extern const LayerDef compare_def;
const LayerDef compare_def{
    .class_name = "Compare",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<CompareLayer>(
          read_fields<CompareOptions>(config));
    },
    .role = LayerRole::merge,
    .keras = {.layout = KerasLayout::pointwise},
};

}  // namespace octet
