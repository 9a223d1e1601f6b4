#include "trace_events.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/detail/printable.h>
#include <octet/runtime/detail/thread_modes.h>
#include <octet/runtime/error.h>

namespace octet::diagnosis {
namespace {

// Chrome's JSON array of events. Viewers accept a file without its end, as
// after a crash.
class TraceFile {
 public:
  ~TraceFile() {
    detail::diagnostic_bits = 0;
    close();
  }

  bool is_open() const { return file_ != nullptr; }
  void open(const std::string& name) {
    std::FILE* const file = std::fopen(name.c_str(), "w");
    if (file == nullptr) {
      throw IoError(
          "cannot_write", name,
          fmt::format("cannot write the trace: {}", std::strerror(errno)));
    }
    close();
    file_ = file;
    name_ = name;
    first_ = true;
  }
  void write(const std::string& event) {
    std::fputs((first_ ? "[\n" : ",\n"), file_);
    std::fputs(event.c_str(), file_);
    first_ = false;
  }
  void close() noexcept {
    if (file_ == nullptr) return;
    std::fputs(first_ ? "[]\n" : "\n]\n", file_);
    const bool failed = std::ferror(file_) != 0;
    if (std::fclose(std::exchange(file_, nullptr)) != 0 || failed) {
      std::fprintf(stderr, "warning: %s: the trace is incomplete\n",
                   name_.c_str());
    }
  }

 private:
  std::FILE* file_ = nullptr;
  std::string name_;
  bool first_ = true;
};

std::mutex trace_mutex;

// Completed at the end of the program.
TraceFile& trace_file() {
  static TraceFile file;
  return file;
}

thread_local int64_t latest_end_of_thread = 0;

int thread_number() {
  static std::atomic<int> count{0};
  thread_local const int number = ++count;
  return number;
}

double microseconds(int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e3;
}

std::string json_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string json_event(std::string_view category, std::string_view name,
                       char phase, int64_t time, const std::string& more) {
  return fmt::format(
      R"({{"name":{},"cat":"{}","ph":"{}","ts":{:.3f},"pid":1,"tid":{}{}}})",
      json_text(name), category, phase, microseconds(time), thread_number(),
      more);
}

void write_line(const std::string& line) {
  const std::lock_guard lock(trace_mutex);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

std::atomic<int64_t> bytes_in_use{0};

}  // namespace

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

const std::string& current_layer() {
  static const std::string kNone;
  const std::string* const layer = thread_modes().layer;
  return layer == nullptr ? kNone : *layer;
}
int64_t& latest_end() { return latest_end_of_thread; }

void write_event(const TimedEvent& e) {
  {
    const std::lock_guard lock(trace_mutex);
    if (trace_file().is_open()) {
      const std::string args =
          fmt::format(R"(,"dur":{:.3f},"args":{{"layer":{},"shape":{}}})",
                      microseconds(e.end - e.begin), json_text(e.layer),
                      json_text(e.shape));
      return trace_file().write(
          json_event(e.category, e.name, 'X', e.begin, args));
    }
  }
  if (e.category == "layer") return;
  write_line(fmt::format(
      "{} {}{}{} {:.3f} ms\n", e.category, e.name,
      e.layer.empty() ? "" : fmt::format(" '{}'", printable(e.layer)),
      e.shape.empty() ? "" : fmt::format(" {}", e.shape),
      microseconds(e.end - e.begin) / 1e3));
}

void write_event(std::string_view category, std::string_view name,
                 std::string_view detail) {
  {
    const std::lock_guard lock(trace_mutex);
    if (trace_file().is_open()) {
      return trace_file().write(
          json_event(category, name, 'i', now(),
                     fmt::format(R"(,"s":"t","args":{{"detail":{}}})",
                                 json_text(detail))));
    }
  }
  write_line(
      fmt::format("{} {}: {}\n", category, printable(name), printable(detail)));
}

void note_alloc(int64_t bytes) noexcept {
  // Buffers from before the trace count when they are freed.
  const int64_t in_use = std::max<int64_t>(bytes_in_use += bytes, 0);
  try {
    {
      const std::lock_guard lock(trace_mutex);
      if (trace_file().is_open()) {
        return trace_file().write(
            json_event("alloc", "memory", 'C', now(),
                       fmt::format(R"(,"args":{{"bytes":{}}})", in_use)));
      }
    }
    write_line(fmt::format("{} {} bytes, {} in use\n",
                           bytes < 0 ? "free" : "alloc", std::abs(bytes),
                           in_use));
  } catch (...) {
    // A trace is not worth an error.
  }
}

void set_trace_file(const std::string& name) {
  const std::lock_guard lock(trace_mutex);
  if (name.empty()) {
    trace_file().close();
  } else {
    trace_file().open(name);
  }
  bytes_in_use = 0;
}

std::string op_of_layer(std::string_view op, const std::string& layer) {
  return layer.empty() ? std::string(op)
                       : fmt::format("{} of layer '{}'", op, layer);
}

}  // namespace octet::diagnosis

namespace octet {

void check_finite(const Tensor& x, std::string_view subject) {
  if (x.empty() || x.dtype() != DType::f32) return;
  const auto elements = x.f32();
  const auto bad = std::ranges::find_if_not(
      elements, [](float value) { return std::isfinite(value); });
  if (bad == elements.end()) return;
  throw ValueError(
      "not_finite", subject,
      fmt::format("element {} of {} is {}", bad - elements.begin(),
                  x.shape().to_string(),
                  std::isnan(*bad) ? "NaN" : (*bad > 0 ? "inf" : "-inf")));
}

void LayerScope::enter(const std::string& layer) {
  entered_ = true;
  before_ = std::exchange(thread_modes().layer, &layer);
  begin_ = diagnosis::now();
  diagnosis::latest_end() = begin_;
}

void LayerScope::leave() noexcept {
  const int64_t end = diagnosis::now();
  try {
    if (traces(TraceKind::ops)) {
      diagnosis::write_event({.category = "layer",
                              .name = diagnosis::current_layer(),
                              .layer = diagnosis::current_layer(),
                              .begin = begin_,
                              .end = end});
    }
  } catch (...) {
    // A trace is not worth an error.
  }
  diagnosis::latest_end() = end;
  thread_modes().layer = before_;
}

}  // namespace octet
