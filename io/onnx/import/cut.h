// Slices of an axis. Internal to io/onnx/import.
#pragma once

#include <string>
#include <vector>

#include "importer.h"

namespace octet::io::importing {

/// Entries first, first + step, ..., `count` in total, of an axis of the file.
struct Cut {
  int64_t axis = 0;
  int64_t first = 0;
  int64_t count = 0;
  int64_t step = 1;
};

/// Whether the axis consists of outputs of a Dense layer alone, as for packed
/// queries, keys and values.
bool is_dense_output(const ImportedValue& x, const Cut& cut);

/// Returns slices of several axes; a slice of a Dense layer's outputs becomes a
/// smaller Dense layer. Throws: UnsupportedError for the batch axis or entries
/// out of range.
ImportedValue cut_of(Conversion& c, const ImportedValue& x,
                     const std::vector<Cut>& cuts,
                     const std::string& suffix = "");

}  // namespace octet::io::importing
