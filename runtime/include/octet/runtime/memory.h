// Memory that Octet caches for later tensors.
#pragma once

#include <octet/runtime/language.h>

namespace octet {

/// Returns the cached memory of all threads to the system, for example after a
/// session is built and the model destroyed. Existing tensors are unaffected;
/// the next allocations are slower. Like PyTorch's torch.cuda.empty_cache(),
/// for the CPU. Thread-safe.
void release_memory();

}  // namespace octet
