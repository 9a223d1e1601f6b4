// TextTable: rows of text in columns as wide as their widest cell.
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
  /// One alignment a column.
  explicit TextTable(std::vector<Align> columns);

  /// A line: the cells, two spaces apart, after `prefix`. The last cell of a
  /// row that is shorter than the table takes the room of the columns that it
  /// lacks, and does not make its own any wider.
  /// Throws: InternalError for more cells than columns.
  void add_row(std::vector<std::string> cells, std::string_view prefix = "");
  /// A line of dashes as wide as each column.
  void add_rule(std::string_view prefix = "");

  /// Lines without trailing spaces, each ended by a newline. Characters are
  /// counted in UTF-8.
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
