// Every reader with every kind of file: errors name the kind and a remedy.
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/detail/checks.h>
#include <octet/io/io.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "../facts.h"
#include "../temp_folder.h"
#include "checkpoint_models.h"
#include "hdf5/writer.h"
#include "idx_files.h"
#include "keras_files.h"
#include "onnx_models.h"

namespace octet::io {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using std::literals::string_literals::operator""s;

/// Returns a bytes field of a protobuf message.
std::string field(int number, const std::string& body) {
  std::string bytes(1, static_cast<char>(number << 3 | 2));
  for (size_t rest = body.size();; rest >>= 7) {
    const auto low = static_cast<char>(rest & 0x7f);
    bytes += rest > 0x7f ? static_cast<char>(low | 0x80) : low;
    if (rest <= 0x7f) return bytes + body;
  }
}

/// Returns a member in the form of Python's zipfile, as far as names matter.
std::string member(const std::string& name) {
  return "PK\x03\x04"s + std::string(22, '\0') +
         static_cast<char>(name.size()) + std::string(3, '\0') + name + "data";
}

std::string saved_model() {
  const std::string info = field(1, field(4, "serve"));
  return "\x08\x01"s + field(2, info + field(2, std::string(300, 'x')));
}

std::string octet_file() {
  const TempFolder folder;
  save_model(branches(), folder / "a.h5");
  return read_file(folder / "a.h5");
}

std::string plain_hdf5() {
  Hdf5Writer writer;
  writer.dataset("temperatures", Tensor::zeros({3}));
  return writer.finish();
}

std::string npy_file() {
  const TempFolder folder;
  write_npy(folder / "a.npy", Tensor::zeros({2, 3}));
  return read_file(folder / "a.npy");
}

std::string tar_file() {
  std::string bytes(1024, '\0');
  bytes.replace(0, 5, "a.txt");
  bytes.replace(257, 5, "ustar");
  return bytes;
}

struct Sample {
  std::string contents;
  std::string what;  ///< its name
  std::string hint;
};

const std::vector<Sample>& samples() {
  static const std::vector<Sample> all = {
      {"", "an empty file", "again"},
      {octet_file(), "an Octet model or checkpoint", "io::load_model"},
      {read_file(keras_golden("k2_functional.h5")), "a Keras HDF5 file",
       "io::load_keras"},
      {read_file(keras_golden("k3_functional.weights.h5")), "a Keras HDF5 file",
       "io::load_keras"},
      // With a user block.
      {std::string(1024, 'x') + read_file(keras_golden("k1_tf.h5")),
       "a Keras HDF5 file", "io::load_keras"},
      {plain_hdf5(), "an HDF5 file without", "numpy.save"},
      {read_file(keras_golden("k3_functional.keras")),
       "a Keras archive (.keras)", "io::load_keras"},
      {member("arr_0.npy"), "NumPy arrays (.npz)", "numpy.load"},
      {member("archive/data.pkl"), "a PyTorch file", "torch.onnx.export"},
      {"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02.",
       "a PyTorch file", "torch.onnx.export"},
      {"\x80\x04\x95\x03\x00\x00\x00\x00\x00\x00\x00]\x94."s, "a Python pickle",
       "numpy.save"},
      {npy_file(), "a NumPy array (.npy)", "io::read_npy"},
      {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"s, "a PNG image", "io::read_image"},
      {"\xff\xd8\xff\xe0\0\x10JFIF\0"s, "a JPEG image", "io::read_image"},
      {"GIF89a\x01\x00\x01\x00"s, "a BMP, GIF", "PNG"},
      {"RIFF\x10\0\0\0WEBPVP8 "s, "a BMP, GIF", "PNG"},
      {gzip("words"), "a gzip file", "gunzip"},
      {tar_file(), "a tar archive", "tar -xf"},
      {idx_header({2, 2}) + "abcd", "an IDX file", "io::read_idx"},
      {conv_model().SerializeAsString(), "an ONNX model", "io::load_onnx"},
      {saved_model(), "a TensorFlow SavedModel", "tf2onnx"},
      {field(1, field(1, "x") + field(2, "Placeholder")) +
           field(1, field(1, "y") + field(2, "Relu") + field(3, "x")),
       "a frozen TensorFlow graph", "tf2onnx"},
      {std::string(64, '\0') + "\x57\xfb\x80\x8b\x24\x75\x47\xdb",
       "a TensorFlow checkpoint", "tf2onnx"},
      {"\x1c\0\0\0TFL3\x14\0\x20\0"s, "a TensorFlow Lite model",
       "io::load_tflite"},
      {"ftrt\0\0\0\0\1\0\0\0"s, "a TensorRT engine", "ONNX file"},
      {"\x10\0\0\0\0\0\0\0{\"__metadata__\""s, "a safetensors file", "ONNX"},
      {"GGUF\3\0\0\0\0\0\0\0"s, "a GGUF file", "ONNX"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n",
       "a Git LFS pointer", "git lfs pull"},
      {"\n<!DOCTYPE html>\n<html><head>", "an HTML page", "download"},
      {"{\"class_name\": \"Sequential\"}", "JSON", "architecture"},
      {"0.1,0.2,0.3\n1,2,3\n", "a text file", "numpy.loadtxt"},
  };
  return all;
}

struct Reader {
  std::string name;
  std::function<void(const std::filesystem::path&)> read;
  /// Words of samples that the reader accepts, or reports differently.
  std::set<std::string> own;
};

const std::vector<Reader>& readers() {
  using Path = std::filesystem::path;
  static const std::vector<Reader> all = {
      {"load_keras",
       [](const Path& path) { (void)load_keras(path); },
       {"a Keras HDF5 file", "a Keras archive (.keras)"}},
      {"load_model",
       [](const Path& path) { (void)load_model(path); },
       {"an Octet model or checkpoint"}},
      {"load_weights",
       [](const Path& path) {
         Model model = branches();
         load_weights(model, path);
       },
       {"an Octet model or checkpoint"}},
      {"load_checkpoint",
       [](const Path& path) { (void)load_checkpoint(path); },
       {"an Octet model or checkpoint"}},
      {"load_onnx",
       [](const Path& path) { (void)load_onnx(path); },
       {"an ONNX model"}},
      {"inspect_onnx",
       [](const Path& path) { (void)inspect_onnx(path); },
       {"an ONNX model"}},
      {"read_npy",
       [](const Path& path) { (void)read_npy(path); },
       {"a NumPy array (.npy)"}},
      {"read_idx",
       [](const Path& path) { (void)read_idx(path); },
       {"an IDX file", "a gzip file"}},
      {"read_image",
       [](const Path& path) { (void)read_image(path, 3); },
       {"a PNG image", "a JPEG image"}},
      {"read_cifar10", [](const Path& path) { (void)read_cifar10(path); }, {}},
      {"read_cifar100",
       [](const Path& path) { (void)read_cifar100(path); },
       {}},
      {"load_spec",
       [](const Path& path) { (void)load_spec(path); },
       {"JSON", "a text file"}},
      {"load_plan",
       [](const Path& path) { (void)load_plan(path); },
       {"JSON", "a text file"}},
      {"KerasOptions::architecture",
       [](const Path& path) {
         (void)load_keras(keras_golden("k3_functional.legacy_weights.h5"),
                          {.architecture = path});
       },
       {"JSON", "a text file"}},
  };
  return all;
}

std::string refusal(const Reader& reader, const std::filesystem::path& path) {
  try {
    reader.read(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(FileKind, IsNamedWithACureByEveryOtherReader) {
  const TempFolder folder;
  int pairs = 0;
  for (const Sample& sample : samples()) {
    // The file name gives no hint.
    write_file(folder / "a.file", sample.contents);
    for (const Reader& reader : readers()) {
      if (reader.own.contains(sample.what)) continue;
      EXPECT_THAT(refusal(reader, folder / "a.file"),
                  AllOf(HasSubstr(sample.what), HasSubstr(sample.hint)))
          << reader.name << " of " << sample.what;
      ++pairs;
    }
  }
  EXPECT_GT(pairs, 350);
}

TEST(FileKind, OfAFolderIsNamedByEveryReader) {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "saved");
  std::filesystem::create_directory(folder / "plain");
  write_file(folder / "saved/saved_model.pb", saved_model());
  for (const Reader& reader : readers()) {
    for (const auto& [name, kind] :
         {std::pair("saved", "got a TensorFlow SavedModel"),
          std::pair("plain", "got a folder")}) {
      EXPECT_THAT(refusal(reader, folder / name), HasSubstr(kind))
          << reader.name;
    }
  }
}

TEST(FileKind, IsDetected) {
  const TempFolder folder;
  write_file(folder / "a", "GGUF\3\0\0\0\0\0\0\0"s);
  EXPECT_EQ(without_hint(describe_file(folder / "a")), "a GGUF file. ");
  write_file(folder / "a", std::string(100, '\x05'));
  EXPECT_EQ(describe_file(folder / "a"), "another kind of file");
  EXPECT_THAT(describe_file(folder.path()), StartsWith("a folder"));
  EXPECT_THROW((void)describe_file(folder / "none"), IoError);
}

TEST(FileKind, OfADamagedFileIsStillDetected) {
  const TempFolder folder;
  const std::string whole = octet_file();
  for (const double share : {0.3, 0.6, 0.9, 0.999}) {
    const auto length =
        static_cast<size_t>(share * static_cast<double>(whole.size()));
    write_file(folder / "a.h5", whole.substr(0, length));
    EXPECT_THAT(refusal(readers()[1], folder / "a.h5"), HasSubstr("truncated"))
        << share;
  }
  const std::string onnx = conv_model().SerializeAsString();
  write_file(folder / "a.onnx", onnx.substr(0, onnx.size() / 2));
  EXPECT_THAT(refusal(readers()[4], folder / "a.onnx"), HasSubstr("truncated"));
}

TEST(FileKind, LeavesUnknownContentsToTheReader) {
  const TempFolder folder;
  write_file(folder / "a", std::string(100, '\x05'));
  for (const Reader& reader : readers()) {
    const std::string text = refusal(reader, folder / "a");
    EXPECT_EQ(without_hint(text), text) << reader.name;
  }
}

TEST(LoadKeras, OfOctetsOwnFileHintsAtLoadModel) {
  const TempFolder folder;
  save_model(branches(), folder / "a.h5");
  EXPECT_THAT(refusal(readers()[0], folder / "a.h5"),
              HasSubstr("io::load_model"));
}

}  // namespace
}  // namespace octet::io
