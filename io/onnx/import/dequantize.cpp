// DequantizeLinear: quantized values, and the ReLU that a pair replaces.
#include <cmath>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <octet/layers/activation.h>
#include <octet/runtime/quantization.h>

#include "converters.h"
#include "importer.h"
#include "layer_names.h"
#include "quantizers.h"

namespace octet::io::importing {

namespace {

// Judged by the layers. Inputs of the model are assumed to be within the file's
// range.
bool may_be_negative(const GraphNode& node) {
  std::vector<const GraphNode*> open{&node};
  std::unordered_set<const GraphNode*> seen;
  while (!open.empty()) {
    const GraphNode* next = open.back();
    open.pop_back();
    const OutputSign sign = next->facts().sign;
    if (next->inputs.empty() || sign == OutputSign::non_negative) continue;
    if (sign == OutputSign::any) return true;
    for (const SymbolicTensor& input : next->inputs) {
      if (seen.insert(input.node.get()).second) {
        open.push_back(input.node.get());
      }
    }
  }
  return false;
}

// "relu" for "relu/output", "/relu/Relu" for "/relu/Relu_output_0".
std::string producer_of(const std::string& value) {
  for (const std::string_view suffix : {"/output", "_output_0"}) {
    if (value.ends_with(suffix)) {
      return value.substr(0, value.size() - suffix.size());
    }
  }
  return value;
}

// Whether the range ends at 6: the pair replaces a ReLU6.
bool ends_at_six(const ActivationQuantParams& qparams) {
  const float end = qparams.scale * static_cast<float>(qparams.config.high());
  return std::abs(end - 6) < 1e-5f;
}

}  // namespace

ImportedValue Conversion::rectified(const ImportedValue& x,
                                    const ActivationQuantParams& qparams) {
  ReLU relu;
  if (ends_at_six(qparams)) relu = ReLU({.max_value = 6});
  const std::string name =
      importer_.unique(layer_name_of(producer_of(qparams.name)));
  relu->set_name(name);
  ++importer_.rectified_;
  const SymbolicTensor y = call(relu.layer(), {x.tensor});
  if (x.qparams != nullptr)
    importer_.sites_.push_back(site_of(name, 0, *x.qparams));
  for (const size_t index : node_.origin) {
    graph().report().nodes[index].layer = name;
  }
  return {y, x.layout};
}

// A pair after a pair with equal rounding has no effect.
void Conversion::quantize(
    std::shared_ptr<const ActivationQuantParams> qparams) {
  ImportedValue x = value(0);
  if (qparams != nullptr && qparams->rectifies() &&
      (x.qparams == nullptr || !x.qparams->rectifies()) &&
      may_be_negative(*x.tensor.node)) {
    x = rectified(x, *qparams);
  }
  if (options().drop_quantizers) qparams = nullptr;
  if (qparams == nullptr || x.qparams == nullptr) {
    if (qparams != nullptr) x.qparams = std::move(qparams);
    return set_output(std::move(x));
  }
  ActivationQuantParams same = *qparams;
  same.name = x.qparams->name;
  if (same == *x.qparams) return set_output(std::move(x));
  set_output({add(Activation({.activation = "linear"}), {stored(0)}), x.layout,
              std::move(qparams)});
}

void convert_dequantize(Conversion& c) {
  c.report("quantizer");
  const auto qparams = c.qparams();
  if (!c.is_constant(0)) return c.quantize(qparams);
  // A constant for each sample, such as a class token, is rounded at import.
  Constant rounded = *c.graph().constant(c.proto().input(0));
  if (qparams != nullptr && !c.options().drop_quantizers) {
    rounded.value = rounded.value.clone();
    for (float& x : rounded.value.f32()) {
      x = qparams->scale *
          quantize(x, qparams->scale, qparams->config.qparams());
    }
  }
  c.graph().set_constant(c.output(), std::move(rounded));
}

}  // namespace octet::io::importing
