// What guards have switched on a thread. Work that stops in its middle, and
// goes on after its thread has done something else, takes its own along.
#pragma once

#include <octet/runtime/language.h>

namespace octet {

class BatchParts;

struct ThreadModes {
  bool records = true;                    ///< false within a NoGradGuard
  bool eager = false;                     ///< EagerGuard
  bool float_codes = false;               ///< FloatCodesGuard
  int threads = 0;                        ///< ThreadLimit; 0: all
  BatchParts* batch_parts = nullptr;      ///< BatchPartsGuard
  const void* model_in_shards = nullptr;  ///< that a fit computes shards of
};

/// Those of this thread, to read and to replace.
ThreadModes& thread_modes();

}  // namespace octet
