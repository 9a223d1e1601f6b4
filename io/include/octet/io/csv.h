// CSV tables as written by spreadsheets and pandas.
//
//   const io::CsvTable table = io::load_csv("flowers.csv");
//   const auto [labels, names] = table.classes("species");
//   const Dataset data(table.numbers(table.columns_but({"species"})), labels);
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <octet/runtime/tensor.h>

namespace octet::io {

/// Fields in order: separator, header, missing
struct CsvOptions {
  char separator = ',';
  /// Whether the first row has the column names; otherwise they are "0", "1",
  /// ...
  bool header = true;
  /// Value of missing cells (empty, NA, NaN, null) in numbers(). Without it,
  /// missing cells are errors.
  std::optional<float> missing = {};
};

/// A column as class labels.
struct CsvClasses {
  Tensor labels;                   ///< i64 [rows]
  std::vector<std::string> names;  ///< text of class i, sorted
};

/// Rows of text cells, all of the same number. Copies share the data.
class CsvTable {
 public:
  int64_t rows() const;
  /// Names of the columns, in the file's order.
  const std::vector<std::string>& columns() const;
  /// All columns except `left_out`.
  /// Throws: NotFoundError with the nearest name.
  std::vector<std::string> columns_but(
      const std::vector<std::string>& left_out) const;

  /// A cell. Throws: NotFoundError for the column; ValueError for a row
  /// outside [0, rows()).
  std::string_view text(int64_t row, std::string_view column) const;
  /// A column. Throws: NotFoundError.
  std::vector<std::string> texts(std::string_view column) const;

  /// Returns columns as numbers, in the given order. Parses as C does in the
  /// "C" locale; ignores surrounding spaces.
  /// Shapes: -> f32 [rows, columns].
  /// Throws: NotFoundError; FormatError naming file, row and column of a cell
  /// that is missing, not a finite number or outside float32; ValueError for no
  /// columns.
  Tensor numbers(const std::vector<std::string>& columns) const;
  /// Returns a column as classes, numbered in the order of their texts, or
  /// numerically if all are integers ("10" after "9").
  /// Throws: NotFoundError; FormatError for an empty cell.
  CsvClasses classes(std::string_view column) const;

 private:
  friend CsvTable load_csv(const std::filesystem::path& path,
                           const CsvOptions& options);
  struct Contents;
  explicit CsvTable(std::shared_ptr<const Contents> contents)
      : contents_(std::move(contents)) {}

  std::shared_ptr<const Contents> contents_;
};

/// Reads a CSV file (RFC 4180): cells that contain separators, quotes or line
/// ends are quoted. UTF-8, with or without byte order mark; empty lines are
/// skipped. Warns if the header looks like a row of numbers.
/// Throws: IoError; FormatError for a row whose number of cells differs from
/// the first row's, broken quotes, empty or duplicate column names, or no rows;
/// ValueError for a separator that is a quote, a space or a line end.
CsvTable load_csv(const std::filesystem::path& path,
                  const CsvOptions& options = {});

}  // namespace octet::io
