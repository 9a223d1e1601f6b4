#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>

namespace octet {
namespace {

size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; }));
}

std::atomic<size_t> table_width = 0;

/// Replaces the middle of a text by an ellipsis: names often differ at the end.
std::string shortened(const std::string& text, size_t width) {
  const size_t length = width_of(text);
  if (length <= width) return text;
  const size_t head = width / 2, tail = length - (width - head - 1);
  std::string result;
  size_t at = 0;
  for (const char c : text) {
    at += width_of({&c, 1});  // number of the character, from 1
    if (at <= head || at > tail) result += c;
    if (at == head + 1 && width_of({&c, 1}) == 1) result += "\u2026";
  }
  return result;
}

}  // namespace

void set_table_width(size_t characters) { table_width = characters; }

TextTable::TextTable(std::vector<Align> columns)
    : columns_(std::move(columns)), widths_(columns_.size(), 0) {}

void TextTable::add_row(std::vector<std::string> cells,
                        std::string_view prefix) {
  if (cells.size() > columns_.size()) {
    throw InternalError("internal", "table",
                        fmt::format("{} cells in a row of {} columns",
                                    cells.size(), columns_.size()));
  }
  const bool is_short = cells.size() < columns_.size();
  for (size_t i = 0; i + (is_short ? 1 : 0) < cells.size(); ++i) {
    widths_[i] = std::max(widths_[i], width_of(cells[i]));
  }
  rows_.push_back({std::string(prefix), std::move(cells), false});
}

void TextTable::add_rule(std::string_view prefix) {
  rows_.push_back(
      {std::string(prefix), std::vector<std::string>(columns_.size()), true});
}

std::vector<size_t> TextTable::fitted_widths() const {
  constexpr size_t kLeast = 8, kLeastName = 12;
  std::vector<size_t> widths = widths_;
  if (table_width == 0 || widths.empty()) return widths;
  size_t prefix = 0;
  for (const Row& row : rows_) prefix = std::max(prefix, width_of(row.prefix));
  const auto total = [&] {
    return std::accumulate(widths.begin(), widths.end(),
                           prefix + 2 * (widths.size() - 1));
  };
  while (total() > table_width) {
    std::optional<size_t> widest;
    for (size_t i = 0; i < widths.size(); ++i) {
      if (columns_[i] != Align::left) continue;
      if (widths[i] <= (i == 0 ? kLeastName : kLeast)) continue;
      if (!widest || widths[i] > widths[*widest]) widest = i;
    }
    if (!widest) break;
    --widths[*widest];
  }
  return widths;
}

std::string TextTable::to_string() const {
  const std::vector<size_t> widths = fitted_widths();
  std::string text;
  for (const Row& row : rows_) {
    std::string line = row.prefix;
    for (size_t i = 0; i < row.cells.size(); ++i) {
      const bool spans =
          i + 1 == row.cells.size() && row.cells.size() < columns_.size();
      const std::string cell =
          spans ? row.cells[i] : shortened(row.cells[i], widths[i]);
      const size_t space = widths[i] - std::min(width_of(cell), widths[i]);
      if (i > 0) line += "  ";
      if (columns_[i] == Align::right || row.is_rule) {
        line.append(space, row.is_rule ? '-' : ' ');
      }
      line += cell;
      if (columns_[i] == Align::left && !row.is_rule) line.append(space, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string group_digits(int64_t value) {
  std::string text = fmt::format("{}", value);
  const size_t first = value < 0 ? 1 : 0;
  for (size_t at = text.size(); at > first + 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string counted(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", group_digits(count), noun,
                     count == 1 ? "" : "s");
}

}  // namespace octet
