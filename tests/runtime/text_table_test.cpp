#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>

#include "../support.h"

namespace octet {
namespace {

TEST(TextTable, AlignsItsColumns) {
  TextTable table({Align::left, Align::right, Align::left});
  table.add_row({"name", "n", "note"});
  table.add_rule();
  table.add_row({"a", "100", ""}, "");
  table.add_row({"\xc3\xa9t\xc3\xa9s", "7", "four letters"});
  EXPECT_EQ(table.to_string(),
            "name    n  note\n"
            "----  ---  ------------\n"
            "a     100\n"
            "\xc3\xa9t\xc3\xa9s    7  four letters\n");
}

TEST(TextTable, PrefixesLines) {
  TextTable table({Align::left, Align::left});
  table.add_row({"a", "b"}, "+ ");
  table.add_rule("  ");
  table.add_row({"cc", "d"}, "- ");
  EXPECT_EQ(table.to_string(), "+ a   b\n  --  -\n- cc  d\n");
}

TEST(TextTable, SpansTheLastCellOfAShortRow) {
  TextTable table({Align::left, Align::right});
  table.add_row({"a", "b"});
  table.add_row({"all of the line"});
  EXPECT_EQ(table.to_string(), "a  b\nall of the line\n");
  EXPECT_EQ(failure_of<InternalError>([&] {
              table.add_row({"", "", ""});
            }),
            (Failure{"internal", "table"}));
}

class NarrowTextTable : public ::testing::Test {
 protected:
  ~NarrowTextTable() override { set_table_width(0); }
};

TEST_F(NarrowTextTable, ShortensTheMiddleOfWideText) {
  TextTable table({Align::left, Align::right, Align::left});
  table.add_row({"layer", "SQNR", "inputs"}, "  ");
  table.add_rule("  ");
  table.add_row({"block_1_expand", "40.1 dB", "a"}, "  ");
  table.add_row({"block_2_depthwise_quantized", "7 dB", "block_1_expand"},
                "> ");
  table.add_row({"A sentence that is longer than the table and stays whole."});
  const std::string wide = table.to_string();
  set_table_width(43);
  EXPECT_EQ(table.to_string(),
            "  layer                SQNR  inputs\n"
            "  ----------------  -------  --------------\n"
            "  block_1_expand    40.1 dB  a\n"
            "> block_2_\u2026antized     7 dB  block_1_expand\n"
            "A sentence that is longer than the table and stays whole.\n");
  set_table_width(10);  // the least widths
  EXPECT_THAT(
      table.to_string(),
      ::testing::HasSubstr("block_\u2026tized     7 dB  bloc\u2026and\n"));
  set_table_width(200);
  EXPECT_EQ(table.to_string(), wide);
}

TEST_F(NarrowTextTable, ShortensBetweenCharacters) {
  std::string text, head, tail;
  for (int i = 0; i < 20; ++i) text += "\u00e9";
  for (int i = 0; i < 6; ++i) head += "\u00e9";
  for (int i = 0; i < 5; ++i) tail += "\u00e9";
  TextTable table({Align::left});
  table.add_row({text});
  set_table_width(1);
  EXPECT_EQ(table.to_string(), head + "\u2026" + tail + "\n");
}

TEST(TextTable, IsEmptyWithoutRows) {
  EXPECT_EQ(TextTable({}).to_string(), "");
}

TEST(GroupDigits, PutsACommaBeforeEveryThreeDigits) {
  EXPECT_EQ(group_digits(0), "0");
  EXPECT_EQ(group_digits(999), "999");
  EXPECT_EQ(group_digits(1000), "1,000");
  EXPECT_EQ(group_digits(-123456), "-123,456");
  EXPECT_EQ(group_digits(std::numeric_limits<int64_t>::min()),
            "-9,223,372,036,854,775,808");
}

}  // namespace
}  // namespace octet
