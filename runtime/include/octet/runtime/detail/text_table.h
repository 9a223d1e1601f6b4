// TextTable: text in aligned columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <octet/runtime/detail/language.h>

namespace octet {

enum class Align { left, right };

class TextTable {
 public:
  /// Creates a table with one column per alignment.
  explicit TextTable(std::vector<Align> columns);

  /// Adds a row: `prefix`, then the cells, separated by two spaces. In a row
  /// with fewer cells than columns, the last cell spans the remaining columns
  /// and does not affect column widths.
  /// Throws: InternalError for more cells than columns.
  void add_row(std::vector<std::string> cells, std::string_view prefix = "");
  /// Adds a row that fills each column with dashes.
  void add_rule(std::string_view prefix = "");

  /// Returns the rows as lines without trailing spaces, each ended by a
  /// newline. Column widths are measured in Unicode code points. In a table
  /// wider than set_table_width(), an ellipsis replaces the middle of text in
  /// left-aligned cells, down to 12 characters in the first column and 8 in the
  /// others.
  std::string to_string() const;

 private:
  std::vector<size_t> fitted_widths() const;

  struct Row {
    std::string prefix;
    std::vector<std::string> cells;
    bool is_rule;
  };

  std::vector<Align> columns_;
  std::vector<size_t> widths_;
  std::vector<Row> rows_;
};

/// Sets the width of tables, in characters. 0, the default: unlimited. The
/// program sets it to the width of the terminal.
void set_table_width(size_t characters);

/// Formats an integer with thousands separators: 1234567 -> "1,234,567".
std::string group_digits(int64_t value);

/// "1 node", "1,234 nodes", for a noun whose plural ends in s.
std::string counted(int64_t count, std::string_view noun);

}  // namespace octet
