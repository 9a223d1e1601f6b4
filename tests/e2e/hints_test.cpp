// Hints of the library on the command line.
#include "../../examples/common/hints.h"

#include <cctype>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
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
  EXPECT_EQ(on_command_line("a PNG image. Hint: read it with io::read_image"),
            "a PNG image. Hint: pass a folder of images as --data");
  EXPECT_EQ(
      on_command_line("got [1,3,8,8]. Hint: inputs.transposed({0,2,3,1})"),
      "got [1,3,8,8]. Hint: inputs.transpose((0,2,3,1))");
  EXPECT_EQ(on_command_line("got no. Hint: x.reshaped({1,28}), if so"),
            "got no. Hint: x.reshape((1,28)), if so");
}

TEST(Hints, NameOptionsInsteadOfFields) {
  EXPECT_EQ(on_command_line("a. Hint: raise SessionOptions::memory_limit "
                            "(command line: --memory-limit)"),
            "a. Hint: raise --memory-limit");
  EXPECT_EQ(on_command_line("a. Hint: raise time_limit (octet: --time-limit)"),
            "a. Hint: raise --time-limit");
  EXPECT_EQ(on_command_line("a. Hint: choose int8 (octet: --weights int8)"),
            "a. Hint: choose int8 (--weights int8)");
  EXPECT_EQ(on_command_line("KerasOptions.input_shapes: must match"),
            "--input-shape: must match");
  EXPECT_EQ(on_command_line("a. Hint: use losses::huber for b"),
            "a. Hint: use --loss huber for b");
}

TEST(Hints, OfImportNameOptionsAndCommands) {
  EXPECT_EQ(
      on_command_line("a. Hint: import the float model with "
                      "OnnxImportOptions.drop_quantizers and quantize it "
                      "again"),
      "a. Hint: octet quantize --drop-quantizers removes the Q/DQ of an ONNX "
      "file and calibrates it anew");
  EXPECT_EQ(
      on_command_line("a. Hint: set them in OnnxImportOptions.input_shapes"),
      "a. Hint: set them in --input-shape");
  // Only files run node by node.
  EXPECT_EQ(on_command_line("a. Hint: use Model::predict()"),
            "a. Hint: octet predict runs the model without a session");
}

TEST(Hints, OfAnErrorCodeAreIndependentOfTheWording) {
  EXPECT_THAT(on_command_line("quantizer 'q': a. Hint: call frobnicate()",
                              "not_calibrated"),
              AllOf(HasSubstr("quantizer 'q': a. Hint: "),
                    HasSubstr("octet quantize"), Not(HasSubstr("()"))));
}

TEST(Hints, KeepTheNumber) {
  EXPECT_THAT(on_command_line("a. Hint: use SGD, ScaleRule::learned_log2, or a "
                              "learning rate up to 1.5e-05"),
              HasSubstr("--rate up to 1.5e-05"));
}

TEST(Hints, ThatNameUnknownCallsAreDropped) {
  EXPECT_EQ(on_command_line("a: expected b. Hint: quant::frobnicate(model)"),
            "a: expected b");
  EXPECT_EQ(on_command_line("a\nHint: step() again\nb"), "a\nb");
  EXPECT_EQ(on_command_line("a. Hint: set .damping = 1 or more"), "a");
  EXPECT_EQ(on_command_line("a. Hint: set CsvOptions.header = false"), "a");
  EXPECT_EQ(on_command_line("'onnx::Conv_7': expected b, got predict()"),
            "'onnx::Conv_7': expected b, got predict()");
  EXPECT_EQ(on_command_line("a. Hint: numpy.save(\"x.npy\", x.numpy())"),
            "a. Hint: numpy.save(\"x.npy\", x.numpy())");
  EXPECT_EQ(on_command_line("a. Hint: model.save(\"m.keras\") in Keras"),
            "a. Hint: model.save(\"m.keras\") in Keras");
}

/// Returns all string literals of a source, with adjacent literals joined and
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

/// Returns all literals of the library, with "{" for the "{{" of formats.
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

// A C++ name that was renamed makes its rule useless: the hint is dropped.
TEST(Hints, OfTheRulesAreInTheLibrary) {
  const std::string messages = library_messages();
  for (const program::HintRule& rule : program::hint_rules()) {
    const std::string_view text = rule.name.empty() ? rule.code : rule.name;
    EXPECT_NE(messages.find(text), std::string::npos) << text;
  }
}

TEST(Hints, OfOptionFieldsAreInTheLibrary) {
  const auto contains = [](std::string_view word) {
    return run_command(fmt::format("cd {} && grep -rqw --include=*.h {} "
                                   "io layers quant runtime train",
                                   quoted(OCTET_SOURCE_DIR), word))
               .exit_code == 0;
  };
  for (const program::OptionName& each : program::option_names()) {
    EXPECT_TRUE(contains(each.type)) << each.type;
    EXPECT_TRUE(contains(each.field)) << each.field;
  }
}

// Other parts of messages may name C++.
TEST(Hints, OfTheLibraryNameNoCalls) {
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
  EXPECT_EQ(npy.failure,
            (Failure{"unsupported_format", (folder / "x.npy").string()}));
  EXPECT_THAT(npy.failure.message,
              AllOf(HasSubstr("--data"), Not(HasSubstr("io::"))));
  // The context precedes the hint.
  const CommandResult page =
      run_octet("inspect " + quoted(folder / "page.onnx"));
  EXPECT_LT(page.output.find("page.onnx"), page.output.find("Hint: "));
}

TEST(Hints, NamePredictOnlyIfItRuns) {
  const TempFolder folder;
  const auto plan = [&](const char* graph) {
    io::save(io::model_of(graph), folder / "m.onnx");
    return run_octet("plan " + quoted(folder / "m.onnx")).output;
  };
  EXPECT_THAT(plan("g (float[N,3] x) => (float[N,3] y) { y = Atan (x) }"),
              AllOf(HasSubstr("octet predict"), Not(HasSubstr("io::"))));
  const std::string random =
      plan("g (float[N,3] x) => (float[N,3] y) { y = RandomNormalLike (x) }");
  EXPECT_THAT(random,
              AllOf(HasSubstr("RandomNormalLike"), Not(HasSubstr("Hint"))));
}

}  // namespace
}  // namespace octet
