// octet report; parsers and a browser read its page.
#include <regex>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/file.h>

#include "../support.h"
#include "command.h"

namespace octet {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

class OctetReport : public ::testing::Test {
 protected:
  OctetReport() {
    const SymbolicTensor x = input({9, 8, 3}, "x");
    SymbolicTensor y =
        Conv2D({.filters = 17, .activation = "relu", .name = "<b>conv</b>"})(x);
    y = GlobalAveragePooling2D({.name = std::string(120, 'n')})(y);
    const Model model(x, Dense({.units = 4, .name = "answer & more"})(y));
    io::save_model(model, folder_ / "float.h5");
    io::write_npy(folder_ / "x.npy", noise({20, 9, 8, 3}));
    Tensor labels({20}, DType::i64);
    for (size_t i = 0; i < 20; ++i) {
      labels.data<int64_t>()[i] = static_cast<int64_t>(i % 4);
    }
    io::write_npy(folder_ / "y.npy", labels);
    Model int8 = quant::quantize_model(model);
    quant::calibrate(int8, Dataset(noise({20, 9, 8, 3}), labels));
    (void)io::export_onnx(int8, folder_ / "int8.onnx");
  }

  CommandResult run(const std::string& options) const {
    return run_command(fmt::format("cd {} && {}/octet {} 2>&1",
                                   quoted(folder_.path()), OCTET_BIN, options));
  }
  std::string page() const { return read_file(folder_ / "report.html"); }
  /// Returns the ids of the elements of the page.
  std::vector<std::string> sections() const {
    static const std::regex id("id=\"([^\"]*)\"");
    const std::string text = page();
    return {std::sregex_token_iterator(text.begin(), text.end(), id, 1), {}};
  }

  TempFolder folder_;
};

TEST_F(OctetReport, EscapesNamesInItsPage) {
  const CommandResult r = run(
      "report int8.onnx --data x.npy --labels y.npy --reference float.h5 "
      "--command 'octet quantize <script>alert' --seconds 0.01 --sensitivity "
      "-o report.html");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  const std::string text = page();
  EXPECT_THAT(text,
              AllOf(HasSubstr("octet quantize &lt;script&gt;alert"),
                    HasSubstr("&lt;b&gt;conv&lt;/b&gt;"),
                    Not(HasSubstr("<b>conv")), Not(HasSubstr("<script>alert")),
                    HasSubstr("prefers-color-scheme")));
  EXPECT_THAT(
      sections(),
      IsSupersetOf({"accuracy", "confusion", "noise", "activations",
                    "quantizers", "sensitivity", "lint", "latency", "graph"}));
  const CommandResult markup =
      run_venv_script("check_markup.py", folder_.path());
  if (markup.exit_code == 77) GTEST_SKIP() << markup.output;
  EXPECT_EQ(markup.exit_code, 0) << markup.output;
  const CommandResult colors =
      run_venv_script("check_colors.py", folder_.path());
  EXPECT_EQ(colors.exit_code, 0) << colors.output;
  const CommandResult rendered =
      run_venv_script("render_report.py", folder_.path());
  if (rendered.exit_code == 77) GTEST_SKIP() << rendered.output;
  EXPECT_EQ(rendered.exit_code, 0) << rendered.output;
}

TEST_F(OctetReport, OmitsUnknownSections) {
  const CommandResult r =
      run("report float.h5 --data x.npy --seconds 0 -o report.html");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(page(), HasSubstr("No accuracy"));
  EXPECT_THAT(sections(), Not(AnyOf(Contains("latency"), Contains("quantizers"),
                                    Contains("confusion"))));
}

TEST_F(OctetReport, NamesQuantizersAtFault) {
  Model int8 = quant::quantize_model(io::load_model(folder_ / "float.h5"));
  quant::calibrate(int8, Dataset(io::read_npy(folder_ / "x.npy"),
                                 io::read_npy(folder_ / "y.npy")));
  const auto q = quant::quantizers(int8)[0];
  q->set_scale(*q->scale() / 50);
  io::save_model(int8, folder_ / "clipped.h5");
  const CommandResult r =
      run("report clipped.h5 --data x.npy --seconds 0 --sensitivity -o "
          "report.html");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(page(), HasSubstr("<td>clipped</td>"));
}

TEST_F(OctetReport, RejectsInvalidArguments) {
  EXPECT_EQ(run("report int8.onnx --data x.npy -o report.txt").exit_code, 2);
  EXPECT_EQ(run("report int8.onnx --data none.npy -o report.html").failure,
            (Failure{"file_not_found", "none.npy"}));
  EXPECT_EQ(
      run("report int8.onnx --data x.npy --target tensort10 -o r.html").failure,
      (Failure{"invalid_value", "--target"}));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "r.html"));
}

}  // namespace
}  // namespace octet
