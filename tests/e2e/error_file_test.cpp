// OCTET_ERROR_FILE: errors of the programs as JSON.
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <octet/io/json.h>
#include <octet/runtime/file.h>

#include "../io/onnx_models.h"
#include "command.h"

namespace octet {
namespace {

class ErrorFile : public ::testing::Test {
 protected:
  CommandResult run(const std::string& arguments,
                    const std::filesystem::path& error_file) const {
    return run_command(fmt::format("OCTET_ERROR_FILE={} {} {}",
                                   quoted(error_file),
                                   quoted(OCTET_BIN "/octet"), arguments));
  }
  /// Runs octet, which must fail. Returns the error that it wrote.
  Config error_of(const std::string& arguments) const {
    const std::filesystem::path path = folder_ / "error.json";
    EXPECT_NE(run(arguments, path).exit_code, 0);
    return io::from_json(read_file(path));
  }

  TempFolder folder_;
};

TEST_F(ErrorFile, HasTheErrorOfTheLibrary) {
  const std::filesystem::path path = folder_ / "none.h5";
  const Config error = error_of("inspect " + quoted(path));
  EXPECT_EQ(error.at("kind").as_string(), "IoError");
  EXPECT_EQ(error.at("code").as_string(), "file_not_found");
  EXPECT_EQ(error.at("subject").as_string(), path.string());
  EXPECT_EQ(error.at("exit_code").as_int(), 1);
}

// The subject in C++ is OnnxImportOptions.input_shapes.
TEST_F(ErrorFile, NamesOptionsInsteadOfFields) {
  io::save(io::model_of("g (float[N,3,H,W] x) => (float[N,3,H,W] y) {\n"
                        "  y = Neg (x)\n"
                        "}"),
           folder_ / "m.onnx");
  const Config error =
      error_of("plan --input-shape 8,6 " + quoted(folder_ / "m.onnx"));
  EXPECT_EQ(error.at("code").as_string(), "shape_mismatch");
  EXPECT_EQ(error.at("subject").as_string(), "--input-shape");
}

TEST_F(ErrorFile, HasWrongUsage) {
  const Config error = error_of("inspect x.h5 --jsn");
  EXPECT_EQ(error.at("kind").as_string(), "UsageError");
  EXPECT_EQ(error.at("code").as_string(), "unknown_option");
  EXPECT_EQ(error.at("subject").as_string(), "--jsn");
  EXPECT_EQ(error.at("exit_code").as_int(), 2);
}

TEST_F(ErrorFile, HasTheMessageOfStandardError) {
  const CommandResult r = run("plan zoo:none", folder_ / "error.json");
  const Config error = io::from_json(read_file(folder_ / "error.json"));
  EXPECT_EQ(r.output, "error: " + error.at("message").as_string() + "\n");
}

TEST_F(ErrorFile, IsRemovedBySuccess) {
  (void)error_of("--jsn");
  ASSERT_FALSE(folder_.empty());
  EXPECT_EQ(run("inspect zoo:lenet", folder_ / "error.json").exit_code, 0);
  EXPECT_TRUE(folder_.empty());
  EXPECT_EQ(run("--version", folder_ / "error.json").exit_code, 0);
  EXPECT_TRUE(folder_.empty());
}

TEST_F(ErrorFile, IsReplacedInWholeAndLeavesNothingElse) {
  (void)error_of("inspect x.h5 --a-long-option-that-does-not-exist");
  EXPECT_EQ(error_of("--a").at("subject").as_string(), "--a");
  EXPECT_EQ(
      std::distance(std::filesystem::directory_iterator(folder_.path()), {}),
      1);
}

TEST_F(ErrorFile, LeavesOtherFilesAsTheyAre) {
  write_file(folder_ / "model.h5", "{weights}");
  for (const char* arguments : {"inspect zoo:lenet", "inspect none.h5"}) {
    (void)run(arguments, folder_ / "model.h5");
    EXPECT_EQ(read_file(folder_ / "model.h5"), "{weights}") << arguments;
  }
  EXPECT_THAT(run("--jsn", folder_ / "model.h5").warned(),
              ::testing::ElementsAre("OCTET_ERROR_FILE"));
  // A pipe without a reader does not block.
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(run("--jsn", folder_ / "pipe").warned(),
              ::testing::ElementsAre("OCTET_ERROR_FILE"));
}

TEST_F(ErrorFile, OfALinkIsTheTarget) {
  std::filesystem::create_symlink(folder_ / "error.json", folder_ / "link");
  EXPECT_EQ(run("--jsn", folder_ / "link").exit_code, 2);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "error.json"));
  EXPECT_EQ(run("inspect zoo:lenet", folder_ / "link").exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "error.json"));
}

TEST_F(ErrorFile, ThatCannotBeWrittenIsAWarning) {
  for (const auto& [arguments, exit_code] :
       {std::pair{"inspect none.h5", 1}, std::pair{"inspect", 2}}) {
    const CommandResult r = run(arguments, folder_ / "no/error.json");
    EXPECT_EQ(r.exit_code, exit_code) << r.output;
    EXPECT_THAT(r.warned(), ::testing::ElementsAre("OCTET_ERROR_FILE"));
  }
}

TEST_F(ErrorFile, MayBeADevice) {
  const CommandResult r = run("--jsn 2>/dev/null", "/dev/stdout");
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_EQ(r.json().at("subject").as_string(), "--jsn");
  EXPECT_EQ(run("inspect", "").exit_code, 2);
}

}  // namespace
}  // namespace octet
