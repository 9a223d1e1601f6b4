// Row sums in double precision: eight partial sums, which hide the latency of
// additions, added in a fixed order.
#pragma once

#include <cstdint>

namespace octet {

/// The sum of value(i) for i in [0, n).
template <class Value>
double row_sum(int64_t n, const Value& value) {
  double chains[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int64_t k = 0; k < 8; ++k) chains[k] += value(i + k);
  }
  for (int64_t k = 0; i + k < n; ++k) chains[k] += value(i + k);
  return ((chains[0] + chains[4]) + (chains[2] + chains[6])) +
         ((chains[1] + chains[5]) + (chains[3] + chains[7]));
}

}  // namespace octet
