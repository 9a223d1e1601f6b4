// Serialization of events and their records. Internal to io.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <octet/runtime/tensor.h>

namespace octet::io {

struct Histogram {
  double min = 0;
  double max = 0;
  double count = 0;
  double sum = 0;
  double sum_squares = 0;
  std::vector<double> limits;  ///< upper ends of the buckets
  std::vector<double> counts;
};

/// Shapes: any, f32, not empty, finite.
Histogram histogram_of(const Tensor& values);

// Event messages in protobuf's wire format.
std::string version_event(double wall_time);
std::string scalar_event(double wall_time, int64_t step, std::string_view tag,
                         float value);
std::string histogram_event(double wall_time, int64_t step,
                            std::string_view tag, const Histogram& histogram);

/// Returns length, CRC, message, CRC.
std::string record_of(std::string_view message);

}  // namespace octet::io
