#include <fmt/format.h>

#include <octet/layers/merging.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/fields.h"
#include "base/make_layer.h"
#include "merging/merge.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, WhereOptions& o) {
  v("x", o.x);
  v("y", o.y);
}

namespace {

class WhereLayer final : public Layer {
 public:
  explicit WhereLayer(const WhereOptions& options) : o_(options) {}

  std::string class_name() const override { return "Where"; }
  Config config() const override { return write_fields(o_); }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.activation = "";
    const bool negative = o_.x.value_or(0) < 0 || o_.y.value_or(0) < 0;
    facts.sign = negative       ? OutputSign::any
                 : o_.x && o_.y ? OutputSign::non_negative
                                : OutputSign::of_inputs;
    return facts;
  }
  Shape output_shape(std::span<const Shape> inputs) const override {
    const size_t expected = 1 + (o_.x ? 0 : 1) + (o_.y ? 0 : 1);
    if (inputs.size() != expected) {
      throw ValueError(
          "count_mismatch", "inputs",
          fmt::format("the layer takes {{condition{}{}}}, got {} inputs",
                      o_.x ? "" : ", x", o_.y ? "" : ", y", inputs.size()));
    }
    return merged_shape(inputs);
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    const std::vector<Variable> given = of_one_rank(inputs);
    size_t next = 1;
    const auto operand = [&](const std::optional<float>& number) {
      return number ? Variable(Tensor::scalar(*number)) : given[next++];
    };
    const Variable x = operand(o_.x);
    const Variable y = operand(o_.y);
    return where(given[0], x, y);
  }
  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    auto [result, given] = merged_operands(context, inputs);
    size_t next = 1;
    const auto operand = [&](const char* name,
                             const std::optional<float>& number) {
      return number ? context.scalar(name, *number) : given[next++];
    };
    const std::string x = operand("x", o_.x);
    const std::string y = operand("y", o_.y);
    constexpr int64_t kBool = 9;  // TensorProto::BOOL
    const std::string holds =
        context.part("Cast", "condition", {given[0]}, {{"to", kBool}});
    result.name = context.node("Where", {holds, x, y});
    return result;
  }

 private:
  WhereOptions o_;
};

}  // namespace

Where::Where(const WhereOptions& options)
    : LayerHandle(make_layer<WhereLayer>("Where", options)) {}

extern const LayerDef where_def;
const LayerDef where_def{
    .class_name = "Where",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<WhereLayer>(read_fields<WhereOptions>(config));
    },
    .role = LayerRole::merge,
    .keras = {.layout = KerasLayout::pointwise},
};

}  // namespace octet
