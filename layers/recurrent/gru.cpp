#include <octet/layers/recurrent.h>
#include <octet/runtime/error.h>

#include "base/make_layer.h"
#include "recurrent/recurrent_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, GRUOptions& o) {
  recurrent_fields(v, o);
  v("recurrent_activation", o.recurrent_activation);
  v("reset_after", o.reset_after);
}

namespace {

class GRULayer final : public RecurrentLayer<GRUOptions, 3> {
 public:
  explicit GRULayer(const GRUOptions& options)
      : RecurrentLayer(options),
        gates_(find_cell_function("recurrent_activation",
                                  o_.recurrent_activation)) {}

  std::string class_name() const override { return "GRU"; }
  Config config() const override { return write_fields(o_); }

  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    Variable x = products(context, inputs[0]);
    Variable of_states;
    if (bias() != nullptr) {
      const Variable all = context.read(*bias());
      if (o_.reset_after) {
        const Shape row{3 * o_.units};
        x = bias_add(x, reshape(slice(all, 0, 0, 1), row));
        of_states = reshape(slice(all, 0, 1, 1), row);
      } else {
        x = bias_add(x, all);
      }
    }
    RecurrentOptions options = cell_options();
    options.recurrent_activation = gates_;
    options.reset_after = o_.reset_after;
    const RecurrentInputs further = more(inputs);
    return select_steps(
        gru(x, recurrent_kernel(context), of_states, options, further),
        further.mask, form());
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    return emit_as(context, inputs,
                   {.op = "GRU",
                    .gates = {0, 1, 2},
                    .functions = {gates_, activation_},
                    .reset_after = o_.reset_after});
  }

 protected:
  Shape bias_shape() const override {
    if (o_.reset_after) return {2, 3 * o_.units};
    return {3 * o_.units};
  }

 private:
  CellFunction gates_;
};

}  // namespace

GRU::GRU(const GRUOptions& options)
    : LayerHandle(make_layer<GRULayer>("GRU", options)) {}

extern const LayerDef gru_def;
const LayerDef gru_def{
    .class_name = "GRU",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<GRULayer>(read_fields<GRUOptions>(config));
    },
    .keras = kRecurrentKeras,
};

}  // namespace octet
