#include "event.h"

#include <algorithm>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include "crc32c.h"

namespace octet::io {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;
using google::protobuf::io::StringOutputStream;

constexpr size_t kBuckets = 30;

/// One message, written field by field.
class Message {
 public:
  void real(int field, double value) {
    write([&](CodedOutputStream& out) {
      WireFormatLite::WriteDouble(field, value, &out);
    });
  }
  void single(int field, float value) {
    write([&](CodedOutputStream& out) {
      WireFormatLite::WriteFloat(field, value, &out);
    });
  }
  void integer(int field, int64_t value) {
    write([&](CodedOutputStream& out) {
      WireFormatLite::WriteInt64(field, value, &out);
    });
  }
  /// Text or a message of its own.
  void bytes(int field, std::string_view value) {
    write([&](CodedOutputStream& out) {
      WireFormatLite::WriteBytes(field, std::string(value), &out);
    });
  }
  void packed(int field, const std::vector<double>& values) {
    std::string data;
    {
      StringOutputStream stream(&data);
      CodedOutputStream out(&stream);
      for (const double value : values) {
        WireFormatLite::WriteDoubleNoTag(value, &out);
      }
    }
    bytes(field, data);
  }

  const std::string& text() const { return text_; }

 private:
  template <class Write>
  void write(Write write_field) {
    StringOutputStream stream(&text_);
    CodedOutputStream out(&stream);
    write_field(out);
  }

  std::string text_;
};

// Field numbers. Source: tensorflow/core/util/event.proto and
// tensorflow/core/framework/summary.proto.
namespace event_field {
constexpr int kWallTime = 1;
constexpr int kStep = 2;
constexpr int kFileVersion = 3;
constexpr int kSummary = 5;
}  // namespace event_field
namespace summary_field {
constexpr int kValue = 1;
}
namespace value_field {
constexpr int kTag = 1;
constexpr int kSimpleValue = 2;
constexpr int kHistogram = 5;
}  // namespace value_field
namespace histogram_field {
constexpr int kMin = 1;
constexpr int kMax = 2;
constexpr int kCount = 3;
constexpr int kSum = 4;
constexpr int kSumSquares = 5;
constexpr int kBucketLimit = 6;
constexpr int kBucket = 7;
}  // namespace histogram_field

std::string summary_event(double wall_time, int64_t step,
                          const Message& value) {
  Message summary;
  summary.bytes(summary_field::kValue, value.text());
  Message event;
  event.real(event_field::kWallTime, wall_time);
  event.integer(event_field::kStep, step);
  event.bytes(event_field::kSummary, summary.text());
  return event.text();
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
  Message event;
  event.real(event_field::kWallTime, wall_time);
  event.bytes(event_field::kFileVersion, "brain.Event:2");
  return event.text();
}

std::string scalar_event(double wall_time, int64_t step, std::string_view tag,
                         float value) {
  Message scalar;
  scalar.bytes(value_field::kTag, tag);
  scalar.single(value_field::kSimpleValue, value);
  return summary_event(wall_time, step, scalar);
}

std::string histogram_event(double wall_time, int64_t step,
                            std::string_view tag, const Histogram& histogram) {
  Message message;
  message.real(histogram_field::kMin, histogram.min);
  message.real(histogram_field::kMax, histogram.max);
  message.real(histogram_field::kCount, histogram.count);
  message.real(histogram_field::kSum, histogram.sum);
  message.real(histogram_field::kSumSquares, histogram.sum_squares);
  message.packed(histogram_field::kBucketLimit, histogram.limits);
  message.packed(histogram_field::kBucket, histogram.counts);
  Message value;
  value.bytes(value_field::kTag, tag);
  value.bytes(value_field::kHistogram, message.text());
  return summary_event(wall_time, step, value);
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
