// --preprocess, --resize, --crop and --pad: preprocessing of image files.
#pragma once

#include <string>

#include <octet/io/image.h>

#include "data_options.h"

namespace octet::program {

/// Returns the resizing: target.usual_resize with --resize, --crop and --pad
/// each replacing its part.
/// Throws: ValueError for unknown values, and for --crop with --pad.
io::Resize resize_for(const DataOptions& options, const DataTarget& target);

/// Warns if the resizing differs from the model file.
void warn_of_other_resize(const DataOptions& options, const DataTarget& target);

/// Returns "resize bilinear as Keras".
std::string resize_text(const DataOptions& options, const DataTarget& target);

/// Returns "bytes as 'torch'", with a note if the mode is a guess.
std::string bytes_text(const std::string& mode, const DataOptions& options,
                       const DataTarget& target);

}  // namespace octet::program
