#include "worker_process.h"

#include <cmath>
#include <csignal>
#include <cstdio>
#include <new>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <octet/runtime/error.h>

#include "file.h"
#include "socket.h"
#include "wire.h"

namespace octet::io {
namespace {

constexpr int kSocket = 3;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// They map terabytes of shadow, open pipes to look at memory, and report.
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

/// Never raises what the parent itself is limited to.
void limit(__rlimit_resource resource, rlim_t value) {
  rlimit now{};
  if (getrlimit(resource, &now) != 0) return;
  value = std::min(value, now.rlim_max);
  const rlimit lower = {.rlim_cur = value, .rlim_max = value};
  setrlimit(resource, &lower);
}

/// What the process has mapped already: all that the parent had. 0: unknown.
rlim_t mapped_bytes() {
  unsigned long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
  std::fclose(file);
  return rlim_t{pages} * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

/// The parent's handlers mean nothing here; what a terminal sends to both is
/// the parent's to act on.
void reset_signals() {
  for (int number = 1; number < NSIG; ++number) std::signal(number, SIG_DFL);
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGQUIT, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

volatile pid_t parent_process = 0;

void leave_if_alone(int) {
  const pid_t now = getppid();  // 0: in another namespace
  if (now != parent_process && now != 0) _exit(0);
}

/// Ends with the parent, even in a loop of the library. The signal comes when
/// the thread of the parent ends that made this process, or the one that the
/// process then belongs to: the parent itself may live on.
void end_with(pid_t parent) {
  parent_process = parent;
  struct sigaction action {};
  action.sa_handler = leave_if_alone;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGUSR1);
  leave_if_alone(SIGUSR1);  // it may have ended before
}

/// Leaves the socket, as kSocket, and /dev/null for the standard streams: what
/// the library prints is not for the user.
void close_files(int socket) {
  if (socket != kSocket) dup2(socket, kSocket);
  const int null = open("/dev/null", O_RDWR);
  for (int standard = 0; standard < kSocket; ++standard) {
    if (standard == STDERR_FILENO && kSanitized) continue;
    if (null >= 0) dup2(null, standard);
  }
  if (close_range(kSocket + 1, ~0u, 0) == 0) return;
  const long most = sysconf(_SC_OPEN_MAX);
  for (int fd = kSocket + 1; fd < most; ++fd) close(fd);
}

void give_up_rights(const FileLimits& limits) {
  if (!kSanitized) {
    if (const rlim_t mapped = mapped_bytes(); mapped > 0) {
      limit(RLIMIT_AS, mapped + static_cast<rlim_t>(limits.memory_limit));
    }
    limit(RLIMIT_NOFILE, 1);  // nothing can be opened any more
  }
  // The parent keeps the time; this is for a worker that it cannot stop.
  constexpr double kLongest = 1e9;
  const double seconds = std::ceil(std::min(limits.time_limit, kLongest));
  limit(RLIMIT_CPU, static_cast<rlim_t>(seconds) + 1);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_CORE, 0);
  prctl(PR_SET_DUMPABLE, 0);
}

void send_response(ResponseHeader::Status status, std::string_view bytes) {
  const ResponseHeader header{.status = status, .bytes = bytes.size()};
  const std::string_view header_bytes(reinterpret_cast<const char*>(&header),
                                      sizeof header);
  if (send_all(kSocket, header_bytes) != Transfer::done ||
      send_all(kSocket, bytes) != Transfer::done) {
    _exit(0);  // nobody listens
  }
}

/// Sends what `body` sends, or the error that it throws.
template <class Body>
bool respond_or_refuse(const FileLimits& limits, Body body) {
  try {
    body();
    return true;
  } catch (const UnsupportedError& error) {
    send_response(ResponseHeader::Status::unsupported, error.message());
  } catch (const Error& error) {
    send_response(ResponseHeader::Status::format_error, error.message());
  } catch (const std::bad_alloc&) {
    send_response(ResponseHeader::Status::format_error,
                  fmt::format("HDF5 file: expected one that is read within {} "
                              "MiB, got one that takes more",
                              limits.memory_limit >> 20));
  }
  return false;
}

void respond_to_all(std::string_view contents, const FileLimits& limits,
                    Hdf5Hook before_response) {
  std::optional<Hdf5File> file;
  const bool is_open = respond_or_refuse(limits, [&] {
    silence_library();
    file.emplace(contents);
    send_response(ResponseHeader::Status::value, to_wire(Config()));
  });
  if (!is_open) return;
  uint64_t bytes = 0;
  while (receive_all(kSocket, reinterpret_cast<char*>(&bytes), sizeof bytes) ==
         Transfer::done) {
    std::string request_bytes(bytes, '\0');
    if (receive_all(kSocket, request_bytes.data(), bytes) != Transfer::done)
      return;
    const Hdf5Request request = request_from_wire(request_bytes);
    if (before_response != nullptr) before_response(request.path);
    respond_or_refuse(limits, [&] {
      if (request.op != Hdf5Request::Op::read) {
        send_response(ResponseHeader::Status::value,
                      to_wire(file->respond(request)));
        return;
      }
      const std::vector<char> elements = file->read(request);
      send_response(ResponseHeader::Status::elements,
                    std::string_view(elements.data(), elements.size()));
    });
  }
}

}  // namespace

void run_worker(int socket, pid_t parent, std::string_view contents,
                const FileLimits& limits, Hdf5Hook before_response) noexcept {
  reset_signals();
  end_with(parent);
  close_files(socket);
  give_up_rights(limits);
  respond_to_all(contents, limits, before_response);
  _exit(0);  // no destructors: they are the parent's
}

}  // namespace octet::io
