// octet compile: C99 source for microcontrollers.
#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>

#include <octet/io/c_code.h>
#include <octet/io/json.h>
#include <octet/runtime/error.h>

#include "../common/program.h"
#include "commands.h"
#include "read_model.h"

namespace octet::program {
namespace {

constexpr const char* kCompileNotes = R"(
Writes model.h, model.c, model_test.c, CMakeLists.txt and report.txt. The code
needs no allocator, operating system or library; it runs one sample per call in
an arena that the caller provides. A quantized model has INT8 inputs if every
consumer quantizes them.

Examples:
  octet quantize model.h5 --data x.npy -o int8.onnx
  octet compile int8.onnx -o firmware/net
  octet compile int8.onnx -o firmware/kws --name kws
)";

struct CompileOptions {
  ModelSource from;
  std::string folder;
  std::string name = "net";
  std::string arithmetic = "float";
  std::string kernels = "portable";
  int64_t golden = 4;
  bool json = false;
};

Config config_of(const io::CReport& report) {
  Config::List layers;
  for (const io::CLayer& layer : report.layers) {
    layers.push_back(Config()
                         .set("layer", layer.layer)
                         .set("op", layer.op)
                         .set("output", layer.output)
                         .set("flash", layer.flash)
                         .set("ram", layer.ram)
                         .set("multiply_adds", layer.multiply_adds));
  }
  return Config()
      .set("name", report.name)
      .set("flash", report.flash)
      .set("arena", report.arena)
      .set("inputs", report.inputs)
      .set("outputs", report.outputs)
      .set("multiply_adds", report.multiply_adds)
      .set("layers", std::move(layers));
}

// A folder is easily taken for a source file.
std::string folder_problem(const std::string& folder) {
  for (const char* extension : {".c", ".h", ".cpp", ".onnx", ".tflite"}) {
    if (folder.ends_with(extension)) {
      return fmt::format(
          "must be a folder, which receives model.c and model.h, "
          "got '{}'",
          folder);
    }
  }
  return "";
}

void compile_model(const CompileOptions& o) {
  const io::COptions options{.name = o.name,
                             .arithmetic = io::c_arithmetic_named(o.arithmetic),
                             .kernels = io::c_kernels_named(o.kernels),
                             .golden = o.golden};
  warn_of_untrained(o.from);
  const io::CReport report =
      io::export_c(read_model(o.from), o.folder, options);
  const auto is_int8 = [](const io::CLayer& layer) {
    return layer.output.starts_with("int");
  };
  if (std::ranges::none_of(report.layers, is_int8)) {
    warn("not_quantized", o.from.what,
         "has no INT8 values, so the code computes in float. Hint: octet "
         "quantize");
  }
  if (o.json) return print(io::to_json(config_of(report)) + "\n");
  print(report.to_string() +
        fmt::format("{}: model.h, model.c, model_test.c, CMakeLists.txt, "
                    "report.txt\n",
                    o.folder));
}

}  // namespace

void add_compile(CommandLine& program) {
  const auto options = std::make_shared<CompileOptions>();
  CompileOptions& o = *options;
  Command command = program.add_command(
      "compile", "Write C99 source of a model for microcontrollers");
  add_model(command, o.from, kModelHelp);
  command.begin_group("Output");
  command
      .add("-o,--output,folder", o.folder,
           "output folder, as argument or with -o")
      .type("DIR")
      .required()
      .check(folder_problem);
  command
      .add("--name", o.name,
           "prefix of functions and, in capitals, of macros (default: net)")
      .type("NAME");
  command
      .add("--arithmetic", o.arithmetic,
           "arithmetic between sums and INT8 outputs: float, bit-identical to "
           "the model, or fixed, integers as in TensorFlow Lite, for models "
           "with INT8 or int16 values everywhere (default: float)")
      .type("float|fixed");
  command
      .add("--kernels", o.kernels,
           "implementation of layers: portable C99, or calls of CMSIS-NN, for "
           "--arithmetic fixed (default: portable)")
      .type("portable|cmsis-nn");
  command
      .add("--golden", o.golden, 1, 1000,
           "number of inputs in model_test.c (default: 4)")
      .type("N");
  command.add_flag("--json", o.json, "print JSON");
  command.set_footer(kCompileNotes);
  command.when_chosen([options] { compile_model(*options); });
}

}  // namespace octet::program
