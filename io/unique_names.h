// Unique names: a duplicate gets the suffix "_1", "_2", ... Internal to io.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

namespace octet::io {

class UniqueNames {
 public:
  bool contains(const std::string& name) const { return taken_.contains(name); }
  /// Adds a name unchanged; returns false if it exists.
  bool insert(const std::string& name) { return taken_.insert(name).second; }
  template <class Iterator>
  void insert(Iterator first, Iterator last) {
    taken_.insert(first, last);
  }

  /// Adds and returns the first free name: `base`, or `base` with a number.
  /// Skips numbered names for which `is_kept` is true. Linear time in the
  /// number of calls, even if all requested names are equal.
  template <class IsKept>
  std::string add(const std::string& base, const IsKept& is_kept) {
    if (taken_.insert(base).second) return base;
    int& number = numbers_[base];
    while (true) {
      std::string name = fmt::format("{}_{}", base, ++number);
      if (!is_kept(name) && taken_.insert(name).second) return name;
    }
  }
  std::string add(const std::string& base) {
    return add(base, [](const std::string&) { return false; });
  }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> numbers_;  // last number per base
};

}  // namespace octet::io
