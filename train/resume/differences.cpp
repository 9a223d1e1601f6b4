// differences(): describes the differences of two fingerprints.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "fingerprint.h"

namespace octet::train {
namespace {

constexpr size_t kMostListed = 6;
constexpr size_t kLongestText = 60;

std::string text_of(const Config& value) {
  std::string text;
  if (value.is_null()) {
    text = "nothing";
  } else if (value.is_bool()) {
    text = value.as_bool() ? "true" : "false";
  } else if (value.is_int()) {
    text = fmt::format("{}", value.as_int());
  } else if (value.is_number()) {
    text = fmt::format("{}", value.as_number());
  } else if (value.is_string()) {
    text = fmt::format("'{}'", value.as_string());
  } else if (value.is_list()) {
    for (const Config& entry : value.as_list()) {
      text += fmt::format("{}{}", text.empty() ? "" : ", ", text_of(entry));
      if (text.size() > kLongestText) break;
    }
    text = fmt::format("[{}]", text);
  } else {
    text = fmt::format("{} entries", value.as_object().size());
  }
  if (text.size() > kLongestText) {
    text.resize(kLongestText);
    text += "...";
  }
  return text;
}

bool is_plain(const Config& value) {
  if (value.is_object()) return false;
  if (!value.is_list()) return true;
  return std::ranges::all_of(value.as_list(), [](const Config& entry) {
    return !entry.is_object() && !entry.is_list();
  });
}

/// Returns the name of a list entry, quoted, or its index.
std::string label_of(const Config& entry, size_t index) {
  const Config* name = entry.is_object() ? entry.find("name") : nullptr;
  if (name != nullptr && name->is_string()) {
    return fmt::format("'{}'", name->as_string());
  }
  return fmt::format("{}", index);
}

using Entries = std::vector<std::pair<std::string, const Config*>>;

Entries entries_of(const Config& value) {
  Entries entries;
  if (value.is_object()) {
    for (const auto& [name, entry] : value.as_object()) {
      entries.emplace_back(name, &entry);
    }
  } else {
    const Config::List& list = value.as_list();
    for (size_t i = 0; i < list.size(); ++i) {
      entries.emplace_back(label_of(list[i], i), &list[i]);
    }
  }
  return entries;
}

class Comparison {
 public:
  Comparison(std::string_view there, std::string_view here)
      : there_(there), here_(here) {}

  void compare(const std::string& path, const Config& there,
               const Config& here) {
    if (there == here) return;
    const bool both_nested = !is_plain(there) && !is_plain(here) &&
                             there.is_object() == here.is_object();
    if (!both_nested) {
      found.push_back(fmt::format("{}: {} {}, {} {}", path, text_of(there),
                                  there_, text_of(here), here_));
      return;
    }
    const size_t size_before = found.size();
    const Entries theirs = entries_of(there);
    const Entries ours = entries_of(here);
    std::map<std::string, const Config*> by_name(ours.begin(), ours.end());
    const Config nothing;
    const auto compare_entry = [&](const std::string& name, const Config& a,
                                   const Config& b) {
      compare(path.empty() ? name : fmt::format("{} {}", path, name), a, b);
    };
    for (const auto& [name, entry] : theirs) {
      const auto at = by_name.find(name);
      compare_entry(name, *entry, at == by_name.end() ? nothing : *at->second);
      if (at != by_name.end()) by_name.erase(at);
    }
    for (const auto& [name, entry] : ours) {
      if (by_name.contains(name)) compare_entry(name, nothing, *entry);
    }
    // Equal entries in a different order.
    if (found.size() == size_before) {
      found.push_back(fmt::format("{}: different order", path));
    }
  }

  std::vector<std::string> found;

 private:
  std::string_view there_;
  std::string_view here_;
};

}  // namespace

std::string differences(const Config& there, const Config& here,
                        std::string_view there_name,
                        std::string_view here_name) {
  Comparison comparison(there_name, here_name);
  comparison.compare("", there, here);
  const std::vector<std::string>& found = comparison.found;
  const size_t count = std::min(found.size(), kMostListed);
  std::string text = fmt::format(
      "{}",
      fmt::join(found.begin(),
                found.begin() + static_cast<std::ptrdiff_t>(count), "; "));
  if (found.size() > count) {
    text += fmt::format("; and {} more", found.size() - count);
  }
  return text;
}

}  // namespace octet::train
