// Top-1 accuracy, where labels are classes and a model ends in [n,classes].
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

namespace octet::quant {

/// Classes of all samples; empty where labels do not tell any two apart.
/// Throws: ValueError beginning with `subject` for labels out of range.
std::vector<int64_t> classes_of(std::string_view subject, const Model& model,
                                const Dataset& data);

/// The share of samples whose largest output is their class.
/// Shapes: batches of outputs, each [n,classes].
double accuracy_of(std::span<const Tensor> outputs,
                   std::span<const int64_t> classes);

/// What `score` says of a model on samples or, if there is none, its top-1
/// accuracy, some samples at a time.
/// Throws: ValueError beginning with `subject` for a score that is NaN, and
/// where there is neither a score nor labels to have one.
double score_samples(
    const char* subject, const Model& model, const Dataset& samples,
    const std::function<double(const Model&, const Dataset&)>& score,
    int64_t batch_size);

}  // namespace octet::quant
