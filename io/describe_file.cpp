// Descriptions of file kinds, and hints how to use such a file.
#include <algorithm>
#include <system_error>

#include <fmt/format.h>

#include <octet/io/detail/checks.h>
#include <octet/runtime/detail/shape_hint.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "file_kind.h"
#include "open_arrays.h"

namespace octet::io {
namespace {

namespace fs = std::filesystem;

struct Words {
  FileKind kind;
  std::string_view what;
  std::string_view hint = {};
  std::string_view option = {};  ///< hint on the command line, if different
};

constexpr std::string_view kFromTensorFlow =
    "in Keras, save the model with model.save(\"model.keras\") and load it "
    "with io::load_keras; or convert it with python -m tf2onnx.convert "
    "--saved-model FOLDER --output model.onnx and load it with io::load_onnx";
constexpr std::string_view kTensorFlowOption =
    "in Keras, save the model with model.save(\"model.keras\"); or convert it "
    "with python -m tf2onnx.convert --saved-model FOLDER --output model.onnx";
constexpr std::string_view kFromPyTorch =
    "export a model with torch.onnx.export(model, x, \"model.onnx\") and load "
    "it with io::load_onnx; save an array with numpy.save(\"x.npy\", "
    "x.numpy()) and read it with io::read_npy";
constexpr std::string_view kPyTorchOption =
    "export a model with torch.onnx.export(model, x, \"model.onnx\"); save an "
    "array with numpy.save(\"x.npy\", x.numpy())";
constexpr std::string_view kWeightsAlone =
    "it contains weights but no model; export the model as ONNX from its "
    "framework and load it with io::load_onnx";
constexpr std::string_view kWeightsOption =
    "it contains weights but no model; export the model as ONNX from its "
    "framework";
constexpr std::string_view kModelOption =
    "pass it as MODEL; octet inspect shows it";
constexpr std::string_view kImageOption =
    "octet predict accepts it as --input, other commands a folder of images as "
    "--data";

constexpr Words kWords[] = {
    {FileKind::unknown, "another kind of file"},
    {FileKind::empty, "an empty file", "write or download it again"},
    {FileKind::folder, "a folder", "name a file in it"},
    {FileKind::octet_model, "an Octet model or checkpoint",
     "load it with io::load_model, its weights alone with io::load_weights",
     kModelOption},
    {FileKind::keras_h5, "a Keras HDF5 file",
     "load it with io::load_keras, its weights alone with "
     "io::load_keras_weights",
     kModelOption},
    {FileKind::hdf5, "an HDF5 file without a Keras or Octet model",
     "save a model from Keras with model.save(\"model.h5\"), an array with "
     "numpy.save(\"x.npy\", x)"},
    {FileKind::cut_hdf5, "a truncated HDF5 file", "write or download it again"},
    {FileKind::keras_archive, "a Keras archive (.keras)",
     "load it with io::load_keras, its weights alone with "
     "io::load_keras_weights",
     kModelOption},
    {FileKind::npz, "an archive of NumPy arrays (.npz)",
     "save an array with numpy.save(\"x.npy\", "
     "numpy.load(\"x.npz\")[\"NAME\"]) and read it with io::read_npy",
     "save an array with numpy.save(\"x.npy\", "
     "numpy.load(\"x.npz\")[\"NAME\"])"},
    {FileKind::pytorch, "a PyTorch file", kFromPyTorch, kPyTorchOption},
    {FileKind::zip, "a ZIP archive", "unpack it"},
    {FileKind::pickle, "a Python pickle",
     "Octet does not read pickles, which can run code; save arrays with "
     "numpy.save(\"x.npy\", x); for CIFAR, download the binary version"},
    {FileKind::npy, "a NumPy array (.npy)",
     "read it with io::read_npy, samples with labels with io::open_data",
     "octet predict accepts it as --input, other commands as --data"},
    {FileKind::png, "a PNG image",
     "read it with io::read_image, a folder of images with "
     "io::load_image_folder",
     kImageOption},
    {FileKind::jpeg, "a JPEG image",
     "read it with io::read_image, a folder of images with "
     "io::load_image_folder",
     kImageOption},
    {FileKind::other_image, "a BMP, GIF, TIFF or WebP image",
     "convert it to PNG: mogrify -format png FILE"},
    {FileKind::gzip, "a gzip file",
     "unpack it with gunzip or tar -xf; io::read_idx reads compressed IDX "
     "files",
     "unpack it with gunzip or tar -xf; IDX files may stay compressed"},
    {FileKind::tar, "a tar archive", "unpack it with tar -xf"},
    {FileKind::idx, "an IDX file (MNIST's format)", "read it with io::read_idx",
     "pass the folder of its images and labels as --data"},
    {FileKind::onnx, "an ONNX model", "load it with io::load_onnx",
     kModelOption},
    {FileKind::saved_model, "a TensorFlow SavedModel", kFromTensorFlow,
     kTensorFlowOption},
    {FileKind::frozen_graph, "a frozen TensorFlow graph (.pb)",
     "convert it with python -m tf2onnx.convert --graphdef FILE --inputs x:0 "
     "--outputs y:0 --output model.onnx and load it with io::load_onnx",
     "convert it with python -m tf2onnx.convert --graphdef FILE --inputs x:0 "
     "--outputs y:0 --output model.onnx"},
    {FileKind::tensorflow_checkpoint, "a TensorFlow checkpoint",
     kFromTensorFlow, kTensorFlowOption},
    {FileKind::tflite, "a TensorFlow Lite model",
     "load it with io::load_tflite",
     "octet convert FILE.tflite -o FILE.onnx converts it"},
    {FileKind::tensorrt_engine, "a TensorRT engine",
     "an engine runs on one GPU model only; use the ONNX file it was built "
     "from"},
    {FileKind::safetensors, "a safetensors file", kWeightsAlone,
     kWeightsOption},
    {FileKind::gguf, "a GGUF file", kWeightsAlone, kWeightsOption},
    {FileKind::git_lfs_pointer, "a Git LFS pointer instead of the file",
     "run git lfs pull"},
    {FileKind::html, "an HTML page",
     "a download returned a web page instead of the file; download it again"},
    {FileKind::json, "JSON",
     "for a Keras model.to_json(), set KerasOptions::architecture and load the "
     "weights file; read a quantization spec with io::load_spec, a plan with "
     "io::load_plan",
     "pass a Keras model.to_json() as --architecture, a quantization spec as "
     "--spec"},
    {FileKind::text, "a text file",
     "convert numbers with numpy.save(\"x.npy\", numpy.loadtxt(\"x.csv\", "
     "delimiter=\",\"))"},
};

FileKind kind_of_folder(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "saved_model.pb", ignored) ? FileKind::saved_model
                                                        : FileKind::folder;
}

}  // namespace

std::string described(FileKind kind) {
  for (const Words& words : kWords) {
    if (words.kind != kind) continue;
    if (words.hint.empty()) return std::string(words.what);
    const bool option =
        hint_style() == HintStyle::command_line && !words.option.empty();
    return fmt::format("{}. Hint: {}", words.what,
                       option ? words.option : words.hint);
  }
  throw InternalError("internal", "file kind", "no description");
}

void refuse_other_kind(std::string_view expected, std::string_view contents,
                       std::initializer_list<FileKind> own) {
  const FileKind kind = kind_of(contents);
  if (kind == FileKind::unknown || std::ranges::count(own, kind) > 0) return;
  throw FormatError(
      "unsupported_format", "file",
      fmt::format("expected {}, got {}", expected, described(kind)));
}

std::string read_file_as(std::string_view expected, const fs::path& path,
                         int64_t limit) {
  if (is_folder(path)) {
    throw IoError("unsupported_format", path.string(),
                  fmt::format("expected {}, got {}", expected,
                              described(kind_of_folder(path))));
  }
  return read_file(path, limit);
}

std::string describe_file(const fs::path& path) {
  return described(is_folder(path) ? kind_of_folder(path)
                                   : kind_of(read_file(path)));
}

}  // namespace octet::io
