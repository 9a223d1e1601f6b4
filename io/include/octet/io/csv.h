// CSV: tables as spreadsheets and pandas write them.
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
  /// Whether the first row has the names of the columns; else they are "0",
  /// "1", ...
  bool header = true;
  /// What numbers() takes for a cell that is empty or says NA, NaN or null;
  /// none: it refuses them.
  std::optional<float> missing = {};
};

/// Classes as numbers and their names.
struct CsvClasses {
  Tensor labels;                   ///< i64 [rows]
  std::vector<std::string> names;  ///< the text of class i, sorted by bytes
};

/// Rows of text, all with as many cells. Copies share it.
class CsvTable {
 public:
  int64_t rows() const;
  /// Names of the columns, in the file's order.
  const std::vector<std::string>& columns() const;
  /// All but these. Throws: NotFoundError naming the nearest.
  std::vector<std::string> columns_but(
      const std::vector<std::string>& left_out) const;

  /// A cell. Throws: NotFoundError for the column; ValueError for a row
  /// outside [0, rows()).
  std::string_view text(int64_t row, std::string_view column) const;
  /// A column. Throws: NotFoundError.
  std::vector<std::string> texts(std::string_view column) const;

  /// Columns as numbers, in the order given. Text is read as in C, whatever the
  /// locale; spaces about it do not count.
  /// Shapes: -> f32 [rows, columns]. Throws: NotFoundError; FormatError naming
  /// file, row and column of a cell that is no finite number in the range of
  /// float32, or missing; ValueError for no columns.
  Tensor numbers(const std::vector<std::string>& columns) const;
  /// A column of text as classes, numbered in the order of their texts; of
  /// whole numbers in the order of these ("10" after "9").
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

/// Reads a file of RFC 4180: quotes around cells with separators, quotes or
/// line ends in them. UTF-8, with or without its mark; empty lines are left
/// out. Warns where the header looks like a row of numbers.
/// Throws: IoError; FormatError for a row of more or fewer cells than the first
/// one (naming it), broken quotes, names of columns that are empty or twice
/// there, or no rows; ValueError for a separator that is a quote, a space or a
/// line end.
CsvTable load_csv(const std::filesystem::path& path,
                  const CsvOptions& options = {});

}  // namespace octet::io
