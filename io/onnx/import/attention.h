// Attention, which exporters take apart: two products of matrices with a
// Softmax between them. What the first product makes is no value of a model;
// it waits for the second. Internal to io/onnx/import.
#pragma once

#include "importer.h"

namespace octet::io::importing {

/// MatMul of two computed values.
void convert_product(Conversion& c);
/// The product of the matrices that their last two axes hold. The samples of
/// both lie on the same axis.
View product_of(Conversion& c, const Value& a, const Value& b);
/// Whether the first input is the product of queries and keys; the Softmax over
/// it then waits as well.
bool convert_attention_weights(Conversion& c);
/// The same for the product of that input with a number.
bool convert_attention_scale(Conversion& c, int input, float factor);

}  // namespace octet::io::importing
