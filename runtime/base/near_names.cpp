#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <octet/runtime/detail/near_names.h>

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

std::string fold_name(std::string_view name) {
  std::string folded;
  for (const char c : name) {
    if (c == '_' || c == '-' || c == ' ') continue;
    folded += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return folded;
}

std::string suggest_near(std::string_view wanted,
                         std::span<const std::string> names) {
  constexpr size_t kShortestBeginning = 3;
  struct Near {
    int folded;  ///< distance of folded names, for the choice
    int exact;   ///< distance including case and separators
    std::string name;
  };
  std::vector<Near> near, longer;
  const std::string word = fold_name(wanted);
  const int reach = std::max(2, static_cast<int>(wanted.size()) / 3);
  for (const std::string& name : names) {
    const std::string folded = fold_name(name);
    const Near entry{edit_distance(word, folded), edit_distance(wanted, name),
                     name};
    if (entry.folded <= reach) near.push_back(entry);
    if (folded.starts_with(word)) longer.push_back(entry);
  }
  // Fall back to names that begin with the word, whatever their length.
  if (near.empty() && word.size() >= kShortestBeginning) near = longer;
  if (near.empty()) return "";
  std::ranges::stable_sort(near, {}, [](const Near& each) {
    return std::pair(each.folded, each.exact);
  });
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(3, near.size()); ++i) {
    text += fmt::format("{}'{}'", i == 0 ? "; did you mean " : " or ",
                        near[i].name);
  }
  return text + "?";
}

std::string suggest_names(std::string_view wanted,
                          std::span<const std::string> names) {
  if (names.empty()) return "; none are available";
  if (std::string near = suggest_near(wanted, names); !near.empty()) {
    return near;
  }
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(8, names.size()); ++i) {
    text += fmt::format("{}'{}'", i == 0 ? "; available: " : ", ", names[i]);
  }
  if (names.size() > 8) text += fmt::format(", ... ({} in all)", names.size());
  return text;
}

}  // namespace octet
