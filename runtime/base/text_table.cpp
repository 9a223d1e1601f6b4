#include <algorithm>
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

}  // namespace

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

std::string TextTable::to_string() const {
  std::string text;
  for (const Row& row : rows_) {
    std::string line = row.prefix;
    for (size_t i = 0; i < row.cells.size(); ++i) {
      const std::string& cell = row.cells[i];
      const size_t width = width_of(cell);
      const size_t space = widths_[i] - std::min(width, widths_[i]);
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

}  // namespace octet
