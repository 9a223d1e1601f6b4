// TextTable: text in aligned columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <octet/runtime/language.h>

namespace octet {

enum class Align { left, right };

class TextTable {
 public:
  /// Alignments of the columns.
  explicit TextTable(std::vector<Align> columns);

  /// Adds a line: `prefix` and the cells, two spaces apart. In a row with fewer
  /// cells than columns, the last cell spans the remaining columns and does not
  /// widen its own.
  /// Throws: InternalError for more cells than columns.
  void add_row(std::vector<std::string> cells, std::string_view prefix = "");
  /// Adds a line of dashes as wide as each column.
  void add_rule(std::string_view prefix = "");

  /// Lines without trailing spaces, ended by newlines. Widths count UTF-8
  /// characters.
  std::string to_string() const;

 private:
  struct Row {
    std::string prefix;
    std::vector<std::string> cells;
    bool is_rule;
  };

  std::vector<Align> columns_;
  std::vector<size_t> widths_;
  std::vector<Row> rows_;
};

/// 1234567 -> "1,234,567".
std::string group_digits(int64_t value);

}  // namespace octet
