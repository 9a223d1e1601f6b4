#include <octet/layers/recurrent.h>
#include <octet/runtime/error.h>

#include "base/make_layer.h"
#include "recurrent/recurrent_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, LSTMOptions& o) {
  recurrent_fields(v, o);
  v("recurrent_activation", o.recurrent_activation);
  v("unit_forget_bias", o.unit_forget_bias);
  v.extra("return_cell", o.return_cell, false);
}

namespace {

class LSTMLayer final : public RecurrentLayer<LSTMOptions, 4> {
 public:
  explicit LSTMLayer(const LSTMOptions& options)
      : RecurrentLayer(options),
        gates_(find_cell_function("recurrent_activation",
                                  o_.recurrent_activation)) {}

  std::string class_name() const override { return "LSTM"; }
  Config config() const override { return write_fields(o_); }

  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    Variable x = products(context, inputs[0]);
    if (bias() != nullptr) x = bias_add(x, context.read(*bias()));
    RecurrentOptions options = cell_options();
    options.recurrent_activation = gates_;
    options.return_cell = o_.return_cell;
    const RecurrentInputs further = more(inputs);
    return select_steps(lstm(x, recurrent_kernel(context), options, further),
                        further.mask, form());
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    return emit_as(context, inputs,
                   {.op = "LSTM",
                    .gates = {0, 3, 1, 2},
                    .functions = {gates_, activation_, activation_}});
  }

 protected:
  ParameterOptions bias_options() const override {
    if (!o_.unit_forget_bias) return {};
    return {.first_one = o_.units, .ones = o_.units};
  }

 private:
  CellFunction gates_;
};

}  // namespace

LSTM::LSTM(const LSTMOptions& options)
    : LayerHandle(make_layer<LSTMLayer>("LSTM", options)) {}

extern const LayerDef lstm_def;
const LayerDef lstm_def{
    .class_name = "LSTM",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<LSTMLayer>(read_fields<LSTMOptions>(config));
    },
    .keras = kRecurrentKeras,
};

}  // namespace octet
