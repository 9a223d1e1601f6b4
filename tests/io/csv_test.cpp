// Tables of numbers and text.
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/runtime/error.h>

#include "tests/support.h"
#include "tests/temp_folder.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

class Csv : public ::testing::Test {
 protected:
  std::filesystem::path put(const std::string& text) {
    std::ofstream(path(), std::ios::binary) << text;
    return path();
  }
  std::string path() const { return (folder_ / "table.csv").string(); }
  CsvTable load(const std::string& text, const CsvOptions& options = {}) {
    return load_csv(put(text), options);
  }
  Failure refusal(const std::string& text, const CsvOptions& options = {}) {
    return failure_of<Error>([&] { (void)load(text, options); });
  }

  TempFolder folder_;
};

TEST_F(Csv, HasNumbersAndClasses) {
  const CsvTable table =
      load("width,height,kind\n1.5,2,cat\n-3e2,+.5,ant\n 7 ,0x,cat\n");
  EXPECT_EQ(table.rows(), 3);
  EXPECT_THAT(table.columns(), ElementsAre("width", "height", "kind"));
  EXPECT_THAT(values(table.numbers({"width"})), ElementsAre(1.5f, -300, 7));
  const auto [labels, names] = table.classes("kind");
  EXPECT_THAT(names, ElementsAre("ant", "cat"));
  EXPECT_THAT(elements<int64_t>(labels), ElementsAre(1, 0, 1));
  EXPECT_EQ(table.text(2, "height"), "0x");
  EXPECT_THAT(table.texts("kind"), ElementsAre("cat", "ant", "cat"));
  EXPECT_THAT(table.columns_but({"height", "kind"}), ElementsAre("width"));
}

TEST_F(Csv, ReturnsColumnsInTheRequestedOrder) {
  const CsvTable table = load("a,b,c\n1,2,3\n4,5,6\n");
  const Tensor x = table.numbers({"c", "a"});
  EXPECT_EQ(x.shape(), Shape({2, 2}));
  EXPECT_THAT(values(x), ElementsAre(3, 1, 6, 4));
}

TEST_F(Csv, ReadsSpreadsheetExports) {
  // A byte order mark, CRLF, quoted separators, quotes and line ends, an empty
  // line, and no line end after the last row.
  const CsvTable table = load(
      "\xEF\xBB\xBFname;value\r\n\"a;b\";1\r\n\r\n\"say \"\"hi\"\"\";2\r\n"
      "\"two\nlines\";3",
      {.separator = ';'});
  EXPECT_THAT(table.columns(), ElementsAre("name", "value"));
  EXPECT_THAT(table.texts("name"),
              ElementsAre("a;b", "say \"hi\"", "two\nlines"));
  EXPECT_THAT(values(table.numbers({"value"})), ElementsAre(1, 2, 3));
}

TEST_F(Csv, CountsLines) {
  // Line ends of all kinds, empty lines, and cells of several lines.
  const CsvTable table =
      load("a,b\n1,2\r\n\r\n\n\"two\nlines\",\"x\r\ny\"\r3,4\r\r5,6");
  std::vector<int64_t> lines;
  for (int64_t row = 0; row < table.rows(); ++row) {
    lines.push_back(table.line(row));
  }
  EXPECT_THAT(lines, ElementsAre(2, 5, 8, 10));
  EXPECT_EQ(table.text(1, "b"), "x\r\ny");
  EXPECT_EQ(load("1\n2", {.header = false}).line(1), 2);
  EXPECT_THROW((void)table.line(4), ValueError);
  EXPECT_THROW((void)table.line(-1), ValueError);
  try {
    (void)load("a,b\n\n\n1,2,3\n");
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_THAT(error.message(), ::testing::HasSubstr("in line 4"));
  }
}

TEST_F(Csv, AcceptsTablesWithoutNames) {
  const CsvTable table = load("1,2\n3,4\n", {.header = false});
  EXPECT_THAT(table.columns(), ElementsAre("0", "1"));
  EXPECT_THAT(values(table.numbers({"1"})), ElementsAre(2, 4));
  EXPECT_THAT(values(load("1\t2\n", {.separator = '\t', .header = false})
                         .numbers({"0", "1"})),
              ElementsAre(1, 2));
}

TEST_F(Csv, WarnsAboutNumericNames) {
  const WarningCapture warnings;
  (void)load("5.1,3.5\n4.9,3.0\n");
  EXPECT_THAT(warnings.messages,
              ElementsAre(Failure{"numeric_header", path()}));
}

TEST_F(Csv, SortsIntegerClassesNumerically) {
  const auto [labels, names] = load("k\n10\n9\n-1\n10\n").classes("k");
  EXPECT_THAT(names, ElementsAre("-1", "9", "10"));
  EXPECT_THAT(elements<int64_t>(labels), ElementsAre(2, 1, 0, 2));
}

TEST_F(Csv, RejectsNonNumericValues) {
  const auto message = [&](const std::string& cell) {
    return failure_of<FormatError>(
        [&] { (void)load("x,y\n1,2\n1," + cell + "\n").numbers({"y"}); });
  };
  EXPECT_EQ(message("cat"), (Failure{"invalid_value", path()}));
  EXPECT_EQ(message("\"1,5\""), (Failure{"invalid_value", path()}));
  EXPECT_EQ(message(""), (Failure{"missing_value", path()}));
  EXPECT_EQ(message("NaN"), (Failure{"missing_value", path()}));
  EXPECT_EQ(message("inf"), (Failure{"invalid_value", path()}));
  EXPECT_EQ(message("1e60"), (Failure{"invalid_value", path()}));
  EXPECT_EQ(message("1 2"), (Failure{"invalid_value", path()}));
  EXPECT_EQ(message("++1"), (Failure{"invalid_value", path()}));
}

TEST_F(Csv, ReplacesMissingValuesByANumber) {
  const CsvTable table = load("x,y\n1,\nNA,2\n", {.missing = -1.0f});
  EXPECT_THAT(values(table.numbers({"x", "y"})), ElementsAre(1, -1, -1, 2));
  EXPECT_THROW((void)table.classes("y"), FormatError);
}

TEST_F(Csv, RejectsInvalidTables) {
  EXPECT_EQ(refusal("a,b\n1,2\n1,2,3\n"), (Failure{"malformed_file", path()}));
  EXPECT_EQ(refusal("a;b\n1,5;2\n"), (Failure{"malformed_file", path()}));
  EXPECT_EQ(refusal(""), (Failure{"malformed_file", path()}));
  EXPECT_EQ(refusal("\n\n"), (Failure{"malformed_file", path()}));
  EXPECT_EQ(refusal("a,b\n"), (Failure{"malformed_file", path()}));
  EXPECT_EQ(refusal("a,a\n1,2\n"), (Failure{"duplicate_name", path()}));
  EXPECT_EQ(refusal("a,\n1,2\n"), (Failure{"duplicate_name", path()}));
  EXPECT_EQ(refusal("a\nx\"y\n"), (Failure{"malformed_file", path()}));
  EXPECT_EQ(refusal("a\n\"open\n"), (Failure{"malformed_file", path()}));
  for (const std::string mark : {"\xFF\xFE", "\xFE\xFF"}) {
    EXPECT_EQ(refusal(mark + "a,b\n1,2\n"),
              (Failure{"unsupported_format", path()}));
  }
  for (const char separator : {'"', ' ', '\n', '\0'}) {
    EXPECT_THROW((void)load("a\n1\n", {.separator = separator}), ValueError);
  }
  EXPECT_THROW((void)load_csv(folder_.path() / "none.csv"), IoError);
}

TEST_F(Csv, NamesTheNearestColumn) {
  const CsvTable table = load("width,height\n1,2\n");
  EXPECT_EQ(failure_of<NotFoundError>([&] { (void)table.numbers({"widht"}); }),
            (Failure{"unknown_name", "column 'widht'"}));
  EXPECT_THROW((void)table.columns_but({"depth"}), NotFoundError);
  EXPECT_THROW((void)table.classes("depth"), NotFoundError);
  EXPECT_THROW((void)table.texts("depth"), NotFoundError);
  EXPECT_THROW((void)table.text(0, "depth"), NotFoundError);
  EXPECT_THROW((void)table.text(1, "width"), ValueError);
  EXPECT_THROW((void)table.text(-1, "width"), ValueError);
  EXPECT_THROW((void)table.numbers({}), ValueError);
}

}  // namespace
}  // namespace octet::io
