// JSON of configurations, specs and plans.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <octet/quant/plan.h>
#include <octet/quant/spec.h>
#include <octet/runtime/config.h>

namespace octet::io {

// Conversion between Config and JSON.

/// Returns JSON indented by two spaces, entries in order; numbers round-trip
/// bit for bit. NaN and infinity, which JSON lacks, become null.
std::string to_json(const Config& config);

/// Parses JSON.
/// Throws: FormatError with line and column, also for nesting deeper than 100
/// and integers outside int64.
Config from_json(std::string_view text);

// Quantization specs and plans as JSON files. Apply a loaded plan with
// quant::apply(plan, model).

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
