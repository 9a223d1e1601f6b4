// Text of the numbers of a tensor in aligned columns, as in NumPy.
#pragma once

#include <string>
#include <vector>

namespace octet {

/// Formats floats with a common width. Source: FloatingFormat of NumPy 2.4,
/// numpy/_core/arrayprint.py.
class FloatColumn {
 public:
  /// Selects the notation and the width for `values`.
  FloatColumn(const std::vector<float>& values, int precision);
  /// Returns `x`, which is one of the values.
  std::string text(float x) const;

 private:
  std::string finite_text(float x) const;

  int precision_;
  bool scientific_ = false;
  size_t digits_ = 0;  // after the decimal point, in scientific notation
  size_t left_ = 0;    // width before the decimal point
  size_t right_ = 0;   // width after it
};

/// Returns a float by itself: "1.5", "1e+20".
std::string scalar_text(float x);

}  // namespace octet
