// Constants as values of the model, the same for every sample. Internal to
// io/onnx/import.
#pragma once

#include <string>
#include <vector>

#include "importer.h"

namespace octet::io::importing {

/// Float32 or bool numbers as a value with the axes of `beside`, over which
/// they broadcast: one along the axis of the samples, any along others.
View constant_beside(Conversion& c, const Tensor& numbers, const View& beside,
                     const char* suffix);

/// Float32 or bool numbers [...] as a value [N,...].
View repeated(Conversion& c, const Tensor& numbers, const char* suffix);

/// A constant of a file with a fixed number of samples, alike for all of them,
/// with one of them; others as they are.
Tensor for_one_sample(const Conversion& c, const Tensor& numbers,
                      const View& beside);

/// Constants among these inputs become values beside the largest of the others.
void make_values(Conversion& c, const std::vector<int>& inputs);

/// For a node that reads constants alone: those repeated for each sample become
/// values.
void make_repeated_values(Conversion& c);

/// A float32 constant that is repeated for each sample, as an output.
View constant_output(const Constant& constant, const SymbolicTensor& input,
                     const std::string& name);

}  // namespace octet::io::importing
