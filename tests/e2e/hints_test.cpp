// The library's messages in the words of the command line.
#include "../../examples/hints.h"

#include <cctype>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/npy.h>
#include <octet/octet.h>

#include "../io/onnx_models.h"
#include "octet_command.h"

namespace octet {
namespace {

using program::on_command_line;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Hints, NameOptionsInsteadOfCalls) {
  EXPECT_EQ(on_command_line("a PNG image. Hint: io::read_image reads it, "
                            "io::load_image_folder a folder of them"),
            "a PNG image. Hint: --data takes a folder of images");
  EXPECT_EQ(
      on_command_line("got [1,3,8,8]. Hint: inputs.transposed({0,2,3,1})"),
      "got [1,3,8,8]. Hint: inputs.transpose((0,2,3,1))");
  EXPECT_EQ(on_command_line("got no. Hint: x.reshaped({1,28}), if so"),
            "got no. Hint: x.reshape((1,28)), if so");
}

TEST(Hints, ThatStillNameCallsAreLeftOut) {
  EXPECT_EQ(on_command_line("a: expected b. Hint: quant::frobnicate(model)"),
            "a: expected b");
  EXPECT_EQ(on_command_line("a\nHint: fit() again\nb"), "a\nb");
  EXPECT_EQ(on_command_line("'onnx::Conv_7': expected b, got predict()"),
            "'onnx::Conv_7': expected b, got predict()");
  EXPECT_EQ(on_command_line("a. Hint: numpy.save(\"x.npy\", x.numpy())"),
            "a. Hint: numpy.save(\"x.npy\", x.numpy())");
}

/// All string literals of a source, with those that stand together joined and
/// escapes resolved.
std::vector<std::string> literals_in(const std::filesystem::path& path) {
  std::string source = read_file(path);
  std::vector<std::string> found;
  bool joined = false;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source.compare(i, 2, "//") == 0) {
      i = source.find('\n', i);
      if (i == std::string::npos) break;
      continue;
    }
    if (source.compare(i, 3, "'\"'") == 0) {
      i += 2;
      joined = false;
    } else if (source[i] == '"') {
      std::string text;
      for (++i; i < source.size() && source[i] != '"'; ++i) {
        if (source[i] == '\\' && source[++i] == 'n') {
          text += '\n';
        } else {
          text += source[i];
        }
      }
      if (joined) {
        found.back() += text;
      } else {
        found.push_back(text);
      }
      joined = true;
    } else if (std::isspace(static_cast<unsigned char>(source[i])) == 0) {
      joined = false;
    }
  }
  return found;
}

/// Of the library, with "{" for the "{{" of formats.
std::string library_messages() {
  std::string all;
  for (const char* module : {"io", "layers", "quant", "runtime", "train"}) {
    const auto folder = std::filesystem::path(OCTET_SOURCE_DIR) / module;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(folder)) {
      const auto extension = entry.path().extension();
      if (extension != ".cpp" && extension != ".h") continue;
      for (const std::string& text : literals_in(entry.path())) {
        all += text + '\x01';
      }
    }
  }
  for (const char* brace : {"{{", "}}"}) {
    for (size_t at = all.find(brace); at != all.npos; at = all.find(brace)) {
      all.erase(at, 1);
    }
  }
  return all;
}

// A phrase that a message has no more makes its row useless: the message then
// shows its call, or loses its hint.
TEST(Hints, OfTheTableAreInTheLibrary) {
  const std::string messages = library_messages();
  for (const program::HintWords& words : program::hint_table()) {
    std::string phrase(words.library);
    // Formatted parts of messages.
    if (phrase ==
        "take losses::sparse_categorical_cross_entropy, or one_hot() "
        "of the data") {
      phrase = "sparse_categorical_cross_entropy, or one_hot() of the data";
    }
    EXPECT_NE(messages.find(phrase), std::string::npos) << phrase;
  }
}

// Messages may name calls in prose that concerns C++ alone; hints never do.
TEST(Hints, OfTheLibraryNameNoCallsOnTheCommandLine) {
  const std::regex call("\\b(io|quant|train|losses|layers)::\\w+");
  std::istringstream messages(library_messages());
  for (std::string text; std::getline(messages, text, '\x01');) {
    const size_t hint = text.find("Hint: ");
    if (hint == text.npos) continue;
    const std::string shown = on_command_line(text.substr(hint));
    EXPECT_FALSE(std::regex_search(shown, call)) << shown;
  }
}

TEST(Hints, ReachTheTerminal) {
  const TempFolder folder;
  io::write_npy(folder / "x.npy", Tensor::zeros({2, 3}));
  write_file(folder / "page.onnx", "<!doctype html><html></html>");
  const CommandResult npy = run_octet("inspect " + quoted(folder / "x.npy"));
  EXPECT_EQ(npy.exit_code, 1);
  EXPECT_THAT(npy.output, AllOf(HasSubstr("--data"), Not(HasSubstr("io::"))));
  // The context comes before the hint.
  const CommandResult page =
      run_octet("inspect " + quoted(folder / "page.onnx"));
  EXPECT_LT(page.output.find("page.onnx"), page.output.find("Hint: "));
}

TEST(Hints, NamePredictOnlyWhereItRuns) {
  const TempFolder folder;
  const auto plan = [&](const char* graph) {
    io::save(io::model_of(graph), folder / "m.onnx");
    return run_octet("plan " + quoted(folder / "m.onnx")).output;
  };
  EXPECT_THAT(
      plan("g (float[N,3] x) => (bool[N,3] y) { y = IsNaN (x) }"),
      AllOf(HasSubstr("octet predict runs it"), Not(HasSubstr("io::"))));
  const std::string random =
      plan("g (float[N,3] x) => (float[N,3] y) { y = RandomNormalLike (x) }");
  EXPECT_THAT(random,
              AllOf(HasSubstr("RandomNormalLike"), Not(HasSubstr("Hint"))));
}

}  // namespace
}  // namespace octet
