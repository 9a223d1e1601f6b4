// Neighbouring entries of an axis. Internal to io/onnx/import.
#pragma once

#include <string>

#include "importer.h"

namespace octet::io::importing {

/// Entries first, first + step, ..., `count` of them, of an ONNX axis.
struct Cut {
  size_t axis = 0;
  int64_t first = 0;
  int64_t count = 0;
  int64_t step = 1;
};

/// The part of the features of a Dense layer that the axis is, if it is one and
/// nothing else: packed queries, keys and values.
bool is_dense_output(const Value& x, const Cut& cut);

/// These entries alone; of a Dense layer's outputs by a layer that has no
/// others. Throws: UnsupportedError for an axis of samples, or entries that it
/// has not.
View cut_of(Conversion& c, const Value& x, const Cut& cut,
            const std::string& suffix = "");

}  // namespace octet::io::importing
