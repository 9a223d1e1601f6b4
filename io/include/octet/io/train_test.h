#pragma once

#include <octet/runtime/dataset.h>

namespace octet::io {

/// A data set with training and test parts.
struct TrainTest {
  Dataset train;
  Dataset test;
};

}  // namespace octet::io
