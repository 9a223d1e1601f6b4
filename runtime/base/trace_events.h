// Events of system.h: where they are written, and the layer that they
// belong to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <octet/runtime/system.h>

namespace octet::diagnosis {

/// Nanoseconds of a steady clock.
int64_t now();

/// Name of the current LayerScope of this thread, or "".
const std::string& current_layer();

/// A computation with a duration.
struct TimedEvent {
  std::string_view category;  ///< "op", "gradient", "step" or "layer"
  std::string_view name;
  std::string_view layer = {};
  std::string_view shape = {};
  int64_t begin = 0, end = 0;  ///< now()
};
void write_event(const TimedEvent& event);
/// Writes an event without a duration.
void write_event(std::string_view category, std::string_view name,
                 std::string_view detail);

/// Reports a buffer of `bytes` (negative: freed).
void note_alloc(int64_t bytes) noexcept;

/// End of the latest op or layer of this thread: ops have no own timers, they
/// begin where the previous op ended.
int64_t& latest_end();

/// Opens the trace file, or closes it for "". Throws: IoError.
void set_trace_file(const std::string& name);

/// "conv2d of layer 'stem'", or "conv2d" without a layer.
std::string op_of_layer(std::string_view op, const std::string& layer);

}  // namespace octet::diagnosis
