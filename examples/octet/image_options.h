// --preprocess, --resize, --crop and --pad: from image files to the inputs of a
// model.
#pragma once

#include <string>

#include <octet/io/resize.h>

#include "data_options.h"

namespace octet::program {

/// How images are resized: --resize, --crop and --pad, each in place of its
/// part of target.usual_resize.
/// Throws: ValueError for unknown values, and for both --crop and --pad.
io::Resize resize_for(const DataOptions& options, const DataTarget& target);

/// Warns of another resizing than the one that the model's file names.
void warn_of_other_resize(const DataOptions& options, const DataTarget& target);

/// "resize bilinear as Keras".
std::string resize_text(const DataOptions& options, const DataTarget& target);

/// "bytes as 'torch'", with the reason where it is a guess.
std::string bytes_text(const std::string& mode, const DataOptions& options,
                       const DataTarget& target);

}  // namespace octet::program
