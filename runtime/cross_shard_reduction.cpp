#include <utility>

#include <octet/runtime/detail/thread_modes.h>
#include <octet/runtime/parallel.h>

namespace octet {

CrossShardReduction* cross_shard_reduction() {
  return thread_modes().cross_shard_reduction;
}

CrossShardReductionGuard::CrossShardReductionGuard(CrossShardReduction* parts)
    : before_(std::exchange(thread_modes().cross_shard_reduction, parts)) {}
CrossShardReductionGuard::~CrossShardReductionGuard() {
  thread_modes().cross_shard_reduction = before_;
}

}  // namespace octet
