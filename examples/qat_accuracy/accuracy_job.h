// Trains a network of qat_accuracy and quantizes it in all variants.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>

#include <octet/io/data.h>
#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

#include "../common/checkpoint_options.h"
#include "accuracy_recipes.h"

namespace octet::program {

struct AccuracyJob {
  const recipes::Recipe& recipe;
  const io::TrainTest& data;
  uint64_t seed = 1;
  bool quick = false;         // 3 epochs
  std::filesystem::path out;  // folder for the files
  CheckpointOptions checkpoint;
};

// Accuracies in percent of the test images; nullopt if not measured.
using ScaleAccuracies = std::array<std::optional<double>, recipes::kScales>;
struct FormAccuracies {
  std::array<std::optional<double>, recipes::kForms> forms;
  ScaleAccuracies scales;
};

FormAccuracies run(const AccuracyJob& job);

// Returns the model with 4-bit weights from the PTQ pipeline.
Model climbed(const Model& model, const Dataset& data, bool patterns = false);

}  // namespace octet::program
