#include "socket.h"

#include <algorithm>
#include <cerrno>

#include <poll.h>
#include <sys/socket.h>

namespace octet::io {
namespace {

using Clock = std::chrono::steady_clock;

/// Waits until the socket is ready, has failed, or the deadline has passed.
Transfer wait_for(int socket, short event, const Deadline& deadline) {
  while (true) {
    int milliseconds = -1;
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(
          *deadline - Clock::now());
      if (left.count() <= 0) return Transfer::late;
      constexpr int64_t kHour = 3'600'000;
      milliseconds = static_cast<int>(std::min<int64_t>(left.count(), kHour));
    }
    pollfd entry{.fd = socket, .events = event, .revents = 0};
    const int ready = poll(&entry, 1, milliseconds);
    if (ready > 0) return Transfer::done;
    if (ready < 0 && errno != EINTR) return Transfer::closed;
  }
}

/// Calls `move`, which transfers a part and returns its size, until `count`
/// bytes are transferred.
template <class Move>
Transfer transfer(int socket, short event, size_t count,
                  const Deadline& deadline, Move move) {
  for (size_t done = 0; done < count;) {
    const ssize_t moved = move(done);
    if (moved > 0) {
      done += static_cast<size_t>(moved);
    } else if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      const Transfer ready = wait_for(socket, event, deadline);
      if (ready != Transfer::done) return ready;
    } else if (moved == 0 || errno != EINTR) {
      return Transfer::closed;
    }
  }
  return Transfer::done;
}

}  // namespace

Transfer send_all(int socket, std::string_view bytes, Deadline deadline) {
  return transfer(socket, POLLOUT, bytes.size(), deadline, [&](size_t done) {
    return send(socket, bytes.data() + done, bytes.size() - done,
                MSG_NOSIGNAL | MSG_DONTWAIT);
  });
}

Transfer receive_all(int socket, char* to, size_t count, Deadline deadline) {
  return transfer(socket, POLLIN, count, deadline, [&](size_t done) {
    return recv(socket, to + done, count - done, MSG_DONTWAIT);
  });
}

}  // namespace octet::io
