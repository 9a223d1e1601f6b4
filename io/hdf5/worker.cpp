#include "worker.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <octet/runtime/error.h>

#include "library.h"
#include "limit_checks.h"
#include "printable.h"
#include "wire.h"
#include "worker_process.h"

namespace octet::io {
namespace {

using Clock = std::chrono::steady_clock;
using Status = ResponseHeader::Status;

constexpr uint64_t kLongestValue = uint64_t{1} << 28;
constexpr uint64_t kLongestError = uint64_t{1} << 16;

[[noreturn]] void fail_to_start() {
  throw IoError(
      fmt::format("HDF5 file: cannot start a process that reads it: {}; "
                  "without isolation it is read in this one",
                  std::strerror(errno)));
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("the HDF5 library crashed on it (signal {})",
                       WTERMSIG(status));
  }
  return fmt::format("the HDF5 library gave up on it (exit code {})",
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

Hdf5Worker::Hdf5Worker(std::string contents, const FileLimits& limits,
                       Hdf5Hook before_response)
    : time_limit_(limits.time_limit), time_left_(limits.time_limit) {
  check_limits(limits);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    fail_to_start();
  }
  {
    // No thread is inside the library while the process is copied.
    const std::scoped_lock lock(hdf5_mutex());
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
  // A program that waits for all its children may have taken this one; then
  // the number may be another process's.
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

void Hdf5Worker::fail(std::string reason) {
  failure_ = fmt::format("HDF5 file: {}", reason);
  throw FormatError(failure_);
}

void Hdf5Worker::check(Transfer transfer) {
  if (transfer == Transfer::done) return;
  const int status = stop();
  if (transfer == Transfer::late) {
    fail(
        fmt::format("the HDF5 library took more than {} s; Hint: raise "
                    "time_limit (octet: --time-limit)",
                    time_limit_));
  }
  fail(how_it_ended(status));
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
      throw UnsupportedError(
          printable(receive_text(header.bytes, kLongestError), kLongestError));
    case Status::format_error:
      throw FormatError(
          printable(receive_text(header.bytes, kLongestError), kLongestError));
  }
  stop();
  fail("expected a response about it, got something else");
}

std::string Hdf5Worker::receive_text(uint64_t bytes, uint64_t most) {
  if (bytes > most) {
    stop();
    fail(fmt::format("expected a response of at most {} bytes, got {}", most,
                     bytes));
  }
  constexpr size_t kBlock = size_t{1} << 20;
  std::string text;
  while (text.size() < bytes) {  // grows with what is really there
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
      fail(fmt::format("expected a response of {} bytes, got {}", bytes,
                       header.bytes));
    }
    // The file has this shape: only now is memory taken for it.
    try {
      Tensor tensor(request.expected, request.type);
      receive(static_cast<char*>(tensor.raw()), bytes);
      return tensor;
    } catch (const std::bad_alloc&) {
      stop();  // what it is about to send has no place
      failure_ = "HDF5 file: too large for the memory there is";
      throw;
    }
  });
}

}  // namespace octet::io
