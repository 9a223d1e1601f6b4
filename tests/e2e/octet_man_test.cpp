// octet man.
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/file.h>

#include "command.h"

namespace octet {
namespace {

using ::testing::HasSubstr;

TEST(OctetMan, WritesAPagePerCommandWithAllOptions) {
  const TempFolder folder;
  const CommandResult r = run_command(
      fmt::format("{}/octet man '{}' 2>&1", OCTET_BIN, folder.path().string()));
  ASSERT_EQ(r.exit_code, 0) << r.output;
  const std::string program = read_file(folder / "octet.1");
  const std::regex option("--[a-z][a-z0-9-]*");
  const std::regex request("\\.(TH|SH|SS|TP|br|nf|fi)( .*)?");
  const std::regex dash("-");
  int pages = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const std::string page = read_file(entry.path());
    ++pages;
    EXPECT_TRUE(page.starts_with(".TH OCTET")) << entry.path();
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with('.')) continue;
      EXPECT_TRUE(std::regex_match(line, request)) << line;
    }
    const std::string name = entry.path().stem().string();
    if (name == "octet") continue;
    const std::string command = name.substr(std::string("octet-").size());
    EXPECT_THAT(program, HasSubstr("octet\\-" + command));
    const std::string help =
        run_command(fmt::format("{}/octet {} --help", OCTET_BIN, command))
            .output;
    for (auto at = std::sregex_iterator(help.begin(), help.end(), option);
         at != std::sregex_iterator(); ++at) {
      const std::string word = std::regex_replace(at->str(), dash, "\\-");
      EXPECT_THAT(page, HasSubstr(word)) << command;
    }
  }
  EXPECT_GT(pages, 18);
}

TEST(OctetMan, RejectsAMissingFolder) {
  const CommandResult r =
      run_command(fmt::format("{}/octet man /none/at/all 2>&1", OCTET_BIN));
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_EQ(r.failure, (Failure{"file_not_found", "/none/at/all/octet.1"}));
}

}  // namespace
}  // namespace octet
