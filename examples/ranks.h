// --mpi: the ranks that train a network together.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <octet/train/communicator.h>

#include "command_line.h"

namespace octet::program {

struct RankOptions {
  bool mpi = false;
  int64_t shards = 0;         // 0: without --mpi 1, with it 8
  bool synchronized = false;  // statistics of the whole batch
  int64_t threads = 0;        // 0: all cores, shared by the ranks of a machine
};

/// Adds --mpi, --shards, --sync-batch-norm and --threads.
void add_rank_options(Command& command, RankOptions& options);

class Ranks {
 public:
  /// Begins MPI if it is asked for, and sets the number of threads. Ranks but
  /// the first one say no warnings.
  /// Throws: UsageError for --mpi in a build without MPI.
  explicit Ranks(const RankOptions& options);

  /// For FitOptions; null without --mpi.
  train::Communicator* communicator() const { return communicator_.get(); }
  /// Whether this one prints and writes files.
  bool first() const;
  /// "4 ranks, "; without --mpi nothing.
  std::string text() const;

 private:
  std::unique_ptr<train::Communicator> communicator_;
};

}  // namespace octet::program
