// Integers as float32, without rounding.
#pragma once

#include <string>

#include <octet/runtime/tensor.h>

namespace octet {

/// Returns i32 and i64 values as f32; other tensors unchanged.
/// Throws: ValueError with `subject` for a value beyond +-2^24, which float32
/// may not represent.
Tensor exact_floats(const Tensor& x, const std::string& subject);

}  // namespace octet
