#include "ranks.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#ifdef OCTET_HAS_MPI
#include <octet/mpi.h>
#endif

namespace octet::program {

void add_rank_options(Command& command, RankOptions& options) {
  command.add_flag("--mpi", options.mpi,
                   "train on all ranks started by mpirun");
  command.add("--shards", options.shards, 1, 4096,
              "shards per batch; results depend on it, not on the number of "
              "ranks (default: 1, with --mpi 8)");
  command.add_flag("--sync-batch-norm", options.synchronized,
                   "compute batch normalization statistics over the whole "
                   "batch instead of each shard");
  command.add("--threads", options.threads, 1, 1024,
              "threads per rank (default: cores of the machine / its ranks)");
}

Ranks::Ranks(const RankOptions& options) {
  int local = 1;
  const char* started = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (!options.mpi && started != nullptr && std::string_view(started) != "1") {
    warn("mpi_unused", "--mpi",
         fmt::format("not given, but mpirun started {} ranks; each trains "
                     "alone and writes the same files",
                     started));
  }
  if (options.mpi) {
#ifdef OCTET_HAS_MPI
    auto ranks = std::make_unique<mpi::Communicator>();
    local = ranks->local_size();
    communicator_ = std::move(ranks);
#else
    throw UsageError(
        "unsupported", "--mpi",
        "--mpi: this build has no MPI. Hint: apt-get install libopenmpi-dev "
        "openmpi-bin, then configure with -D OCTET_WITH_MPI=ON");
#endif
  }
  const int shared = std::max(1, num_threads() / local);
  set_num_threads(options.threads > 0 ? static_cast<int>(options.threads)
                                      : shared);
  if (!first()) set_warning_sink([](const Warning&) {});
}

bool Ranks::first() const {
  return communicator_ == nullptr || communicator_->rank() == 0;
}

std::string Ranks::text() const {
  if (communicator_ == nullptr) return {};
  const int count = communicator_->size();
  return count == 1 ? "1 rank (mpirun starts more), "
                    : fmt::format("{} ranks, ", count);
}

}  // namespace octet::program
