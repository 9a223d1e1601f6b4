// Transfer of whole messages over a socket; handles signals, partial transfers
// and a closed peer. Internal to io/hdf5.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace octet::io {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

enum class Transfer { done, closed, late };

/// Without a deadline, they wait indefinitely. Sending to a closed socket
/// raises no SIGPIPE.
Transfer send_all(int socket, std::string_view bytes, Deadline deadline = {});
Transfer receive_all(int socket, char* to, size_t count,
                     Deadline deadline = {});

/// Precedes the bytes of a response.
struct ResponseHeader {
  /// The bytes of an error are its code, subject and text (to_wire()).
  enum class Status : uint64_t { value, elements, format_error, unsupported };

  Status status = Status::value;
  uint64_t bytes = 0;
};

}  // namespace octet::io
