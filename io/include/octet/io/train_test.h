#pragma once

#include <octet/runtime/dataset.h>

namespace octet::io {

/// A data set that comes in two parts.
struct TrainTest {
  Dataset train;
  Dataset test;
};

}  // namespace octet::io
