// Code shared by LSTM, GRU and SimpleRNN.
#pragma once

#include <span>
#include <string>
#include <utility>

#include <octet/layers/custom_layer.h>
#include <octet/layers/recurrent.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"

namespace octet {

/// Returns the function of a cell. Throws: ValueError with the nearest names.
CellFunction find_cell_function(const char* option, const std::string& name);

/// Exports cells as an ONNX operator, whose operands are matrices [D*units,k]
/// of D gates in ONNX' order.
struct OnnxCell {
  const char* op;
  std::vector<int> gates;  ///< ONNX' gate i is gate gates[i] of Keras
  std::vector<CellFunction> functions;
  bool reset_after = false;  ///< GRU: attribute linear_before_reset
};

/// Options of a layer, for functions that all classes share.
struct SequenceForm {
  int64_t units = 0;
  bool backwards = false;
  bool return_sequences = false;
  bool flipped = false;      ///< sequences in order of computation
  bool zero_masked = false;  ///< outputs of masked steps are 0
  bool initial_state = false;
  bool return_cell = false;  ///< LSTM: h and c
};

/// Checks x [n,t,c], the initial states [n,units] and an optional mask [n,t].
/// Throws: ValueError for another number of inputs; ShapeError.
void check_recurrent_inputs(std::span<const Shape> inputs,
                            const SequenceForm& form, bool has_cell);

/// Returns the states and the mask among the inputs.
RecurrentInputs further_inputs(std::span<const Variable> inputs,
                               const SequenceForm& form, bool has_cell);
/// Returns the sequence or its last step, in order of computation.
Variable select_steps(const Variable& y, const Variable& mask,
                      const SequenceForm& form);

/// Exports a layer; `bias` [k*units] may be empty.
OnnxValue emit_cell(EmitContext& context, std::span<const OnnxValue> inputs,
                    const OnnxCell& cell, const SequenceForm& form,
                    const Parameter& kernel, const Parameter& recurrent,
                    const Parameter* bias);

/// Base of the classes: options of the same names, parameters, shapes.
template <class Options, int kGates>
class RecurrentLayer : public Layer {
 public:
  explicit RecurrentLayer(const Options& options)
      : o_(options),
        activation_(find_cell_function("activation", o_.activation)) {
    expect_count("units", o_.units);
    if (!(o_.dropout >= 0 && o_.dropout < 1)) {
      throw ValueError("out_of_range", "dropout",
                       fmt::format("must be in [0,1), got {}", o_.dropout));
    }
  }

  Shape output_shape(std::span<const Shape> inputs) const override {
    check_recurrent_inputs(inputs, form(), kGates == 4);
    const Shape& x = inputs[0];
    const int64_t size = form().return_cell ? 2 * o_.units : o_.units;
    if (o_.return_sequences) return {x[0], x[1], size};
    return {x[0], size};
  }

  void build(std::span<const Shape> inputs) override {
    const int64_t c = inputs[0][-1];
    const int64_t width = kGates * o_.units;
    kernel_ = add_parameter("kernel", {c, width},
                            {.initializer = o_.kernel_initializer,
                             .fan_in = c,
                             .fan_out = width,
                             .regularizer = o_.kernel_regularizer});
    recurrent_ = add_parameter("recurrent_kernel", {o_.units, width},
                               {.initializer = o_.recurrent_initializer,
                                .fan_in = o_.units,
                                .fan_out = width,
                                .regularizer = o_.recurrent_regularizer});
    if (o_.use_bias) {
      ParameterOptions options = bias_options();
      options.initializer = o_.bias_initializer;
      options.regularizer = o_.bias_regularizer;
      bias_ = add_parameter("bias", bias_shape(), options);
    }
  }

  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.activation = "";  // of a part of the cell only
    facts.sign = OutputSign::any;
    if (inputs.empty()) return facts;
    const Shape& x = inputs[0];
    facts.multiply_adds =
        product_of({x[1], x[2] + o_.units, kGates * o_.units});
    return facts;
  }

 protected:
  virtual Shape bias_shape() const { return {kGates * o_.units}; }
  virtual ParameterOptions bias_options() const { return {}; }

  SequenceForm form() const {
    SequenceForm form{.units = o_.units,
                      .backwards = o_.go_backwards,
                      .return_sequences = o_.return_sequences,
                      .flipped = o_.go_backwards && !o_.keep_order,
                      .zero_masked = o_.zero_output_for_mask,
                      .initial_state = o_.initial_state};
    if constexpr (kGates == 4) form.return_cell = o_.return_cell;
    return form;
  }
  RecurrentInputs more(std::span<const Variable> inputs) const {
    return further_inputs(inputs, form(), kGates == 4);
  }
  /// Returns the products of the inputs with the kernel, [n,t,gates*units].
  Variable products(const ForwardContext& context,
                    const Variable& input) const {
    Variable x = input;
    if (context.training && o_.dropout > 0) {
      x = dropout(x, o_.dropout, *context.rng, {x.shape()[0], 1, x.shape()[2]});
    }
    return dense(x, context.read(at(kernel_)));
  }
  Variable recurrent_kernel(const ForwardContext& context) const {
    return context.read(at(recurrent_));
  }
  const Parameter* bias() const { return o_.use_bias ? &at(bias_) : nullptr; }
  RecurrentOptions cell_options() const {
    return {.activation = activation_, .backwards = o_.go_backwards};
  }
  OnnxValue emit_as(EmitContext& context, std::span<const OnnxValue> inputs,
                    const OnnxCell& cell) const {
    return emit_cell(context, inputs, cell, form(), at(kernel_), at(recurrent_),
                     bias());
  }

  Options o_;
  CellFunction activation_;

 private:
  size_t kernel_ = 0;
  size_t recurrent_ = 0;
  size_t bias_ = 0;
};

/// Options that all classes have, in Keras' order.
template <class Visitor, class Options>
void recurrent_fields(Visitor& v, Options& o) {
  v("units", o.units);
  v("activation", o.activation);
  v("use_bias", o.use_bias);
  v("kernel_initializer", o.kernel_initializer);
  v("recurrent_initializer", o.recurrent_initializer);
  v("bias_initializer", o.bias_initializer);
  v("kernel_regularizer", o.kernel_regularizer);
  v("recurrent_regularizer", o.recurrent_regularizer);
  v("bias_regularizer", o.bias_regularizer);
  v("dropout", o.dropout);
  v("return_sequences", o.return_sequences);
  v("go_backwards", o.go_backwards);
  v.extra("keep_order", o.keep_order, false);
  v.extra("zero_output_for_mask", o.zero_output_for_mask, false);
  v.extra("initial_state", o.initial_state, false);
}

/// Converts options of older Keras versions.
/// Throws: UnsupportedError for options without an equivalent.
void upgrade_recurrent(Config& config);

/// LayerDef::keras of the classes.
inline constexpr KerasDef kRecurrentKeras{
    .renamed = {{{"output_dim", "units"},
                 {"inner_activation", "recurrent_activation"}}},
    .upgrade = upgrade_recurrent};

}  // namespace octet
