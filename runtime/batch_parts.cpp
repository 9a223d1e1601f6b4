#include <utility>

#include <octet/runtime/batch_parts.h>
#include <octet/runtime/thread_modes.h>

namespace octet {

BatchParts* batch_parts() { return thread_modes().batch_parts; }

BatchPartsGuard::BatchPartsGuard(BatchParts* parts)
    : before_(std::exchange(thread_modes().batch_parts, parts)) {}
BatchPartsGuard::~BatchPartsGuard() { thread_modes().batch_parts = before_; }

}  // namespace octet
