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
                   "train on all ranks that mpirun started");
  command.add("--shards", options.shards, 1, 4096,
              "parts of a batch that the result depends on, whatever the "
              "number of ranks (1, with --mpi 8)");
  command.add_flag("--sync-batch-norm", options.synchronized,
                   "batch normalization takes its statistics over the whole "
                   "batch, not over each shard");
  command.add("--threads", options.threads, 1, 1024,
              "threads of each rank (all cores, shared by the ranks of a "
              "machine)");
}

Ranks::Ranks(const RankOptions& options) {
  int local = 1;
  const char* started = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (!options.mpi && started != nullptr && std::string_view(started) != "1") {
    warn(fmt::format(
        "expected --mpi, as mpirun started {} ranks: each trains by itself and "
        "writes the same files",
        started));
  }
  if (options.mpi) {
#ifdef OCTET_HAS_MPI
    auto ranks = std::make_unique<mpi::Communicator>();
    local = ranks->local_size();
    communicator_ = std::move(ranks);
#else
    throw UsageError(
        "--mpi: expected a build with MPI, got one without. Hint: apt-get "
        "install libopenmpi-dev openmpi-bin, then configure with -D "
        "OCTET_WITH_MPI=ON");
#endif
  }
  const int shared = std::max(1, num_threads() / local);
  set_num_threads(options.threads > 0 ? static_cast<int>(options.threads)
                                      : shared);
  if (!first()) set_warning_sink([](std::string_view) {});
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
