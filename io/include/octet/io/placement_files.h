// Specs and plans of quantization as JSON files. A loaded plan is applied with
// quant::apply(plan, model).
#pragma once

#include <filesystem>

#include <octet/quant/plan.h>
#include <octet/quant/spec.h>

namespace octet::io {

/// {"spec": [{"name": "conv1", "quantize_weight": false}, ...]}: of an entry
/// only the name is needed; "target" is layer (if nothing is said), pattern or
/// class. Throws: ValueError for names that are not UTF-8; IoError, and what
/// was in the file stays.
void save_spec(const quant::QuantizationSpec& spec,
               const std::filesystem::path& path);
/// Throws: IoError; FormatError with line and column for what is not JSON;
/// ValueError, NotFoundError naming the entry. All name the file.
quant::QuantizationSpec load_spec(const std::filesystem::path& path);

/// {"plan": [{"layer": "conv1", "site": "input", "index": 0, ...}, ...]}, with
/// everything that a point has. Throws: as save_spec(), load_spec().
void save_plan(const quant::QdqPlan& plan, const std::filesystem::path& path);
quant::QdqPlan load_plan(const std::filesystem::path& path);

}  // namespace octet::io
