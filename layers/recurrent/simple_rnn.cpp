#include <octet/layers/recurrent.h>
#include <octet/runtime/error.h>

#include "base/make_layer.h"
#include "recurrent/recurrent_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, SimpleRNNOptions& o) {
  recurrent_fields(v, o);
}

namespace {

class SimpleRNNLayer final : public RecurrentLayer<SimpleRNNOptions, 1> {
 public:
  using RecurrentLayer::RecurrentLayer;

  std::string class_name() const override { return "SimpleRNN"; }
  Config config() const override { return write_fields(o_); }

  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    Variable x = products(context, inputs[0]);
    if (bias() != nullptr) x = bias_add(x, context.read(*bias()));
    const RecurrentInputs further = more(inputs);
    return select_steps(
        simple_rnn(x, recurrent_kernel(context), cell_options(), further),
        further.mask, form());
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    return emit_as(context, inputs,
                   {.op = "RNN", .gates = {0}, .functions = {activation_}});
  }
};

}  // namespace

SimpleRNN::SimpleRNN(const SimpleRNNOptions& options)
    : LayerHandle(make_layer<SimpleRNNLayer>("SimpleRNN", options)) {}

extern const LayerDef simple_rnn_def;
const LayerDef simple_rnn_def{
    .class_name = "SimpleRNN",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<SimpleRNNLayer>(
          read_fields<SimpleRNNOptions>(config));
    },
    .keras = kRecurrentKeras,
};

}  // namespace octet
