// Modes that guards set on a thread. Suspended work that resumes later saves
// and restores its own.
#pragma once

#include <string>

#include <octet/runtime/detail/language.h>

namespace octet {

class CrossShardReduction;

struct ThreadModes {
  bool records = true;       ///< false within a NoGradGuard
  bool eager = false;        ///< EagerGuard
  bool float_codes = false;  ///< FloatGemmGuard
  int threads = 0;           ///< ThreadLimit; 0: all
  CrossShardReduction* cross_shard_reduction =
      nullptr;                            ///< CrossShardReductionGuard
  const void* model_in_shards = nullptr;  ///< model of the running shards
  const std::string* layer = nullptr;     ///< LayerScope
};

/// The modes of this thread, readable and writable.
ThreadModes& thread_modes();

}  // namespace octet
