// The outputs of a model as a file: NumPy, CSV or JSON, as its name says.
#pragma once

#include <string>
#include <string_view>

#include <octet/runtime/tensor.h>

namespace octet::program {

/// Returns NumPy's name of an element type: "float32".
std::string_view type_name(DType type);

/// Writes the output `name` of a model, [N,...]:
/// - "y.csv": a header of column numbers, then a row for each sample; of more
///   than two axes the columns are "0_0", "0_1", ...;
/// - "y.json": an object of output, dtype, shape and values, lists in lists,
///   where NaN and infinity are null;
/// - other names, pipes and devices: NumPy's .npy.
/// Numbers of text read back as the same bits. Throws: IoError; ValueError for
/// the extension of another format.
void write_results(const std::string& path, const std::string& name,
                   const Tensor& values);

}  // namespace octet::program
