// Top-1 accuracy for class labels and a model with one output [n,classes].
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

namespace octet::quant {

/// Returns the class of each sample; empty without class labels of at least two
/// classes.
/// Throws: ValueError with `subject` for labels out of range.
std::vector<int64_t> classes_of(std::string_view subject, const Model& model,
                                const Dataset& data);

/// Returns the share of samples with the largest output at their class.
/// Shapes: batches of outputs, each [n,classes].
double accuracy_of(std::span<const Tensor> outputs,
                   std::span<const int64_t> classes);

/// Returns `score` of a model on samples, by default its top-1 accuracy,
/// computed in batches.
/// Throws: ValueError with `subject` for a score that is NaN, or if accuracy is
/// undefined.
double score_samples(
    const char* subject, const Model& model, const Dataset& samples,
    const std::function<double(const Model&, const Dataset&)>& score,
    int64_t batch_size);

}  // namespace octet::quant
