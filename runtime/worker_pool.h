// The threads that run parallel loops.
#pragma once

namespace octet::detail {

/// Has a thread of the pool call `task(argument)` soon, or never if all are
/// busy until the program ends. `task` must not throw.
void enqueue(void (*task)(void*), void* argument);

}  // namespace octet::detail
