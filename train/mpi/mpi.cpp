// The only source file that uses MPI.
#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include <octet/mpi.h>
#include <octet/runtime/error.h>

namespace octet::mpi {
namespace {

/// Largest message: MPI counts are int.
constexpr size_t kMostBytes = size_t{1} << 30;

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw IoError("process_failed", "MPI",
                fmt::format("cannot {}: {}", what, text));
}

/// Whether all ranks reach their destructor within two seconds.
bool all_arrive() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(2);
  MPI_Request request = MPI_REQUEST_NULL;
  int done = 0;
  if (MPI_Ibarrier(MPI_COMM_WORLD, &request) != MPI_SUCCESS) return false;
  while (done == 0 && Clock::now() < end) {
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return done != 0;
}

/// Calls `body(data, size)` for parts of at most kMostBytes.
template <class Span, class Body>
void in_parts(Span bytes, const Body& body) {
  for (size_t first = 0; first < bytes.size(); first += kMostBytes) {
    const size_t count = std::min(kMostBytes, bytes.size() - first);
    body(bytes.data() + first, static_cast<int>(count));
  }
}

/// Tags that separate background exchanges from blocking exchanges.
constexpr int kMove = 0;
constexpr int kBegun = 1;

/// Pending messages of an exchange.
class Requests final : public train::Communicator::Exchange {
 public:
  Requests(int rank, int size, std::span<const std::span<const std::byte>> to,
           std::span<const std::span<std::byte>> from, int tag) {
    const auto add = [&] { return &requests_.emplace_back(MPI_REQUEST_NULL); };
    // Each rank starts with its successor, so that not all send to rank 0
    // first.
    for (int step = 1; step < size; ++step) {
      const int source = (rank - step + size) % size;
      in_parts(from[static_cast<size_t>(source)],
               [&](std::byte* bytes, int count) {
                 check(MPI_Irecv(bytes, count, MPI_BYTE, source, tag,
                                 MPI_COMM_WORLD, add()),
                       "receive");
               });
    }
    for (int step = 1; step < size; ++step) {
      const int target = (rank + step) % size;
      in_parts(to[static_cast<size_t>(target)],
               [&](const std::byte* bytes, int count) {
                 check(MPI_Isend(bytes, count, MPI_BYTE, target, tag,
                                 MPI_COMM_WORLD, add()),
                       "send");
               });
    }
  }

  bool progress() override {
    int done = 0;
    check(MPI_Testall(count(), requests_.data(), &done, MPI_STATUSES_IGNORE),
          "exchange with other ranks");
    return done != 0;
  }
  void wait() override {
    check(MPI_Waitall(count(), requests_.data(), MPI_STATUSES_IGNORE),
          "exchange with other ranks");
  }

 private:
  int count() const { return static_cast<int>(requests_.size()); }

  std::vector<MPI_Request> requests_;
};

}  // namespace

Communicator::Communicator() : exceptions_(std::uncaught_exceptions()) {
  int begun = 0;
  MPI_Initialized(&begun);
  if (begun != 0) {
    throw ValueError("invalid_state", "MPI",
                     "a program can construct a single mpi::Communicator");
  }
  int level = 0;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level),
        "initialize");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "query the rank");
  check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "count the ranks");
  MPI_Comm local = MPI_COMM_NULL;
  check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,
                            MPI_INFO_NULL, &local),
        "find the ranks of this machine");
  MPI_Comm_size(local, &local_size_);
  MPI_Comm_free(&local);
}

Communicator::~Communicator() {
  if (std::uncaught_exceptions() > exceptions_ && !all_arrive()) return;
  MPI_Finalize();
}

void Communicator::move(std::span<const std::span<const std::byte>> to,
                        std::span<const std::span<std::byte>> from) {
  Requests(rank_, size_, to, from, kMove).wait();
}

std::unique_ptr<Communicator::Exchange> Communicator::begin_move(
    std::vector<std::span<const std::byte>> to,
    std::vector<std::span<std::byte>> from) {
  return std::make_unique<Requests>(rank_, size_, to, from, kBegun);
}

}  // namespace octet::mpi
