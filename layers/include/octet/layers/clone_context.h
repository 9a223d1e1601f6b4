// CloneContext: keeps shared what layers share while a model is copied.
#pragma once

#include <map>
#include <memory>

#include <octet/runtime/language.h>

namespace octet {

/// The copies made so far while a model is cloned: layers that share an
/// object before share its copy afterwards.
class CloneContext {
 public:
  /// The copy of `original`, made by `copy()` at its first use.
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
