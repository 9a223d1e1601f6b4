// Class numbers as shares of classes.
#pragma once

#include <cstdint>

#include <octet/runtime/dataset.h>

namespace octet::train {

/// The same samples with labels f32 [n,...,classes]: 1 for the class, 0 else;
/// what losses::categorical_cross_entropy and mixup work with. Reads when
/// asked. Throws: ValueError for classes < 1 or labels that are no classes,
/// here, and for a label outside [0, classes), when it is read.
Dataset one_hot(const Dataset& data, int64_t classes);

/// Shapes: i64 [n,...] -> f32 [n,...,classes]. Throws: ValueError for a label
/// outside [0, classes).
Tensor one_hot(const Tensor& labels, int64_t classes);

}  // namespace octet::train
