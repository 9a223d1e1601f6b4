// The examples that show placement say what they show.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/onnx.h>

#include "command.h"

namespace octet {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Runs an example in `folder`.
CommandResult example(const std::string& name, const TempFolder& folder) {
  return run_command(
      fmt::format("cd {} && {}", quoted(folder.path()),
                  quoted(std::filesystem::path(OCTET_BIN) / name)));
}

/// The lines of `text` that begin with `start`.
std::vector<std::string> lines_of(const std::string& text,
                                  const std::string& start) {
  std::vector<std::string> result;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (line.starts_with(start)) result.push_back(line);
    at = end + 1;
  }
  return result;
}

TEST(AddNewLayer, QuantizesTheLayerOnceItsWrapperIsRegistered) {
  const TempFolder folder;
  const CommandResult r = example("add_new_layer", folder);
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(
      lines_of(r.output, "pairs: "),
      ElementsAre("pairs: 2 activations + 2 weights = 4 per edge, 4 shared",
                  "pairs: 3 activations + 2 weights = 5 per edge, 5 shared"));
  EXPECT_THAT(lines_of(r.output, "pool "),
              ElementsAre(HasSubstr("input 0  int8 [-128,127]")));
  const io::OnnxSummary file = io::inspect_onnx(folder / "add_new_layer.onnx");
  EXPECT_EQ(file.qdq_pairs.size(), 5u);
  std::vector<std::string> readers;
  for (const io::OnnxQdqPair& pair : file.qdq_pairs) {
    readers.push_back(pair.reader);
  }
  EXPECT_THAT(readers, Contains("quant_pool"));
}

TEST(CustomQdqCase, ShowsThePairsOfEachScenario) {
  const TempFolder folder;
  const CommandResult r = example("custom_qdq_case", folder);
  ASSERT_EQ(r.exit_code, 0) << r.output;
  const std::vector<std::string> pairs = lines_of(r.output, "pairs: ");
  ASSERT_EQ(pairs.size(), 5u) << r.output;
  // Default, class Add, ResNetV1, ResNetV1 and every MaxPooling2D.
  EXPECT_EQ(pairs[0],
            "pairs: 5 activations + 4 weights = 9 per edge, 9 shared");
  EXPECT_EQ(pairs[1],
            "pairs: 7 activations + 4 weights = 11 per edge, 10 shared");
  EXPECT_EQ(pairs[2],
            "pairs: 6 activations + 4 weights = 10 per edge, 9 shared");
  EXPECT_EQ(pairs[3],
            "pairs: 7 activations + 4 weights = 11 per edge, 10 shared");
  EXPECT_THAT(lines_of(r.output, "max_pool "),
              ElementsAre(HasSubstr("case MyMaxPool  every MaxPooling2D")));
}

}  // namespace
}  // namespace octet
