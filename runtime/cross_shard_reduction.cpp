#include <utility>

#include <octet/runtime/cross_shard_reduction.h>
#include <octet/runtime/detail/thread_modes.h>

namespace octet {

CrossShardReduction* batch_parts() { return thread_modes().batch_parts; }

BatchPartsGuard::BatchPartsGuard(CrossShardReduction* parts)
    : before_(std::exchange(thread_modes().batch_parts, parts)) {}
BatchPartsGuard::~BatchPartsGuard() { thread_modes().batch_parts = before_; }

}  // namespace octet
