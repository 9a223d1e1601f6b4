#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/runtime/detail/file_name.h>
#include <octet/runtime/detail/printable.h>
#include <octet/runtime/error.h>

namespace octet {
namespace {

constexpr std::string_view kEngine =
    "export an .onnx file, from which trtexec builds the engine";
constexpr std::string_view kFromOnnx = "export an .onnx file and convert it";
constexpr std::string_view kHdf5 =
    "io::save_model writes .h5, which Octet can load";
constexpr std::string_view kPicture =
    "draw an .svg file, which a browser prints as PDF or saves as an image";
constexpr std::string_view kArray = "io::write_npy writes .npy";
constexpr std::string_view kPacked = "write the file first, then compress it";

constexpr KnownExtension kExtensions[] = {
    {".octet", "an Octet session file",
     "io::save_model writes it (octet convert)"},
    {".onnx", "an ONNX model", "io::export_onnx writes it"},
    {".h5", "an HDF5 file", "io::save_model writes it"},
    {".hdf5", "an HDF5 file", "io::save_model writes it"},
    {".keras", "a Keras archive", kHdf5},
    {".octet", "an Octet session file", "octet convert writes it"},
    {".engine", "a TensorRT engine", kEngine},
    {".plan", "a TensorRT engine", kEngine},
    {".trt", "a TensorRT engine", kEngine},
    {".tflite", "a TensorFlow Lite model", kFromOnnx},
    {".pb", "a TensorFlow graph", kFromOnnx},
    {".mlmodel", "a Core ML model", kFromOnnx},
    {".mlpackage", "a Core ML model", kFromOnnx},
    {".ort", "an ONNX Runtime model", "ONNX Runtime reads .onnx files"},
    {".rknn", "an RKNN model", kFromOnnx},
    {".mnn", "an MNN model", kFromOnnx},
    {".uff", "a TensorRT UFF model", kEngine},
    {".xml", "an XML file, such as OpenVINO's", "OpenVINO reads .onnx files"},
    {".pt", "a PyTorch file", kHdf5},
    {".pth", "a PyTorch file", kHdf5},
    {".pt2", "a PyTorch file", kHdf5},
    {".ckpt", "a PyTorch or TensorFlow checkpoint", kHdf5},
    {".safetensors", "a safetensors file", kHdf5},
    {".gguf", "a GGUF file", kHdf5},
    {".pkl", "a Python pickle", ""},
    {".pickle", "a Python pickle", ""},
    {".npy", "a NumPy array", kArray},
    {".npz", "an archive of NumPy arrays", kArray},
    {".csv", "comma-separated values", ""},
    {".tsv", "tab-separated values", ""},
    {".xlsx", "a spreadsheet", "spreadsheets read .csv files"},
    {".parquet", "a Parquet file", ""},
    {".json", "JSON", ""},
    {".toml", "TOML", ""},
    {".yaml", "YAML", ""},
    {".yml", "YAML", ""},
    {".html", "an HTML page", ""},
    {".htm", "an HTML page", ""},
    {".md", "a Markdown text", ""},
    {".txt", "a plain text", ""},
    {".svg", "an SVG picture", ""},
    {".dot", "a Graphviz graph", ""},
    {".pdf", "a PDF document", kPicture},
    {".png", "a PNG image", kPicture},
    {".jpg", "a JPEG image", kPicture},
    {".jpeg", "a JPEG image", kPicture},
    {".gif", "a GIF image", kPicture},
    {".bmp", "a BMP image", kPicture},
    {".webp", "a WebP image", kPicture},
    {".tif", "a TIFF image", kPicture},
    {".tiff", "a TIFF image", kPicture},
    {".gz", "a gzip file", kPacked},
    {".zip", "a ZIP archive", kPacked},
    {".tar", "a tar archive", kPacked},
    {".xz", "an xz file", kPacked},
    {".zst", "a Zstandard file", kPacked},
    {".bz2", "a bzip2 file", kPacked},
};

std::string folded_extension(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return extension;
}

}  // namespace

const KnownExtension* find_extension(const std::filesystem::path& path) {
  const auto* const found =
      std::ranges::find(kExtensions, std::string_view(folded_extension(path)),
                        &KnownExtension::extension);
  return found == std::end(kExtensions) ? nullptr : found;
}

void check_file_name(const std::filesystem::path& path, std::string_view format,
                     std::initializer_list<std::string_view> own) {
  const KnownExtension* known = find_extension(path);
  if (known == nullptr || std::ranges::count(own, known->extension) > 0) return;
  throw ValueError(
      "unsupported_format", printable(path.string()),
      fmt::format(
          "'{}' is the extension of {}, expected {} ({}){}", known->extension,
          known->format, format, fmt::join(own, ", "),
          known->hint.empty() ? "" : fmt::format(". Hint: {}", known->hint)));
}

}  // namespace octet
