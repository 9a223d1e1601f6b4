// The words for each kind of file: what it is, and what to do with it.
#include <algorithm>
#include <system_error>

#include <fmt/format.h>

#include <octet/io/describe_file.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/shape_hint.h>

#include "file_kind.h"
#include "open_arrays.h"

namespace octet::io {
namespace {

namespace fs = std::filesystem;

struct Words {
  FileKind kind;
  std::string_view what;
  std::string_view cure = {};
  std::string_view option = {};  ///< the cure on the command line, if another
};

constexpr std::string_view kFromTensorFlow =
    "save the model from Keras, model.save(\"model.keras\") or \"model.h5\", "
    "for io::load_keras; or convert it, python -m tf2onnx.convert "
    "--saved-model FOLDER --output model.onnx, for io::load_onnx";
constexpr std::string_view kTensorFlowOption =
    "save the model from Keras, model.save(\"model.keras\") or \"model.h5\"; "
    "or "
    "convert it, python -m tf2onnx.convert --saved-model FOLDER --output "
    "model.onnx";
constexpr std::string_view kFromPyTorch =
    "export the model, torch.onnx.export(model, x, \"model.onnx\"), for "
    "io::load_onnx; save arrays with numpy.save(\"x.npy\", x.numpy()) for "
    "io::read_npy";
constexpr std::string_view kPyTorchOption =
    "export the model, torch.onnx.export(model, x, \"model.onnx\"); save "
    "arrays "
    "with numpy.save(\"x.npy\", x.numpy())";
constexpr std::string_view kWeightsAlone =
    "it has weights alone; export the model as ONNX where it was made, for "
    "io::load_onnx";
constexpr std::string_view kWeightsOption =
    "it has weights alone; export the model as ONNX where it was made";
constexpr std::string_view kModelOption =
    "commands of octet take it as their model, octet inspect shows it";
constexpr std::string_view kImageOption =
    "octet predict takes it as --input, other commands take a folder of images "
    "as --data";

constexpr Words kWords[] = {
    {FileKind::unknown, "another kind of file"},
    {FileKind::empty, "an empty file", "write or download it again"},
    {FileKind::folder, "a folder", "name a file in it"},
    {FileKind::octet_model, "a model or checkpoint of Octet",
     "io::load_model reads it, io::load_weights its weights alone",
     kModelOption},
    {FileKind::keras_h5, "a file of Keras (HDF5)",
     "io::load_keras reads it, io::load_keras_weights its weights alone",
     kModelOption},
    {FileKind::hdf5, "an HDF5 file with neither a model of Keras nor of Octet",
     "save a model from Keras with model.save(\"model.h5\"), arrays with "
     "numpy.save(\"x.npy\", x)"},
    {FileKind::cut_hdf5, "an HDF5 file that is cut short",
     "write or download it again"},
    {FileKind::keras_archive, "a model of Keras (.keras)",
     "io::load_keras reads it, io::load_keras_weights its weights alone",
     kModelOption},
    {FileKind::npz, "an archive of NumPy arrays (.npz)",
     "save one array, numpy.save(\"x.npy\", numpy.load(\"x.npz\")[\"NAME\"]), "
     "for io::read_npy",
     "save one array, numpy.save(\"x.npy\", numpy.load(\"x.npz\")[\"NAME\"])"},
    {FileKind::pytorch, "a file of PyTorch", kFromPyTorch, kPyTorchOption},
    {FileKind::zip, "a ZIP archive", "unpack it"},
    {FileKind::pickle, "a Python pickle",
     "Octet reads none, as they are programs; save arrays with "
     "numpy.save(\"x.npy\", x), take the binary version of CIFAR"},
    {FileKind::npy, "a NumPy array (.npy)",
     "io::read_npy reads it, octet predict takes it as --input",
     "octet predict takes it as --input, other commands take it as --data"},
    {FileKind::png, "a PNG image",
     "io::read_image reads it, io::load_image_folder a folder of them",
     kImageOption},
    {FileKind::jpeg, "a JPEG image",
     "io::read_image reads it, io::load_image_folder a folder of them",
     kImageOption},
    {FileKind::other_image,
     "an image that is neither PNG nor JPEG (BMP, GIF, TIFF or WebP)",
     "convert it to PNG, for instance mogrify -format png FILE"},
    {FileKind::gzip, "a gzip file",
     "unpack it, gunzip or tar -xf; io::read_idx takes IDX files packed",
     "unpack it, gunzip or tar -xf; IDX files may stay packed"},
    {FileKind::tar, "a tar archive", "unpack it, tar -xf"},
    {FileKind::idx, "an IDX file (MNIST's format)", "io::read_idx reads it",
     "commands of octet take the folder of images and labels as --data"},
    {FileKind::onnx, "an ONNX model",
     "io::load_onnx reads it as a model, octet inspect shows it", kModelOption},
    {FileKind::saved_model, "a TensorFlow SavedModel", kFromTensorFlow,
     kTensorFlowOption},
    {FileKind::frozen_graph, "a frozen graph of TensorFlow (.pb)",
     "convert it, python -m tf2onnx.convert --graphdef FILE --inputs x:0 "
     "--outputs y:0 --output model.onnx, for io::load_onnx",
     "convert it, python -m tf2onnx.convert --graphdef FILE --inputs x:0 "
     "--outputs y:0 --output model.onnx"},
    {FileKind::tensorflow_checkpoint, "a checkpoint of TensorFlow",
     kFromTensorFlow, kTensorFlowOption},
    {FileKind::tflite, "a TensorFlow Lite model",
     "save the model that it was made of from Keras, "
     "model.save(\"model.keras\"), for io::load_keras; or convert it, python "
     "-m tf2onnx.convert --tflite FILE --output model.onnx, for io::load_onnx",
     "save the model that it was made of from Keras, "
     "model.save(\"model.keras\"); or convert it, python -m tf2onnx.convert "
     "--tflite FILE --output model.onnx"},
    {FileKind::tensorrt_engine, "a TensorRT engine",
     "it runs on one kind of GPU only; take the ONNX file that it was built "
     "from"},
    {FileKind::safetensors, "a safetensors file", kWeightsAlone,
     kWeightsOption},
    {FileKind::gguf, "a GGUF file", kWeightsAlone, kWeightsOption},
    {FileKind::git_lfs_pointer, "a pointer of Git LFS in place of the file",
     "git lfs pull fetches it"},
    {FileKind::html, "an HTML page",
     "a download gave the page instead of the file; download it again"},
    {FileKind::json, "JSON",
     "KerasOptions::architecture (--architecture) takes a model.to_json() "
     "beside the weights; io::load_spec and io::load_plan read those of "
     "quantization",
     "--architecture takes a model.to_json() beside the weights; --spec takes "
     "one of quantization"},
    {FileKind::text, "a text file",
     "numbers become an array with numpy.save(\"x.npy\", "
     "numpy.loadtxt(\"x.csv\", delimiter=\",\"))"},
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
    if (words.cure.empty()) return std::string(words.what);
    const bool option =
        hint_style() == HintStyle::command_line && !words.option.empty();
    return fmt::format("{}. Hint: {}", words.what,
                       option ? words.option : words.cure);
  }
  throw InternalError("file kind: expected words for each, got none");
}

void refuse_other_kind(std::string_view expected, std::string_view contents,
                       std::initializer_list<FileKind> own) {
  const FileKind kind = kind_of(contents);
  if (kind == FileKind::unknown || std::ranges::count(own, kind) > 0) return;
  throw FormatError(
      fmt::format("file: expected {}, got {}", expected, described(kind)));
}

std::string read_file_as(std::string_view expected, const fs::path& path,
                         int64_t limit) {
  if (is_folder(path)) {
    throw IoError(fmt::format("{}: expected {}, got {}", path.string(),
                              expected, described(kind_of_folder(path))));
  }
  return read_file(path, limit);
}

std::string describe_file(const fs::path& path) {
  return described(is_folder(path) ? kind_of_folder(path)
                                   : kind_of(read_file(path)));
}

}  // namespace octet::io
