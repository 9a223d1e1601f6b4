// Constants as values of the model, equal for all samples. Internal to
// io/onnx/import.
#pragma once

#include <string>
#include <vector>

#include "importer.h"

namespace octet::io::importing {

/// Returns a constant in the order of a sample of `axes`, the axes of `beside`,
/// with which it must broadcast. A constant of a file with a fixed batch that
/// is equal for all samples is reduced to a single sample. Throws:
/// UnsupportedError for a constant that differs between samples.
Tensor aligned(const Conversion& c, const Tensor& numbers,
               const ImportedValue& beside, const LayerAxes& axes);

/// Adds a layer with the float32 or bool values of a sample, the same for all.
Operand constant_operand(Conversion& c, const Tensor& sample,
                         const char* suffix);

/// Converts float32 or bool numbers [...] to a value [N,...].
ImportedValue repeated(Conversion& c, const Tensor& numbers,
                       const char* suffix);

/// Gives samples the axes of size 1 that broadcasting adds to these inputs.
void add_leading_axes(Conversion& c, const std::vector<int>& inputs);

/// Converts constants among these inputs to values with the axes of the largest
/// of the others.
void make_values(Conversion& c, const std::vector<int>& inputs);

/// Converts the constants of a node that consumes constants only to values, if
/// they are repeated for each sample.
void make_repeated_values(Conversion& c);

/// Converts a constant to an output. The first axis is the batch if the file
/// fixes its size and all entries are equal; otherwise the value of a sample is
/// the whole constant. Throws: UnsupportedError for scalars and for integers
/// that float32 cannot represent.
ImportedValue constant_output(const Constant& constant, int64_t batch,
                              const SymbolicTensor& input,
                              const std::string& name);

}  // namespace octet::io::importing
