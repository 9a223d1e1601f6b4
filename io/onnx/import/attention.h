// Attention, which exporters decompose into two matrix products with a Softmax
// between them. The first product has no value in the model; its operands are
// deferred to the second. Internal to io/onnx/import.
#pragma once

#include "importer.h"

namespace octet::io::importing {

/// MatMul of two computed values.
void convert_product(Conversion& c);
/// Product of the matrices in the last two axes. Both operands must have the
/// batch at the same axis.
View product_of(Conversion& c, const ImportedValue& a, const ImportedValue& b);
/// If the first input is a product of queries and keys, defers the Softmax over
/// it as well and returns true.
bool convert_attention_weights(Conversion& c);
/// As above, for the product of that input with a number.
bool convert_attention_scale(Conversion& c, int input, float factor);

}  // namespace octet::io::importing
