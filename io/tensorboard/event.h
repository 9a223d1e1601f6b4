// Serialization of TensorBoard's events (event.proto) and of the records that
// contain them. Internal to io.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <octet/runtime/tensor.h>

namespace octet::io {

/// Statistics and bucket counts of a tensor.
struct Histogram {
  double min = 0;
  double max = 0;
  double count = 0;
  double sum = 0;
  double sum_squares = 0;
  std::vector<double> limits;  ///< upper limits of the buckets
  std::vector<double> counts;  ///< elements in each bucket
};

/// Returns a histogram of 30 buckets of equal width from the smallest to the
/// largest value, or of one bucket if all values are equal. A value equal to a
/// limit is counted in the next bucket, the maximum in the last.
/// REQUIRES: `values` is float32, not empty and finite.
Histogram histogram_of(const Tensor& values);

// Each returns an Event message in protobuf's wire format. `wall_time` is in
// seconds since 1970.
std::string version_event(double wall_time);
std::string scalar_event(double wall_time, int64_t step, std::string_view tag,
                         float value);
std::string histogram_event(double wall_time, int64_t step,
                            std::string_view tag, const Histogram& histogram);

/// Returns the record of a message in the TFRecord format: length, masked
/// CRC-32C of the length, message, masked CRC-32C of the message.
std::string record_of(std::string_view message);

}  // namespace octet::io
