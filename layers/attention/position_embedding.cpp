#include <fmt/format.h>

#include <octet/layers/attention.h>
#include <octet/layers/custom_layer.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, PositionEmbeddingOptions& o) {
  v("embedding_initializer", o.embedding_initializer);
}

namespace {

class PositionEmbeddingLayer final : public Layer {
 public:
  explicit PositionEmbeddingLayer(const PositionEmbeddingOptions& options)
      : o_(options) {}

  std::string class_name() const override { return "PositionEmbedding"; }
  Config config() const override { return write_fields(o_); }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = token_input(inputs);
    if (built() && at(embedding_).variable.shape()[1] != x[1]) {
      throw ShapeError(
          "shape_mismatch", "input",
          fmt::format(
              "must have {} tokens, as in the first call of this layer, got {}",
              at(embedding_).variable.shape()[1], x.to_string()));
    }
    return x;
  }

  void build(std::span<const Shape> inputs) override {
    const Shape& x = inputs[0];
    embedding_ = add_parameter("position_embedding", {1, x[1], x[2]},
                               {.initializer = o_.embedding_initializer,
                                .fan_in = x[1],
                                .fan_out = x[2]});
  }

  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    return add(inputs[0],
               broadcast_to(context.read(at(embedding_)), inputs[0].shape()));
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    return {
        context.node("Add", {inputs[0].name, context.weight(at(embedding_))}),
        inputs[0].shape};
  }

 private:
  PositionEmbeddingOptions o_;
  size_t embedding_ = 0;
};

}  // namespace

PositionEmbedding::PositionEmbedding(const PositionEmbeddingOptions& options)
    : LayerHandle(
          make_layer<PositionEmbeddingLayer>("PositionEmbedding", options)) {}

extern const LayerDef position_embedding_def;
const LayerDef position_embedding_def{
    .class_name = "PositionEmbedding",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<PositionEmbeddingLayer>(
          read_fields<PositionEmbeddingOptions>(config));
    },
};

}  // namespace octet
