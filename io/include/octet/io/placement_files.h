// Quantization specs and plans as JSON files. Apply a loaded plan with
// quant::apply(plan, model).
#pragma once

#include <filesystem>

#include <octet/quant/plan.h>
#include <octet/quant/spec.h>

namespace octet::io {

/// Writes {"spec": [{"name": "conv1", "quantize_weight": false}, ...]}. Only
/// the name is required; "target" is layer (default), pattern or class.
/// Throws: ValueError for names that are not UTF-8; IoError, with an existing
/// file unchanged.
void save_spec(const quant::QuantizationSpec& spec,
               const std::filesystem::path& path);
/// Loads a spec from a JSON file (spec_from_config()).
/// Throws: IoError; FormatError with line and column for invalid JSON;
/// ValueError, NotFoundError naming the entry. All name the file.
quant::QuantizationSpec load_spec(const std::filesystem::path& path);

/// Writes {"plan": [{"layer": "conv1", "site": "input", "index": 0, ...},
/// ...]}, with all fields of each point.
/// Throws: as save_spec(), load_spec().
void save_plan(const quant::QdqPlan& plan, const std::filesystem::path& path);
quant::QdqPlan load_plan(const std::filesystem::path& path);

}  // namespace octet::io
