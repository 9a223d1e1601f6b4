// one_hot: converts class indices to one-hot labels.
#pragma once

#include <cstdint>

#include <octet/runtime/dataset.h>

namespace octet::train {

/// Returns the dataset with one-hot labels f32 [n,...,classes], for
/// losses::categorical_cross_entropy and mixup. Labels are converted as they
/// are read. Throws: ValueError for classes < 1 or labels other than i64; when
/// read, for a label outside [0, classes).
Dataset one_hot(const Dataset& data, int64_t classes);

/// Returns 1 at the class index and 0 elsewhere.
/// Shapes: i64 [n,...] -> f32 [n,...,classes].
/// Throws: ValueError for a label outside [0, classes).
Tensor one_hot(const Tensor& labels, int64_t classes);

}  // namespace octet::train
