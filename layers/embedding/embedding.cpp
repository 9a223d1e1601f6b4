#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/embedding.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, EmbeddingOptions& o) {
  v("input_dim", o.input_dim);
  v("output_dim", o.output_dim);
  v("embeddings_initializer", o.embeddings_initializer);
  v("embeddings_regularizer", o.embeddings_regularizer);
  v("mask_zero", o.mask_zero);
}

namespace {

// Largest table whose indices float32 represents exactly.
constexpr int64_t kMostIndices = int64_t{1} << 24;

class EmbeddingLayer final : public Layer {
 public:
  explicit EmbeddingLayer(const EmbeddingOptions& options) : o_(options) {
    expect_count("input_dim", o_.input_dim);
    expect_count("output_dim", o_.output_dim);
    if (o_.input_dim > kMostIndices) {
      throw ValueError("out_of_range", "input_dim",
                       fmt::format("must be at most 2^24, got {}: float32 does "
                                   "not represent larger indices",
                                   o_.input_dim));
    }
  }

  std::string class_name() const override { return "Embedding"; }
  Config config() const override { return write_fields(o_); }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = single_input(inputs);
    if (x.rank() < 1 || x.rank() >= Shape::kMaxRank) {
      throw ShapeError("invalid_shape", "input",
                       fmt::format("must be indices of 1 to {} axes, got {}",
                                   Shape::kMaxRank - 1, x.to_string()));
    }
    std::vector<int64_t> dims(x.dims().begin(), x.dims().end());
    dims.push_back(o_.output_dim);
    return Shape(std::span<const int64_t>(dims));
  }

  void build(std::span<const Shape>) override {
    table_ = add_parameter("embeddings", {o_.input_dim, o_.output_dim},
                           {.initializer = o_.embeddings_initializer,
                            .fan_in = o_.input_dim,
                            .fan_out = o_.output_dim,
                            .regularizer = o_.embeddings_regularizer});
  }

  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    return embedding(inputs[0], context.read(at(table_)));
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    constexpr int64_t kInt64 = 7;  // TensorProto::INT64
    const std::string indices =
        context.part("Cast", "indices", {inputs[0].name}, {{"to", kInt64}});
    return {context.node("Gather", {context.weight(at(table_)), indices},
                         {{"axis", int64_t{0}}}),
            output_shape(std::span(&inputs[0].shape, 1))};
  }

 private:
  EmbeddingOptions o_;
  size_t table_ = 0;
};

}  // namespace

Embedding::Embedding(const EmbeddingOptions& options)
    : LayerHandle(make_layer<EmbeddingLayer>("Embedding", options)) {}

extern const LayerDef embedding_def;
const LayerDef embedding_def{
    .class_name = "Embedding",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<EmbeddingLayer>(
          read_fields<EmbeddingOptions>(config));
    },
    // Keras 1.
    .keras = {.renamed = {{{"init", "embeddings_initializer"},
                           {"W_regularizer", "embeddings_regularizer"}}}},
};

}  // namespace octet
