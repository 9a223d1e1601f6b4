// octet graph; an XML parser and Graphviz read its drawings.
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/layers/zoo.h>

#include "command.h"

namespace octet {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class OctetGraph : public ::testing::Test {
 protected:
  CommandResult run(const std::string& options) const {
    return run_command(fmt::format("cd {} && {}/octet {} 2>&1",
                                   quoted(folder_.path()), OCTET_BIN, options));
  }
  TempFolder folder_;
};

TEST_F(OctetGraph, DrawsFilesAndNetworks) {
  io::save_model(zoo::make("lenet"), folder_ / "lenet.h5");
  (void)io::export_onnx(zoo::make("unet"), folder_ / "unet.onnx");
  for (const char* line :
       {"graph lenet.h5 -o lenet.svg", "graph unet.onnx -o unet.svg",
        "graph unet.onnx --layers -o layers.svg",
        "graph zoo:inception_small --int8 --target onnxruntime -o i.svg",
        "graph zoo:resnet8 --int8 --policy patterns --unfused -o r.svg"}) {
    const CommandResult r = run(line);
    EXPECT_EQ(r.exit_code, 0) << r.output;
    EXPECT_EQ(r.output, "") << line;
  }
  const CommandResult markup =
      run_venv_script("check_markup.py", folder_.path());
  if (markup.exit_code == 77) GTEST_SKIP() << markup.output;
  EXPECT_EQ(markup.exit_code, 0) << markup.output;
  EXPECT_THAT(markup.output, HasSubstr("5 files"));
}

TEST_F(OctetGraph, IsReadByGraphviz) {
  const CommandResult r = run("graph zoo:resnet8 --int8 --dot > g.dot");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  if (run_command("command -v dot").exit_code != 0) {
    GTEST_SKIP() << "no Graphviz";
  }
  EXPECT_THAT(run_command("dot -Tplain " + quoted(folder_ / "g.dot")).output,
              AllOf(StartsWith("graph "), HasSubstr("edge n0 n1")));
}

TEST_F(OctetGraph, RejectsInvalidArguments) {
  EXPECT_EQ(run("graph zoo:lenet -o out.png").exit_code, 2);
  EXPECT_EQ(run("graph zoo:lenet --target tensorrt9 -o a.svg").failure,
            (Failure{"invalid_value", "--target"}));
  io::save_model(zoo::make("lenet"), folder_ / "in");
  std::filesystem::rename(folder_ / "in", folder_ / "in.svg");
  EXPECT_EQ(run("graph in.svg -o in.svg").failure,
            (Failure{"conflicting_options", "--output"}));
  EXPECT_EQ(run("graph none.onnx -o a.svg").exit_code, 1);
}

}  // namespace
}  // namespace octet
