#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <csv.h>
#include <fmt/format.h>

#include <octet/io/data.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "csv_cells.h"

namespace octet::io {

struct CsvTable::Contents {
  std::string path;
  CsvOptions options;
  std::vector<std::string> columns;
  std::string text;            // all cells, concatenated
  std::vector<size_t> ends;    // end of each cell in `text`, row by row
  std::vector<int64_t> lines;  // line in which each row begins

  size_t width() const { return columns.size(); }
  size_t rows() const { return ends.size() / width(); }
  std::string_view cell(size_t row, size_t column) const {
    const size_t i = row * width() + column;
    const size_t first = i == 0 ? 0 : ends[i - 1];
    return std::string_view(text).substr(first, ends[i] - first);
  }
  void expect_row(int64_t row) const {
    if (row >= 0 && row < static_cast<int64_t>(rows())) return;
    throw ValueError("out_of_range", path,
                     fmt::format("row must be in [0,{}), got {}", rows(), row));
  }
  size_t find(std::string_view column) const {
    const auto at = std::ranges::find(columns, column);
    if (at == columns.end()) {
      throw NotFoundError(
          "unknown_name", fmt::format("column '{}'", column),
          fmt::format("not in '{}'{}", path, suggest_names(column, columns)));
    }
    return static_cast<size_t>(at - columns.begin());
  }
};

namespace {

/// Cells reported by libcsv.
struct CellTable {
  std::string text;              // all cells, concatenated
  std::vector<size_t> ends;      // end of each cell in `text`
  std::vector<size_t> row_ends;  // number of cells up to the end of each row
  int64_t first_line = 1;        // line in which the current row begins
  std::vector<int64_t> lines;    // line in which each row begins
};

extern "C" void add_cell(void* cell, size_t size, void* rows) {
  auto& to = *static_cast<CellTable*>(rows);
  if (size > 0) to.text.append(static_cast<const char*>(cell), size);
  to.ends.push_back(to.text.size());
}

extern "C" void end_row(int, void* rows) {
  auto& to = *static_cast<CellTable*>(rows);
  to.row_ends.push_back(to.ends.size());
  to.lines.push_back(to.first_line);
}

/// Returns the length of the first line, with its end: LF, CR LF or CR.
size_t line_length(std::string_view text) {
  const size_t end = text.find_first_of("\r\n");
  if (end == std::string_view::npos) return text.size();
  return text.substr(end).starts_with("\r\n") ? end + 2 : end + 1;
}

/// Owns a parser of libcsv.
class Parser {
 public:
  explicit Parser(char separator) {
    if (csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI) != 0) {
      throw InternalError("internal", "libcsv", "cannot create a parser");
    }
    csv_set_delim(&parser_, static_cast<unsigned char>(separator));
  }
  ~Parser() { csv_free(&parser_); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  CellTable parse(const std::string& path, std::string_view bytes) {
    constexpr int kNoRow = 0;  // libcsv's state between rows
    CellTable rows;
    bool valid = true;
    for (int64_t line = 1; valid && !bytes.empty(); ++line) {
      const size_t length = line_length(bytes);
      if (parser_.pstate == kNoRow) rows.first_line = line;
      valid = csv_parse(&parser_, bytes.data(), length, add_cell, end_row,
                        &rows) == length;
      bytes.remove_prefix(length);
    }
    if (!valid || csv_fini(&parser_, add_cell, end_row, &rows) != 0) {
      throw FormatError("malformed_file", path,
                        fmt::format("row {}: quotes must enclose a whole cell "
                                    "and be doubled inside it",
                                    rows.row_ends.size() + 1));
    }
    return rows;
  }

 private:
  csv_parser parser_;
};

/// Whether a cell is empty or a common missing-value marker of pandas.
bool is_missing(std::string_view text) {
  for (const char* word : {"", "NA", "N/A", "NaN", "nan", "null", "NULL"}) {
    if (text == word) return true;
  }
  return false;
}

std::string hint_for(std::string_view text) {
  if (text.find(',') != std::string_view::npos) {
    return ". Hint: write numbers with a decimal point, 1.5";
  }
  return ". Hint: for a column of text, use classes()";
}

float number_at(const std::string& path, const CsvOptions& options,
                std::string_view column, size_t row, std::string_view cell) {
  const std::string_view text = trimmed(cell);
  if (is_missing(text)) {
    if (options.missing) return *options.missing;
    throw FormatError(
        "missing_value", path,
        fmt::format("no number in row {} of column '{}'{}. Hint: set "
                    "CsvOptions.missing to replace missing values",
                    row + 1, column,
                    text.empty() ? "" : fmt::format(", got '{}'", text)));
  }
  const std::optional<float> value = number_in<float>(text);
  if (!value || !std::isfinite(*value)) {
    throw FormatError(
        "invalid_value", path,
        fmt::format("row {} of column '{}' must be a finite number, got '{}'{}",
                    row + 1, column, text, value ? "" : hint_for(text)));
  }
  return *value;
}

void check_separator(char separator) {
  constexpr std::string_view kNone{"\" \r\n\0", 5};
  if (kNone.find(separator) == std::string_view::npos) return;
  throw ValueError(
      "invalid_value", "CsvOptions.separator",
      fmt::format("must not be a quote, a space, a line end or NUL, got "
                  "character {}. Hint: use ',', ';' or a tab",
                  static_cast<int>(separator)));
}

void check_widths(const std::string& path, const CellTable& rows) {
  if (rows.row_ends.empty()) {
    throw FormatError("malformed_file", path, "no rows");
  }
  const size_t width = rows.row_ends[0];
  for (size_t row = 1; row < rows.row_ends.size(); ++row) {
    const size_t own = rows.row_ends[row] - rows.row_ends[row - 1];
    if (own == width) continue;
    throw FormatError(
        "malformed_file", path,
        fmt::format(
            "rows must have {} cells like the first row, got {} in line {}{}",
            width, own, rows.lines[row],
            width == 1 ? ". Hint: set CsvOptions.separator" : ""));
  }
}

void check_columns(const std::string& path,
                   const std::vector<std::string>& columns) {
  std::set<std::string_view> names;
  for (const std::string& name : columns) {
    if (!name.empty() && names.insert(name).second) continue;
    throw FormatError(
        "duplicate_name", path,
        fmt::format(
            "column names in the first row must be unique and not empty, got "
            "{}. Hint: set CsvOptions.header = false if the file has no header",
            name.empty() ? "an empty name" : fmt::format("'{}' twice", name)));
  }
}

}  // namespace

CsvTable load_csv(const std::filesystem::path& path,
                  const CsvOptions& options) {
  check_separator(options.separator);
  const std::string bytes = read_file(path);
  std::string_view text = bytes;
  // UTF-8 byte order mark.
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    throw FormatError("unsupported_format", path.string(),
                      "text is UTF-16. Hint: save it as UTF-8");
  }
  CellTable rows = Parser(options.separator).parse(path.string(), text);
  check_widths(path.string(), rows);

  auto contents = std::make_shared<CsvTable::Contents>();
  contents->path = path.string();
  contents->options = options;
  const size_t width = rows.row_ends[0];
  contents->columns.resize(width);
  size_t begin = 0;
  for (size_t i = 0; i < width; ++i) {
    contents->columns[i] =
        options.header ? std::string(trimmed(std::string_view(rows.text).substr(
                             begin, rows.ends[i] - begin)))
                       : fmt::format("{}", i);
    begin = rows.ends[i];
  }
  if (options.header) {
    check_columns(contents->path, contents->columns);
    if (std::ranges::all_of(contents->columns, [](const std::string& name) {
          return number_in<float>(name).has_value();
        })) {
      warn("numeric_header", contents->path,
           "the first row looks like numbers but is used as column names. "
           "Hint: set CsvOptions.header = false");
    }
    rows.text.erase(0, begin);
    rows.lines.erase(rows.lines.begin());
    rows.ends.erase(rows.ends.begin(),
                    rows.ends.begin() + static_cast<ptrdiff_t>(width));
    for (size_t& end : rows.ends) end -= begin;
    if (rows.ends.empty()) {
      throw FormatError("malformed_file", contents->path,
                        "no rows below the column names");
    }
  }
  contents->text = std::move(rows.text);
  contents->ends = std::move(rows.ends);
  contents->lines = std::move(rows.lines);
  return CsvTable(std::move(contents));
}

int64_t CsvTable::rows() const {
  return static_cast<int64_t>(contents_->rows());
}

int64_t CsvTable::line(int64_t row) const {
  contents_->expect_row(row);
  return contents_->lines[static_cast<size_t>(row)];
}

const std::vector<std::string>& CsvTable::columns() const {
  return contents_->columns;
}

std::vector<std::string> CsvTable::columns_but(
    const std::vector<std::string>& left_out) const {
  for (const std::string& name : left_out) (void)contents_->find(name);
  std::vector<std::string> kept;
  for (const std::string& name : columns()) {
    if (std::ranges::find(left_out, name) == left_out.end()) {
      kept.push_back(name);
    }
  }
  return kept;
}

std::string_view CsvTable::text(int64_t row, std::string_view column) const {
  contents_->expect_row(row);
  return contents_->cell(static_cast<size_t>(row), contents_->find(column));
}

std::vector<std::string> CsvTable::texts(std::string_view column) const {
  const size_t at = contents_->find(column);
  std::vector<std::string> all;
  for (size_t row = 0; row < contents_->rows(); ++row) {
    all.emplace_back(contents_->cell(row, at));
  }
  return all;
}

Tensor CsvTable::numbers(const std::vector<std::string>& columns) const {
  if (columns.empty()) {
    throw ValueError("missing_value", contents_->path,
                     "numbers() needs at least one column");
  }
  std::vector<size_t> places;
  for (const std::string& name : columns) {
    places.push_back(contents_->find(name));
  }
  Tensor result({rows(), std::ssize(columns)});
  float* to = result.f32().data();
  for (size_t row = 0; row < contents_->rows(); ++row) {
    for (const size_t at : places) {
      *to++ = number_at(contents_->path, contents_->options,
                        contents_->columns[at], row, contents_->cell(row, at));
    }
  }
  return result;
}

CsvClasses CsvTable::classes(std::string_view column) const {
  const std::vector<std::string> texts = this->texts(column);
  bool numbers = true;
  std::set<std::string> names;
  for (size_t row = 0; row < texts.size(); ++row) {
    const std::string_view text = trimmed(texts[row]);
    if (text.empty()) {
      throw FormatError(
          "missing_value", contents_->path,
          fmt::format("no class in row {} of column '{}'", row + 1, column));
    }
    numbers = numbers && number_in<int64_t>(text).has_value();
    names.emplace(text);
  }
  CsvClasses result{Tensor({rows()}, DType::i64), {names.begin(), names.end()}};
  if (numbers) {
    std::ranges::sort(result.names, {}, [](const std::string& name) {
      return *number_in<int64_t>(name);
    });
  }
  std::map<std::string_view, int64_t> number_of;
  for (const std::string& name : result.names) {
    number_of.emplace(name, std::ssize(number_of));
  }
  const auto labels = result.labels.data<int64_t>();
  for (size_t row = 0; row < texts.size(); ++row) {
    labels[row] = number_of.at(trimmed(texts[row]));
  }
  return result;
}

}  // namespace octet::io
