// --mpi: training on several MPI ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <octet/train/communicator.h>

#include "common/command_line.h"

namespace octet::program {

struct RankOptions {
  bool mpi = false;
  int64_t shards = 0;         // 0: 8 with --mpi, else 1
  bool synchronized = false;  // batch statistics across shards
  int64_t threads = 0;        // 0: cores of the machine / its ranks
};

/// Adds --mpi, --shards, --sync-batch-norm and --threads.
void add_rank_options(Command& command, RankOptions& options);

class Ranks {
 public:
  /// Starts MPI if requested, and sets the number of threads. Silences warnings
  /// on all ranks but the first.
  /// Throws: UsageError for --mpi in a build without MPI.
  explicit Ranks(const RankOptions& options);

  /// Communicator for FitOptions; null without --mpi.
  train::Communicator* communicator() const { return communicator_.get(); }
  /// Whether this rank prints and writes files.
  bool first() const;
  /// Returns "4 ranks, ", or "" without --mpi.
  std::string text() const;

 private:
  std::unique_ptr<train::Communicator> communicator_;
};

}  // namespace octet::program
