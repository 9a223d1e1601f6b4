// Memory that Octet keeps for its next tensors.
#pragma once

#include <octet/runtime/language.h>

namespace octet {

/// Gives back to the system what all threads keep for reuse: where a program
/// has made its session and let go of the model, say. Tensors stay as they are;
/// the next ones take longer to make. PyTorch's torch.cuda.empty_cache(), for
/// the CPU. May be called from any thread at any time.
void release_memory();

}  // namespace octet
