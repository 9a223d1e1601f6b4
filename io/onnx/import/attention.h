// Products of two values, and attention, which recompose() finds. Internal to
// io/onnx/import.
#pragma once

#include "importer.h"

namespace octet::io::importing {

/// MatMul of two computed values.
void convert_product(Conversion& c);
/// Product of the matrices in the last two axes. Both operands must have the
/// batch at the same axis.
ImportedValue product_of(Conversion& c, const ImportedValue& a,
                         const ImportedValue& b);

}  // namespace octet::io::importing
