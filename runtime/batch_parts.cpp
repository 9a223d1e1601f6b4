#include <utility>

#include <octet/runtime/batch_parts.h>

namespace octet {
namespace {

thread_local BatchParts* current = nullptr;

}  // namespace

BatchParts* batch_parts() { return current; }

BatchPartsGuard::BatchPartsGuard(BatchParts& parts)
    : before_(std::exchange(current, &parts)) {}
BatchPartsGuard::~BatchPartsGuard() { current = before_; }

}  // namespace octet
