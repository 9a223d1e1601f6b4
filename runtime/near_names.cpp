#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <octet/runtime/near_names.h>

namespace octet {

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    int diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const int replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string suggest_near(std::string_view wanted,
                         std::span<const std::string> names) {
  std::vector<std::pair<int, std::string>> near;
  const int reach = std::max(2, static_cast<int>(wanted.size()) / 3);
  for (const std::string& name : names) {
    const int distance = edit_distance(wanted, name);
    if (distance <= reach) near.emplace_back(distance, name);
  }
  if (near.empty()) return "";
  std::ranges::stable_sort(near, {}, &std::pair<int, std::string>::first);
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(3, near.size()); ++i) {
    text += fmt::format("{}'{}'", i == 0 ? "; did you mean " : " or ",
                        near[i].second);
  }
  return text + "?";
}

std::string suggest_names(std::string_view wanted,
                          std::span<const std::string> names) {
  if (names.empty()) return "; there are none";
  if (std::string near = suggest_near(wanted, names); !near.empty()) {
    return near;
  }
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(8, names.size()); ++i) {
    text += fmt::format("{}'{}'", i == 0 ? "; there are " : ", ", names[i]);
  }
  if (names.size() > 8) text += fmt::format(", ... ({} in all)", names.size());
  return text;
}

}  // namespace octet
