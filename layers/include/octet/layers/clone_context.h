// CloneContext: preserves sharing between layers while a model is cloned.
#pragma once

#include <map>
#include <memory>

#include <octet/runtime/detail/language.h>

namespace octet {

/// Maps shared objects of a model to their copies, so that layers that share an
/// object share its copy as well.
class CloneContext {
 public:
  /// Returns the copy of `original`, created by `copy()` on first use.
  template <class T, class Copy>
  std::shared_ptr<T> shared(const T& original, Copy copy) {
    std::shared_ptr<void>& slot = copies_[&original];
    if (slot == nullptr) slot = std::shared_ptr<T>(copy());
    return std::static_pointer_cast<T>(slot);
  }

 private:
  std::map<const void*, std::shared_ptr<void>> copies_;
};

}  // namespace octet
