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
// Sanitizers map terabytes of shadow memory, open pipes and print reports.
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

/// Lowers a resource limit; never above the parent's.
void limit(__rlimit_resource resource, rlim_t value) {
  rlimit now{};
  if (getrlimit(resource, &now) != 0) return;
  value = std::min(value, now.rlim_max);
  const rlimit lower = {.rlim_cur = value, .rlim_max = value};
  setrlimit(resource, &lower);
}

/// Returns the mapped bytes, all inherited from the parent; 0 if unknown.
rlim_t mapped_bytes() {
  unsigned long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
  std::fclose(file);
  return rlim_t{pages} * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

/// Removes the parent's handlers. Signals that a terminal sends to both
/// processes are left to the parent.
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

/// Ends this process with its parent, even inside a loop of the library. The
/// signal is sent when the parent's thread that forked it ends, or the thread
/// it was reassigned to: the parent itself may be alive.
void end_with(pid_t parent) {
  parent_process = parent;
  struct sigaction action {};
  action.sa_handler = leave_if_alone;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGUSR1);
  leave_if_alone(SIGUSR1);  // the parent may have ended already
}

/// Closes all files but the socket, moved to kSocket, and /dev/null as standard
/// streams: output of the library is discarded.
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
    limit(RLIMIT_NOFILE, 1);  // no more files can be opened
  }
  // The parent measures time; this limit is for a worker it cannot stop.
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
    _exit(0);  // the parent is gone
  }
}

/// Calls `body`, which sends a response; sends the error if it throws.
template <class Body>
bool respond_or_refuse(const FileLimits& limits, Body body) {
  try {
    body();
    return true;
  } catch (const UnsupportedError& error) {
    send_response(ResponseHeader::Status::unsupported, to_wire(error));
  } catch (const Error& error) {
    send_response(ResponseHeader::Status::format_error, to_wire(error));
  } catch (const std::bad_alloc&) {
    send_response(
        ResponseHeader::Status::format_error,
        to_wire(FormatError(
            "memory_limit", "HDF5 file",
            fmt::format(
                "reading needs more than {} MiB. Hint: if you trust the file, "
                "raise FileLimits.memory_limit (--memory-limit)",
                limits.memory_limit >> 20))));
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
  _exit(0);  // runs no destructors: they are the parent's
}

}  // namespace octet::io
