// Lists in lists, as Keras writes arrays, in one.
#pragma once

#include <octet/runtime/config.h>

namespace octet {

inline void append_flat(const Config& value, Config::List& list) {
  if (!value.is_list()) {
    list.push_back(value);
    return;
  }
  for (const Config& entry : value.as_list()) append_flat(entry, list);
}

/// The field of that name, if it is a list, without the lists in it.
inline void flatten_list(Config& config, const char* name) {
  const Config* value = config.find(name);
  if (value == nullptr || !value->is_list()) return;
  Config::List list;
  append_flat(*value, list);
  config.set(name, std::move(list));
}

}  // namespace octet
