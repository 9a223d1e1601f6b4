#include "event.h"

#include <algorithm>

#include <event.pb.h>

#include "crc32c.h"

namespace octet::io {
namespace {

constexpr size_t kBuckets = 30;

/// Returns an event whose summary has one value.
octet::tensorboard::Event summary_event(double wall_time, int64_t step,
                                        std::string_view tag) {
  octet::tensorboard::Event event;
  event.set_wall_time(wall_time);
  event.set_step(step);
  event.mutable_summary()->add_value()->set_tag(std::string(tag));
  return event;
}

void append_little_endian(std::string& text, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    text += static_cast<char>(value >> (8 * i) & 0xff);
  }
}

}  // namespace

Histogram histogram_of(const Tensor& values) {
  const auto x = values.f32();
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  Histogram result;
  result.min = double{*low};
  result.max = double{*high};
  result.count = static_cast<double>(x.size());
  const double width = (result.max - result.min) / double{kBuckets};
  const size_t buckets = width > 0 ? kBuckets : 1;
  result.counts.assign(buckets, 0.0);
  for (size_t i = 1; i < buckets; ++i) {
    result.limits.push_back(result.min + width * static_cast<double>(i));
  }
  result.limits.push_back(result.max);
  for (const float value : x) {
    result.sum += double{value};
    result.sum_squares += double{value} * double{value};
    const double place = width > 0 ? (double{value} - result.min) / width : 0;
    ++result.counts[std::min(static_cast<size_t>(place), buckets - 1)];
  }
  return result;
}

std::string version_event(double wall_time) {
  octet::tensorboard::Event event;
  event.set_wall_time(wall_time);
  event.set_file_version("brain.Event:2");
  return event.SerializeAsString();
}

std::string scalar_event(double wall_time, int64_t step, std::string_view tag,
                         float value) {
  auto event = summary_event(wall_time, step, tag);
  event.mutable_summary()->mutable_value(0)->set_simple_value(value);
  return event.SerializeAsString();
}

std::string histogram_event(double wall_time, int64_t step,
                            std::string_view tag, const Histogram& histogram) {
  auto event = summary_event(wall_time, step, tag);
  auto& message = *event.mutable_summary()->mutable_value(0)->mutable_histo();
  message.set_min(histogram.min);
  message.set_max(histogram.max);
  message.set_num(histogram.count);
  message.set_sum(histogram.sum);
  message.set_sum_squares(histogram.sum_squares);
  message.mutable_bucket_limit()->Add(histogram.limits.begin(),
                                      histogram.limits.end());
  message.mutable_bucket()->Add(histogram.counts.begin(),
                                histogram.counts.end());
  return event.SerializeAsString();
}

std::string record_of(std::string_view message) {
  std::string record;
  append_little_endian(record, message.size(), 8);
  append_little_endian(record, masked_crc32c(record), 4);
  record += message;
  append_little_endian(record, masked_crc32c(message), 4);
  return record;
}

}  // namespace octet::io
