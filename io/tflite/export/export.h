// Conversion of a model's graph to a .tflite file.
#pragma once

#include <octet/io/tflite.h>

#include "builder.h"

namespace octet::io::tflite {

/// Adds the model with folded batch normalization in the form of
/// quant::tflite_form().
/// Throws: as to_tflite().
void add_model(const Model& model, const TfliteOptions& options,
               FileBuilder& file);

}  // namespace octet::io::tflite
