// Flattening of nested lists, the form in which Keras writes arrays.
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

/// Flattens the field `name` in place if it is a list.
inline void flatten_list(Config& config, const char* name) {
  const Config* value = config.find(name);
  if (value == nullptr || !value->is_list()) return;
  Config::List list;
  append_flat(*value, list);
  config.set(name, std::move(list));
}

}  // namespace octet
