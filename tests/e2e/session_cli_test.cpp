// Session files on the command line, from C and from Python.
#include <cstring>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/octet.h>

#include "octet_command.h"

namespace octet {
namespace {

class SessionCli : public testing::Test {
 protected:
  SessionCli() {
    const auto image = input({6, 5, 3}, "image");
    auto x = Conv2D({.filters = 17, .padding = Padding::same})(image);
    x = Flatten()(ReLU()(x));
    const Model model(image, Dense({.units = 3, .name = "scores"})(x));
    Model int8 = quant::quantize_model(model);
    (void)quant::calibrate(int8, [&](const Model& m) {
      (void)m.predict(noise({4, 6, 5, 3}));
    });
    io::save_model(int8, file("int8.h5"), {.classes = {"a", "b", "c"}});
    io::export_onnx(int8, file("int8.onnx"));
    io::write_npy(file("x.npy"), noise({3, 6, 5, 3}, 9));
  }
  std::filesystem::path file(std::string_view name) const {
    return folder_ / name;
  }
  std::string named(std::string_view name) const { return quoted(file(name)); }
  CommandResult predict(const std::string& model, const std::string& output) {
    return run_octet(fmt::format("predict {} --input {} --output {}",
                                 named(model), named("x.npy"), named(output)));
  }

  TempFolder folder_;
};

TEST_F(SessionCli, ConvertsFilesOfEveryKind) {
  for (const char* source : {"int8.h5", "int8.onnx"}) {
    SCOPED_TRACE(source);
    for (const char* output : {"model.octet", "model.h5"}) {
      const CommandResult converted = run_octet(
          fmt::format("convert {} -o {}", named(source), named(output)));
      ASSERT_EQ(converted.exit_code, 0) << converted.output;
      EXPECT_THAT(converted.output, testing::HasSubstr("layers"));
    }
    ASSERT_EQ(predict("model.octet", "a.npy").exit_code, 0);
    ASSERT_EQ(predict("model.h5", "b.npy").exit_code, 0);
    EXPECT_EQ(bits(io::read_npy(file("a.npy"))),
              bits(io::read_npy(file("b.npy"))));
  }
}

TEST_F(SessionCli, KeepsTheClassNames) {
  ASSERT_EQ(
      run_octet("convert " + named("int8.h5") + " -o " + named("model.octet"))
          .exit_code,
      0);
  EXPECT_EQ(io::class_names(file("model.octet")),
            (std::vector<std::string>{"a", "b", "c"}));
  const CommandResult r = run_octet("inspect " + named("model.octet"));
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(r.output, testing::HasSubstr("classes: 3 ('a', 'b', 'c')"));
}

TEST_F(SessionCli, WarnsOfRoundedWeights) {
  const std::string model = named("model.octet");
  ASSERT_EQ(run_octet("convert " + named("int8.h5") + " -o " + model).exit_code,
            0);
  const CommandResult r =
      run_octet("convert " + model + " -o " + named("back.h5"));
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_THAT(r.output, testing::HasSubstr("start from the .h5 file"));
  EXPECT_TRUE(run_octet("convert " + model + " -o " + named("a.onnx"))
                  .warned()
                  .empty());
}

TEST_F(SessionCli, ReportsDamage) {
  write_file(file("cut.octet"), read_file(file("int8.h5")).substr(0, 100));
  ASSERT_EQ(
      run_octet("convert " + named("int8.h5") + " -o " + named("model.octet"))
          .exit_code,
      0);
  const std::string whole = read_file(file("model.octet"));
  write_file(file("cut.octet"), whole.substr(0, whole.size() / 2));
  const CommandResult r = predict("cut.octet", "y.npy");
  EXPECT_EQ(r.exit_code, 1) << r.output;
  EXPECT_EQ(r.failure.code, "truncated_file");
}

// Programs in C and Python compute the bits of the command.
TEST_F(SessionCli, ServesOtherLanguages) {
  ASSERT_EQ(
      run_octet("convert " + named("int8.h5") + " -o " + named("model.octet"))
          .exit_code,
      0);
  io::write_npy(file("x.npy"), Tensor::zeros({1, 6, 5, 3}));
  ASSERT_EQ(predict("int8.h5", "y.npy").exit_code, 0);
  const Tensor expected = io::read_npy(file("y.npy"));

  const CommandResult c =
      run_command(quoted(OCTET_BIN "/c_session") + " " + named("model.octet"));
  ASSERT_EQ(c.exit_code, 0) << c.output;
  EXPECT_THAT(c.output, testing::HasSubstr("input image: f32 [N,6,5,3]"));
  EXPECT_THAT(c.output,
              testing::HasSubstr(fmt::format(
                  "output scores: f32 [N,3]\n{:.9g} {:.9g} {:.9g}\n",
                  expected.f32()[0], expected.f32()[1], expected.f32()[2])));
  EXPECT_NE(run_command(quoted(OCTET_BIN "/c_session") + " " + named("x.npy"))
                .exit_code,
            0);

#ifdef OCTET_SANITIZED
  GTEST_SKIP() << "Python does not load instrumented libraries";
#endif
  const CommandResult python = run_command(fmt::format(
      "python3 {} {} {} {}",
      quoted(OCTET_SOURCE_DIR "/tests/oracle/run_session.py"),
      quoted(OCTET_SESSION_LIBRARY), named("model.octet"), named("y.bin")));
  if (python.exit_code == 127) GTEST_SKIP() << "no python3";
  ASSERT_EQ(python.exit_code, 0) << python.output;
  const std::string bytes = read_file(file("y.bin"));
  ASSERT_EQ(bytes.size(), 12u);
  EXPECT_EQ(std::memcmp(bytes.data(), expected.raw(), 12), 0);
}

}  // namespace
}  // namespace octet
