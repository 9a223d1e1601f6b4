// Output names with the extension of another format, and outputs that would
// overwrite inputs.
#include <filesystem>
#include <string>
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

using ::testing::HasSubstr;

namespace fs = std::filesystem;

class FileNames : public ::testing::Test {
 protected:
  FileNames() {
    const auto x = input({3}, "x");
    const Model model(x, Dense({.units = 3, .name = "d"})(x));
    io::save_model(model, folder_ / "m.h5");
    io::export_onnx(model, folder_ / "m.onnx");
    io::write_npy(folder_ / "x.npy", Tensor::of<float>({2, 3}, {1, 2, 0,  //
                                                                0, 1, 2}));
    io::write_npy(folder_ / "l.npy", Tensor::of<int64_t>({2}, {2, 1}));
  }

  /// Runs octet with "@" replaced by the folder.
  CommandResult run(std::string arguments) const {
    for (size_t at = arguments.find('@'); at != arguments.npos;
         at = arguments.find('@')) {
      arguments.replace(at, 1, folder_.path().string());
    }
    return run_octet(arguments);
  }
  Failure refusal(const std::string& arguments, int code) const {
    const CommandResult r = run(arguments);
    EXPECT_EQ(r.exit_code, code) << arguments << "\n" << r.output;
    return r.failure;
  }
  std::string text(const char* name) const { return read_file(folder_ / name); }

  TempFolder folder_;
};

TEST_F(FileNames, OfOtherFormatsAreRejectedWithAHint) {
  const struct {
    const char* command;
    const char* hint;
    const char* option = "--output";
  } cases[] = {
      {"convert @/m.h5 @/m.engine", "trtexec"},
      {"convert @/m.h5 @/m.plan", "trtexec"},
      {"quantize @/m.h5 --data @/x.npy -o @/q.h5", "octet train, qat and fold"},
      {"quantize @/m.h5 --data @/x.npy -o @/q.trt", "trtexec"},
      {"qat @/m.h5 --data @/x.npy --labels @/l.npy -o @/q.trt", "trtexec"},
      {"train @/m.h5 --data @/x.npy --labels @/l.npy -o @/t.keras", ".h5"},
      {"fold @/m.h5 -o @/f.pt", ".h5"},
      {"report @/m.h5 --data @/x.npy -o @/r.pdf", ".html"},
      {"graph @/m.h5 -o @/g.png", ".svg"},
      {"predict @/m.h5 --input @/x.npy --output @/y.onnx", ".npy or .csv"},
      {"predict @/m.h5 --input @/x.npy --output @/y.npz", "octet predict"},
      {"plan @/m.h5 --save @/p.toml", ".json", "--save"},
      {"lint @/m.onnx --fix @/m2.engine", "trtexec", "--fix"},
      {"train @/m.h5 --data @/x.npy --labels @/l.npy -o @/t.h5 --log @/l.json",
       ".csv", "--log"},
  };
  for (const auto& [command, hint, option] : cases) {
    const Failure failure = refusal(command, 2);
    EXPECT_EQ(failure, (Failure{"invalid_value", option})) << command;
    EXPECT_THAT(failure.message, HasSubstr(hint));
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 4);
}

TEST_F(FileNames, SelectTheFormatOfResults) {
  const std::string predict = "predict @/m.h5 --input @/x.npy --output @/";
  for (const char* name : {"y.npy", "y", "y.csv", "y.json"}) {
    EXPECT_EQ(run(predict + name).exit_code, 0) << name;
  }
  const Tensor y = io::read_npy(folder_ / "y.npy");
  EXPECT_EQ(text("y"), text("y.npy"));
  const auto at = [&](int i) { return y.f32()[static_cast<size_t>(i)]; };
  EXPECT_EQ(text("y.csv"), fmt::format("0,1,2\n{},{},{}\n{},{},{}\n", at(0),
                                       at(1), at(2), at(3), at(4), at(5)));
  const Config json = io::from_json(text("y.json"));
  EXPECT_EQ(json.at("shape"), Config(Config::List{2, 3}));
  EXPECT_EQ(json.at("dtype").as_string(), "float32");
  const Config& last = json.at("values").as_list()[1].as_list()[2];
  EXPECT_EQ(static_cast<float>(last.as_number()), at(5));
}

TEST_F(FileNames, OfTextFormatsSupportAllShapesAndTypes) {
  io::save(io::model_of("g (float[N,2,1] x) => (float[N,2,1] y, bool[N,2,1] b)"
                        " {\n y = Log (x)\n b = IsNaN (y)\n}"),
           folder_ / "log.onnx");
  io::write_npy(folder_ / "in.npy", Tensor::of<float>({1, 2, 1}, {1, -1}));
  const CommandResult r =
      run("predict @/log.onnx --input @/in.npy --output y=@/y.json "
          "--output b=@/b.csv");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(text("y.json"), HasSubstr("[[0], [null]]"));
  EXPECT_EQ(text("b.csv"), "0_0,1_0\n0,1\n");
}

TEST_F(FileNames, OfInputFilesAreRejectedForOutputs) {
  fs::create_symlink(folder_ / "m.onnx", folder_ / "link.onnx");
  fs::create_hard_link(folder_ / "m.onnx", folder_ / "hard.onnx");
  fs::create_directory(folder_ / "m.golden");
  io::write_npy(folder_ / "m.golden/in.npy", Tensor::zeros({2, 3}));
  write_file(folder_ / "spec.json", R"({"layers": []})");
  const std::string before = text("m.onnx");
  const struct {
    const char* command;
    const char* option = "--output";
  } cases[] = {
      {"convert @/m.onnx @/m.onnx"},
      {"convert @/m.onnx @/./m.onnx"},
      {"convert @/m.onnx -o @/link.onnx"},
      {"convert @/m.onnx @/hard.onnx"},
      {"convert @/link.onnx @/m.onnx"},
      {"lint @/m.onnx --fix @/m.onnx", "--fix"},
      {"lint @/m.onnx --fix @/link.onnx", "--fix"},
      {"quantize @/m.onnx @/m.onnx --data @/x.npy"},
      {"quantize @/m.h5 @/m.onnx --data @/m.golden/in.npy --golden",
       "--golden"},
      {"fold @/m.onnx -o @/m.onnx"},
      {"fold @/m.h5 @/m.h5"},
      {"plan @/m.h5 --spec @/spec.json --save @/spec.json", "--save"},
      {"qat @/m.h5 --data @/x.npy --labels @/l.npy @/m.h5"},
      {"predict @/m.h5 --input @/x.npy --labels @/l.npy --output @/l.npy"},
  };
  for (const auto& [command, option] : cases) {
    const CommandResult r = run(command);
    EXPECT_NE(r.exit_code, 0) << command;
    EXPECT_EQ(r.failure, (Failure{"conflicting_options", option})) << command;
  }
  EXPECT_EQ(refusal("train @/m.h5 --data @/x.npy --labels @/l.npy -o @/t.h5 "
                    "--log @/l.npy",
                    2),
            (Failure{"invalid_value", "--log"}));
  EXPECT_EQ(text("m.onnx"), before);
}

TEST_F(FileNames, OfTwoOutputsMustDiffer) {
  EXPECT_EQ(refusal("train @/m.h5 --data @/x.npy --labels @/l.npy -o @/t.h5 "
                    "--log @/./t.h5",
                    2),
            (Failure{"invalid_value", "--log"}));
  EXPECT_EQ(refusal("train @/m.h5 --data @/x.npy --labels @/l.npy -o "
                    "@/t.onnx --log @/t.csv --checkpoint @/t.csv",
                    1),
            (Failure{"cannot_write", (folder_ / "t.csv").string()}));
}

TEST_F(FileNames, OfInputCheckpointsAreRejected) {
  fs::create_directories(folder_ / "run/train");
  io::save_model(io::load_model(folder_ / "m.h5"),
                 folder_ / "run/train/checkpoint-000000000004.h5");
  EXPECT_EQ(
      refusal("train @/run/train/checkpoint-000000000004.h5 --data @/x.npy "
              "--labels @/l.npy -o @/t.h5 --checkpoint @/run --resume",
              1),
      (Failure{"conflicting_options", "--checkpoint"}));
}

}  // namespace
}  // namespace octet
