#include <limits>

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
