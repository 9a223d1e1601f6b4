// Layers with several inputs. Internal to io/onnx/import.
#pragma once

#include <functional>
#include <vector>

#include "importer.h"

namespace octet::io::importing {

/// A layer of several inputs, or a function of octet/layers/ops.h.
using JoinFunction =
    std::function<SymbolicTensor(const std::vector<SymbolicTensor>& inputs)>;

/// Sets the node's output to the function of these inputs, which must be values
/// and broadcast.
void join(Conversion& c, const JoinFunction& function,
          const std::vector<int>& inputs);
/// Sets the node's output to the concatenation of these inputs along an axis.
void concatenate(Conversion& c, const std::vector<int>& inputs, int64_t axis);
/// Returns the product of the matrices in the last two axes. Both operands must
/// have the batch at the same axis.
ImportedValue product_of(Conversion& c, const ImportedValue& a,
                         const ImportedValue& b);
std::vector<int> all_inputs(const Conversion& c);
/// Returns the index of the constant of two inputs; -1 if there is none.
int constant_input(const Conversion& c);

}  // namespace octet::io::importing
