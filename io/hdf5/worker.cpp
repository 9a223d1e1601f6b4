#include "worker.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <octet/runtime/error.h>

#include "library.h"
#include "limit_checks.h"
#include "wire.h"
#include "worker_process.h"

namespace octet::io {
namespace {

using Clock = std::chrono::steady_clock;
using Status = ResponseHeader::Status;

constexpr uint64_t kLongestValue = uint64_t{1} << 28;
constexpr uint64_t kLongestError = uint64_t{1} << 16;

// The allocator of AddressSanitizer (GCC 12) has no handlers for fork(): a
// child that is created while another thread allocates hangs in its first
// malloc(). Threads of the pool allocate as they start, so this delay lets them
// finish starting.
void wait_for_new_threads() {
#ifdef __SANITIZE_ADDRESS__
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
#endif
}

[[noreturn]] void fail_to_start() {
  throw IoError(
      "process_failed", "HDF5 file",
      fmt::format("cannot start a worker process: {}. Hint: if you trust the "
                  "file, set FileLimits.isolation = Isolation::none",
                  std::strerror(errno)));
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("the HDF5 library crashed on this file (signal {})",
                       WTERMSIG(status));
  }
  return fmt::format(
      "the HDF5 worker process exited while reading (exit code {})",
      WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

}  // namespace

template <class Body>
auto Hdf5Worker::timed(Body body) {
  struct Spent {
    Hdf5Worker& worker;
    Clock::time_point start = Clock::now();
    ~Spent() { worker.time_left_ -= Clock::now() - start; }
  };
  const Spent spent{*this};
  deadline_ = deadline_in(time_left_);
  return body();
}

// Takes `contents` by value to free them in the parent when it returns.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
Hdf5Worker::Hdf5Worker(std::string contents, const FileLimits& limits,
                       Hdf5Hook before_response)
    : time_limit_(limits.time_limit), time_left_(limits.time_limit) {
  check_limits(limits);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    fail_to_start();
  }
  {
    // Locked so that no other thread is inside the HDF5 library during fork().
    const std::scoped_lock lock(hdf5_mutex());
    wait_for_new_threads();
    const pid_t parent = getpid();
    process_ = fork();
    if (process_ == 0) {
      run_worker(ends[1], parent, contents, limits, before_response);
    }
  }
  close(ends[1]);
  socket_ = ends[0];
  if (process_ < 0) {
    close(socket_);
    fail_to_start();
  }
  try {
    timed([&] { receive_text(receive_header().bytes, kLongestValue); });
  } catch (...) {
    stop();
    throw;
  }
}

Hdf5Worker::~Hdf5Worker() { stop(); }

int Hdf5Worker::stop() {
  if (process_ < 0) return 0;
  close(socket_);
  int status = 0;
  // If the program waits for all its children, this one may already be reaped
  // and its process id reused: kill() only a child that is still running.
  pid_t waited = waitpid(process_, &status, WNOHANG);
  if (waited == 0) {
    kill(process_, SIGKILL);
    do {
      waited = waitpid(process_, &status, 0);
    } while (waited < 0 && errno == EINTR);
  }
  process_ = -1;
  return waited > 0 ? status : 0;
}

void Hdf5Worker::fail(const FormatError& error) {
  failure_ = error;
  throw error;
}

void Hdf5Worker::check(Transfer transfer) {
  if (transfer == Transfer::done) return;
  const int status = stop();
  if (transfer == Transfer::late) {
    fail(FormatError("time_limit", "HDF5 file",
                     fmt::format("the HDF5 library took more than {} s. Hint: "
                                 "raise FileLimits.time_limit (--time-limit)",
                                 time_limit_)));
  }
  fail(FormatError("process_failed", "HDF5 file", how_it_ended(status)));
}

void Hdf5Worker::send(std::string_view bytes) {
  check(send_all(socket_, bytes, deadline_));
}

void Hdf5Worker::receive(char* to, size_t count) {
  check(receive_all(socket_, to, count, deadline_));
}

ResponseHeader Hdf5Worker::receive_header() {
  ResponseHeader header;
  receive(reinterpret_cast<char*>(&header), sizeof header);
  switch (header.status) {
    case Status::value:
    case Status::elements:
      return header;
    case Status::unsupported:
      throw UnsupportedError(receive_error(header));
    case Status::format_error:
      throw FormatError(receive_error(header));
  }
  stop();
  fail(
      FormatError("malformed_file", "HDF5 worker process", "unknown response"));
}

Error Hdf5Worker::receive_error(const ResponseHeader& header) {
  return error_from_wire(ErrorKind::format,
                         receive_text(header.bytes, kLongestError));
}

std::string Hdf5Worker::receive_text(uint64_t bytes, uint64_t most) {
  if (bytes > most) {
    stop();
    fail(FormatError("malformed_file", "HDF5 worker process",
                     fmt::format("response must have at most {} bytes, got {}",
                                 most, bytes)));
  }
  constexpr size_t kBlock = size_t{1} << 20;
  std::string text;
  while (text.size() < bytes) {  // allocates in proportion to the data received
    const size_t have = text.size();
    text.resize(have + std::min<size_t>(bytes - have, kBlock));
    receive(text.data() + have, text.size() - have);
  }
  return text;
}

void Hdf5Worker::send_request(const Hdf5Request& request) {
  if (process_ < 0) throw FormatError(failure_);
  const std::string bytes = to_wire(request);
  const uint64_t count = bytes.size();
  send({reinterpret_cast<const char*>(&count), sizeof count});
  send(bytes);
}

Config Hdf5Worker::respond(const Hdf5Request& request) {
  return timed([&] {
    send_request(request);
    const ResponseHeader header = receive_header();
    return value_from_wire(receive_text(header.bytes, kLongestValue));
  });
}

Tensor Hdf5Worker::read(const Hdf5Request& request) {
  return timed([&] {
    send_request(request);
    const ResponseHeader header = receive_header();
    const auto bytes =
        static_cast<uint64_t>(request.expected.size() * size_of(request.type));
    if (header.status != Status::elements || header.bytes != bytes) {
      stop();
      fail(FormatError("malformed_file", "HDF5 worker process",
                       fmt::format("response must have {} bytes, got {}", bytes,
                                   header.bytes)));
    }
    // The response proves that the dataset has the expected shape, so memory is
    // allocated only now.
    try {
      Tensor tensor(request.expected, request.type);
      receive(static_cast<char*>(tensor.raw()), bytes);
      return tensor;
    } catch (const std::bad_alloc&) {
      stop();  // the elements remain unread in the socket
      failure_ =
          FormatError("memory_limit", "HDF5 file", "does not fit into memory");
      throw;
    }
  });
}

}  // namespace octet::io
