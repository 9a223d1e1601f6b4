// In-memory samples. Internal to runtime.
#pragma once

#include <memory>
#include <vector>

#include <octet/runtime/dataset.h>

namespace octet {

/// Shapes: inputs [n, ...] of f32, or of u8 that read() multiplies by `scale`;
/// labels i64 [n] or f32 [n, ...]. All inputs have names or none, and likewise
/// the labels. Throws: as the constructors of Dataset.
std::shared_ptr<const SampleSource> memory_source(
    std::vector<NamedTensor> inputs, std::vector<NamedTensor> labels,
    float scale);

}  // namespace octet
