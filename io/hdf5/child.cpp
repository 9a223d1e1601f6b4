#include "child.h"

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
#include "serve.h"
#include "wire.h"

namespace octet::io {
namespace {

using Clock = std::chrono::steady_clock;
using Status = AnswerHead::Status;

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
auto Hdf5Child::timed(Body body) {
  struct Spent {
    Hdf5Child& child;
    Clock::time_point start = Clock::now();
    ~Spent() { child.time_left_ -= Clock::now() - start; }
  };
  const Spent spent{*this};
  deadline_ = deadline_in(time_left_);
  return body();
}

Hdf5Child::Hdf5Child(std::string contents, const FileLimits& limits,
                     Hdf5Hook before_answer)
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
      serve_file(ends[1], parent, contents, limits, before_answer);
    }
  }
  close(ends[1]);
  socket_ = ends[0];
  if (process_ < 0) {
    close(socket_);
    fail_to_start();
  }
  try {
    timed([&] { receive_text(receive_head().bytes, kLongestValue); });
  } catch (...) {
    stop();
    throw;
  }
}

Hdf5Child::~Hdf5Child() { stop(); }

int Hdf5Child::stop() {
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

void Hdf5Child::fail(std::string reason) {
  failure_ = fmt::format("HDF5 file: {}", reason);
  throw FormatError(failure_);
}

void Hdf5Child::check(Transfer transfer) {
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

void Hdf5Child::send(std::string_view bytes) {
  check(send_all(socket_, bytes, deadline_));
}

void Hdf5Child::receive(char* to, size_t count) {
  check(receive_all(socket_, to, count, deadline_));
}

AnswerHead Hdf5Child::receive_head() {
  AnswerHead head;
  receive(reinterpret_cast<char*>(&head), sizeof head);
  switch (head.status) {
    case Status::value:
    case Status::elements:
      return head;
    case Status::unsupported:
      throw UnsupportedError(
          printable(receive_text(head.bytes, kLongestError), kLongestError));
    case Status::format_error:
      throw FormatError(
          printable(receive_text(head.bytes, kLongestError), kLongestError));
  }
  stop();
  fail("expected an answer about it, got something else");
}

std::string Hdf5Child::receive_text(uint64_t bytes, uint64_t most) {
  if (bytes > most) {
    stop();
    fail(fmt::format("expected an answer of at most {} bytes, got {}", most,
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

void Hdf5Child::put_question(const Hdf5Question& question) {
  if (process_ < 0) throw FormatError(failure_);
  const std::string bytes = to_wire(question);
  const uint64_t count = bytes.size();
  send({reinterpret_cast<const char*>(&count), sizeof count});
  send(bytes);
}

Config Hdf5Child::ask(const Hdf5Question& question) {
  return timed([&] {
    put_question(question);
    const AnswerHead head = receive_head();
    return value_from_wire(receive_text(head.bytes, kLongestValue));
  });
}

Tensor Hdf5Child::read(const Hdf5Question& question) {
  return timed([&] {
    put_question(question);
    const AnswerHead head = receive_head();
    const auto bytes = static_cast<uint64_t>(question.expected.size() *
                                             size_of(question.type));
    if (head.status != Status::elements || head.bytes != bytes) {
      stop();
      fail(fmt::format("expected an answer of {} bytes, got {}", bytes,
                       head.bytes));
    }
    // The file has this shape: only now is memory taken for it.
    try {
      Tensor tensor(question.expected, question.type);
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
