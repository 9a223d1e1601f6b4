// Steps of octet qat, shared with octet optimize.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <octet/io/onnx.h>
#include <octet/layers/model.h>
#include <octet/train/evaluate.h>
#include <octet/train/qat_preset.h>

#include "calibration_options.h"
#include "data_options.h"
#include "export_options.h"
#include "fine_tuning.h"
#include "loss_options.h"
#include "placement_options.h"
#include "read_model.h"
#include "recipe_options.h"
#include "training_options.h"

namespace octet::program {

struct QatOptions {
  ModelSource model;
  DataOptions data;
  PlacementOptions placement;
  ExportOptions file;
  TrainingOptions training;
  std::string preset = "int8";
  std::string scales;  // empty: from the preset
  /// Calibration. Method "": from the preset.
  CalibrationChoice calibration = {.method = ""};
  RecipeSwitches recipe;
  std::string teacher;  // "self", a model, or "": labels
  int64_t trained_epochs = 30;
  double trained_rate = 0;         // 0: from the model file
  int64_t freeze_batch_norm = -1;  // -1: from the preset
  double accuracy = -1;            // negative: not given
  bool accept = false;
  bool last_epoch = false;
  std::string output;
  bool json = false;
};

/// An evaluation and its name in the report.
struct Figures {
  std::string what;
  train::Evaluation evaluation;
};

/// Result of fine_tuned().
struct QatRun {
  Model given;
  Model tuned;
  Measured by;
  /// float (unless given with Q/DQ), start, last epoch, selected
  std::vector<Figures> figures;
  Outcome outcome = {};
  io::OnnxExportOptions form = {};  ///< of the exported file
  Dataset evaluation_data;
  std::string start = {};  ///< "calibrated", or "given" for a model with Q/DQ
  bool has_validation = false;
  int64_t epochs = 0;
  double rate = 0;
};

/// Quantizes and calibrates the model unless it has Q/DQ, and trains it on the
/// labels or the teacher's outputs. Reports progress unless `o.json`. Sets
/// defaults of policy and file format.
/// Throws: as read_model(), open_data(), fit(); ValueError for options out of
/// range.
QatRun fine_tuned(QatOptions& o);

/// Writes the model to `o.output`. Returns the report.
std::string write_model(const QatOptions& o, const Model& model,
                        const io::OnnxExportOptions& form);

}  // namespace octet::program
