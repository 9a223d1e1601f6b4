// Steps of octet quantize, shared with octet optimize and octet autotune.
#pragma once

#include <cstdint>
#include <string>

#include <octet/io/data.h>
#include <octet/io/onnx.h>
#include <octet/layers/model.h>
#include <octet/quant/optimize.h>
#include <octet/runtime/config.h>
#include <octet/runtime/dataset.h>

#include "calibration_options.h"
#include "data_options.h"
#include "engine_files.h"
#include "export_options.h"
#include "placement_options.h"
#include "read_model.h"
#include "recipe_options.h"

namespace octet::program {

/// Value of QuantizeOptions::validation: a quarter of the samples, unless the
/// data has a test part. open_inputs() replaces it.
inline constexpr const char* kHeldOutUnlessTest = "unless-test";

struct QuantizeOptions {
  ModelSource model;
  PlacementOptions placement;
  ExportOptions file;
  EngineOptions engine;
  std::string output;
  DataOptions data;
  CalibrationChoice calibration;
  RecipeSwitches recipe;
  double mean_bits = 0;  // 0: not given
  bool drop_quantizers = false;
  bool pipeline = false;
  double target = -1;      // negative: not given
  std::string validation;  // share of the samples; "": the data's test part
  int64_t seed = 1;        // of the split and of the methods' samples
  int64_t requested_samples = 0;  // --samples, which open_inputs() consumes
  bool keep_unusual = false;
  bool accept = false;
  bool json = false;

  /// Whether weights have fewer than 8 bits.
  bool few_bits() const;
};

/// Model and data of a command, and the samples for calibration.
struct QuantizeInputs {
  Model model;
  DataTarget target;
  io::OpenedData opened;
  std::string preprocess;  ///< preprocessing mode to store in the file
  std::string takes;       ///< preprocessing mode of the model's inputs
  Dataset all;             ///< samples for the model's inputs
  Dataset calibration;     ///< part of `all`, without unusual samples
};

/// Checks the options, reads the model and opens the data. Sets defaults of
/// policy, file format, validation and number of samples. Adds ignored samples
/// to `figures`, for --json. Throws: as read_model(), open_data(); ValueError
/// for options out of range.
QuantizeInputs open_inputs(QuantizeOptions& o, Config& figures);

/// Returns options of quant::quantize_with() that place Q/DQ by `o`, with
/// the number format and the float layers of the recipe. `report` receives text
/// of --mean-bits, and `figures` its JSON. The arguments must outlive the
/// result.
quant::RecipeOptions recipe_options(const QuantizeOptions& o,
                                    const Dataset& data, std::string& report,
                                    Config& figures);

/// Returns whether equalization is tried: to INT8 calibrated by the automatic
/// choice of a method, unless an option decides about equalization.
bool may_equalize(const QuantizeOptions& o);

/// Quantizes by the post-training methods of the options, also with equalized
/// channels if may_equalize(). Adds the results to `report` and `figures`.
Model quantized_by_recipe(const QuantizeOptions& o, const QuantizeInputs& in,
                          std::string& report, Config& figures);

/// Returns the regular expression of --exclude for exactly this layer.
std::string exact_layer(const std::string& name);

/// Returns `o` with the number format, methods and float layers of a recipe.
QuantizeOptions with_recipe(QuantizeOptions o, const quant::Recipe& recipe);

/// Report of the written files, as text and as fields of --json.
struct Written {
  std::string text;
  Config figures;
};

/// Writes the quantized model to `o.output`.
Written write_quantized(const Model& int8, const QuantizeOptions& o,
                        const QuantizeInputs& inputs);
/// Returns the size of the file that write_quantized() writes.
int64_t quantized_bytes(const Model& int8, const QuantizeOptions& o,
                        const QuantizeInputs& inputs);

}  // namespace octet::program
