// Model outputs as NumPy, CSV or JSON files, by file name.
#pragma once

#include <string>
#include <string_view>

#include <octet/runtime/tensor.h>

namespace octet::program {

/// Returns NumPy's name of an element type: "float32".
std::string_view type_name(DType type);

/// Writes the output `name` of a model, [N,...]:
/// - "y.csv": a header of column numbers, then a row per sample; columns are
///   "0_0", "0_1", ... for more than two axes;
/// - "y.json": an object with output, dtype, shape and values (nested lists,
///   null for NaN and infinity);
/// - other names, pipes and devices: NumPy .npy.
/// Numbers in text round-trip to the same bits.
/// Throws: IoError; ValueError for the extension of another format.
void write_results(const std::string& path, const std::string& name,
                   const Tensor& values);

}  // namespace octet::program
