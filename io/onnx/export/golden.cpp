#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <octet/io/data.h>
#include <octet/io/json.h>
#include <octet/io/onnx_reference.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

namespace octet::io {
namespace {

namespace fs = std::filesystem;

GoldenVector write_vector(const fs::path& folder, std::string_view kind,
                          size_t index, const OnnxTensorInfo& info,
                          const Tensor& value) {
  const std::string stem = fmt::format("{}_{}", kind, index);
  GoldenVector vector{info.name, value.shape(), folder / (stem + ".npy"),
                      folder / (stem + ".raw")};
  write_npy(vector.npy, value);
  // Raw files are little-endian, like the machines that run Octet.
  write_file(vector.raw, std::string_view(static_cast<const char*>(value.raw()),
                                          static_cast<size_t>(value.bytes())));
  return vector;
}

/// JSON strings are valid Python strings.
std::string loader_script(std::span<const GoldenVector> inputs) {
  std::string script =
      "\"\"\"The golden inputs for polygraphy's --data-loader-script.\"\"\"\n"
      "import os\n\nimport numpy as np\n\nINPUTS = {\n";
  for (const GoldenVector& input : inputs) {
    script += fmt::format("    {}: \"{}\",\n", to_json(Config(input.name)),
                          input.npy.filename().string());
  }
  return script +
         "}\n\n\ndef load_data():\n"
         "    folder = os.path.dirname(os.path.abspath(__file__))\n"
         "    return [{name: np.load(os.path.join(folder, file))\n"
         "             for name, file in INPUTS.items()}]\n";
}

}  // namespace

GoldenVectors write_golden(const fs::path& onnx, std::span<const Tensor> inputs,
                           const FileLimits& limits) {
  const OnnxReference model = load_onnx_reference(onnx, limits);
  const std::vector<Tensor> outputs = model.predict(inputs);
  const fs::path folder = fs::path(onnx).replace_extension(".golden");
  std::error_code problem;
  fs::create_directories(folder, problem);
  if (problem) {
    throw IoError("cannot_write", folder.string(),
                  "cannot create the folder: " + problem.message());
  }
  GoldenVectors golden;
  for (size_t i = 0; i < inputs.size(); ++i) {
    golden.inputs.push_back(
        write_vector(folder, "input", i, model.inputs()[i], inputs[i]));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    golden.outputs.push_back(
        write_vector(folder, "output", i, model.outputs()[i], outputs[i]));
  }
  golden.loader = folder / "load_inputs.py";
  write_file(golden.loader, loader_script(golden.inputs));
  return golden;
}

}  // namespace octet::io
