// Constants as values of the model, equal for all samples. Internal to
// io/onnx/import.
#pragma once

#include <string>
#include <vector>

#include "importer.h"

namespace octet::io::importing {

/// Converts float32 or bool numbers to a value with the axes of `beside`, to
/// which they must broadcast; their batch axis must have size 1.
View constant_beside(Conversion& c, const Tensor& numbers, const View& beside,
                     const char* suffix);

/// Converts float32 or bool numbers [...] to a value [N,...].
View repeated(Conversion& c, const Tensor& numbers, const char* suffix);

/// Reduces a constant of a file with a fixed batch to a single sample if it is
/// equal for all samples; returns other constants unchanged.
Tensor for_one_sample(const Conversion& c, const Tensor& numbers,
                      const View& beside);

/// Converts constants among these inputs to values with the axes of the largest
/// of the others.
void make_values(Conversion& c, const std::vector<int>& inputs);

/// Converts the constants of a node that consumes constants only to values, if
/// they are repeated for each sample.
void make_repeated_values(Conversion& c);

/// A constant output: the same value for each sample.
struct ConstantOutput {
  View view;
  bool batched;  ///< otherwise the value of a sample is the whole constant
};
/// Converts a constant to an output. The first axis is the batch if the file
/// fixes its size and all entries are equal. Throws: UnsupportedError for
/// scalars and for integers that float32 cannot represent.
ConstantOutput constant_output(const Constant& constant, int64_t batch,
                               const SymbolicTensor& input,
                               const std::string& name);

}  // namespace octet::io::importing
