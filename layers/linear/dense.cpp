#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/dense.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "activation/activation_functions.h"
#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, DenseOptions& o) {
  v("units", o.units);
  v("activation", o.activation);
  v("use_bias", o.use_bias);
  v("kernel_initializer", o.kernel_initializer);
  v("bias_initializer", o.bias_initializer);
  v("kernel_regularizer", o.kernel_regularizer);
  v("bias_regularizer", o.bias_regularizer);
}

namespace {

class DenseLayer final : public Layer {
 public:
  explicit DenseLayer(const DenseOptions& options)
      : o_(options), activation_(find_activation(o_.activation)) {
    expect_count("units", o_.units);
  }

  std::string class_name() const override { return "Dense"; }
  Config config() const override { return write_fields(o_); }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = single_input(inputs);
    if (x.rank() < 2) {
      throw ShapeError("invalid_shape", "input",
                       fmt::format("must be [n,...,c], got {}", x.to_string()));
    }
    return x.with(-1, o_.units);
  }

  void build(std::span<const Shape> inputs) override {
    const int64_t c = inputs[0][-1];
    kernel_ = add_parameter("kernel", {c, o_.units},
                            {.initializer = o_.kernel_initializer,
                             .fan_in = c,
                             .fan_out = o_.units,
                             .regularizer = o_.kernel_regularizer});
    if (o_.use_bias) {
      bias_ = add_parameter("bias", {o_.units},
                            {.initializer = o_.bias_initializer,
                             .regularizer = o_.bias_regularizer});
    }
  }

  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    Variable y = dense(inputs[0], context.read(at(kernel_)));
    if (o_.use_bias) y = bias_add(y, context.read(at(bias_)));
    return activation_.apply(y);
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    const OnnxValue& x = inputs[0];
    const Shape shape = output_shape(std::array{x.shape});
    const int rank = shape.rank();
    const OnnxValue y = rank == 2   ? emit_gemm(context, x, shape)
                        : rank == 4 ? emit_convolution(context, x, shape)
                                    : emit_matmul(context, x, shape);
    return activation_.emit(context, y);
  }

  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    if (inputs.empty()) return facts;
    int64_t rows = 1;
    for (int axis = 1; axis < inputs[0].rank() - 1; ++axis) {
      rows *= inputs[0][axis];
    }
    facts.multiply_adds = product_of({rows, inputs[0][-1], o_.units});
    return facts;
  }

 private:
  OnnxValue emit_gemm(EmitContext& context, const OnnxValue& x,
                      const Shape& shape) const {
    std::vector<std::string> operands{
        x.name, context.weight(at(kernel_), {.order = {1, 0}}, 0)};
    if (o_.use_bias) operands.push_back(context.weight(at(bias_)));
    return {context.node("Gemm", operands, {{"transB", int64_t{1}}}), shape};
  }

  // Images are mostly between convolutions; export makes this a MatMul if the
  // channels are last. It makes a MatMul of sequences between convolutions a
  // convolution.
  OnnxValue emit_convolution(EmitContext& context, const OnnxValue& x,
                             const Shape& shape) const {
    const std::vector<int64_t> cell(static_cast<size_t>(shape.rank() - 2), 1);
    const Shape& kernel = at(kernel_).variable.shape();
    std::vector<int64_t> dims{kernel[1], kernel[0]};
    dims.insert(dims.end(), cell.begin(), cell.end());
    const Arrangement stored{.order = {1, 0},
                             .joined = Shape(std::span<const int64_t>(dims))};
    std::vector<std::string> operands{x.name,
                                      context.weight(at(kernel_), stored, 0)};
    if (o_.use_bias) operands.push_back(context.weight(at(bias_)));
    return context.channels_first_node("Conv", operands, shape,
                                       {{"kernel_shape", cell}});
  }

  OnnxValue emit_matmul(EmitContext& context, const OnnxValue& x,
                        const Shape& shape) const {
    const std::string product = context.node(
        "MatMul", {x.name, context.weight(at(kernel_), Arrangement(), 1)});
    if (!o_.use_bias) return {product, shape};
    return {
        context.part("Add", "bias_add", {product, context.weight(at(bias_))}),
        shape};
  }

  DenseOptions o_;
  const ActivationFunction& activation_;
  size_t kernel_ = 0;
  size_t bias_ = 0;
};

}  // namespace

Dense::Dense(const DenseOptions& options)
    : LayerHandle(make_layer<DenseLayer>("Dense", options)) {}

extern const LayerDef dense_def;
const LayerDef dense_def{
    .class_name = "Dense",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<DenseLayer>(read_fields<DenseOptions>(config));
    },
    .role = LayerRole::linear,
    .qdq = {.enabled = true, .weight = "kernel"},
    .folded = {.parameter = "kernel", .first_axis = 1, .last_axis = 2},
    .keras = {.layout = KerasLayout::features,
              .renamed = {{{"output_dim", "units"}}},
              .has_activation = true},
};

}  // namespace octet
