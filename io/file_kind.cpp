#include "file_kind.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <optional>
#include <set>

#include "checkpoint/checksum.h"
#include "elements.h"
#include "hdf5/reader.h"
#include "zip.h"

namespace octet::io {
namespace {

using std::literals::string_view_literals::operator""sv;

bool has(std::string_view contents, std::string_view part, size_t at = 0) {
  return contents.size() >= at && contents.substr(at).starts_with(part);
}
bool holds(std::string_view contents, std::string_view part) {
  return contents.find(part) != contents.npos;
}
uint8_t byte(std::string_view contents, size_t at) {
  return at < contents.size() ? static_cast<uint8_t>(contents[at]) : 0;
}

/// Whether the file ends before the end-of-file address of its superblock.
/// Source: HDF5 File Format Specification 3.0, II.A.
bool is_cut_hdf5(std::string_view contents) {
  constexpr size_t kEndAt[] = {40, 44, 28, 28};  // by version
  const uint8_t version = byte(contents, 8);
  if (!has(contents, "\x89HDF") || version >= std::size(kEndAt)) return false;
  const uint8_t address_bytes = byte(contents, version < 2 ? 13 : 9);
  const size_t at = kEndAt[version];
  if (address_bytes != sizeof(uint64_t)) return false;
  return contents.size() < at + sizeof(uint64_t) ||
         element<uint64_t>(contents.data() + at, /*swapped=*/false) >
             contents.size();
}

/// Attribute names and values are stored as plain text in HDF5 files. Octet's
/// files have Keras' attributes and a checksum or status.
FileKind kind_of_hdf5(std::string_view contents) {
  if (has_checksum(contents) || holds(contents, "\"training_passes\"")) {
    return FileKind::octet_model;
  }
  if (is_cut_hdf5(contents)) return FileKind::cut_hdf5;
  if (holds(contents, "model_config")) return FileKind::keras_h5;
  const bool keras = holds(contents, "layer_names") ||
                     (holds(contents, "layers") && holds(contents, "vars"));
  return keras ? FileKind::keras_h5 : FileKind::hdf5;
}

/// Each member's data follows its name.
FileKind kind_of_zip(std::string_view contents) {
  if (holds(contents, "/data.pkl") || holds(contents, "/constants.pkl")) {
    return FileKind::pytorch;
  }
  if (holds(contents, "config.json") && holds(contents, "model.weights")) {
    return FileKind::keras_archive;
  }
  constexpr size_t kLengthAt = 26, kNameAt = 30;
  if (contents.size() > kNameAt) {
    const auto length =
        element<uint16_t>(contents.data() + kLengthAt, /*swapped=*/false);
    if (contents.substr(kNameAt, length).ends_with(".npy")) {
      return FileKind::npz;
    }
  }
  return FileKind::zip;
}

struct Magic {
  std::string_view bytes;
  FileKind kind;
  size_t at = 0;
};
constexpr Magic kMagics[] = {
    {"\x89OCTET", FileKind::octet_model},
    {"\x93NUMPY", FileKind::npy},
    {"\x89PNG\r\n\x1a\n", FileKind::png},
    {"\xff\xd8\xff", FileKind::jpeg},
    {"GIF8", FileKind::other_image},
    {"WEBP", FileKind::other_image, 8},
    {"II*\0"sv, FileKind::other_image},
    {"MM\0*"sv, FileKind::other_image},
    {"\x1f\x8b", FileKind::gzip},
    {"ustar", FileKind::tar, 257},
    {"TFL3", FileKind::tflite, 4},
    {"GGUF", FileKind::gguf},
    {"ftrt", FileKind::tensorrt_engine},
    {"version https://git-lfs", FileKind::git_lfs_pointer},
    // PyTorch's format before ZIP archives.
    {"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19",
     FileKind::pytorch},
};

FileKind kind_by_magic(std::string_view contents) {
  for (const auto& [bytes, kind, at] : kMagics) {
    if (has(contents, bytes, at)) return kind;
  }
  // LevelDB's magic number, at the end of a table.
  if (contents.ends_with("\x57\xfb\x80\x8b\x24\x75\x47\xdb")) {
    return FileKind::tensorflow_checkpoint;
  }
  return FileKind::unknown;
}

bool is_pickle(std::string_view contents) {
  return byte(contents, 0) == 0x80 && byte(contents, 1) >= 2 &&
         byte(contents, 1) <= 5 && contents.ends_with('.');
}

/// "BM", the file size, four bytes of 0 and a known header size.
bool is_bmp(std::string_view contents) {
  constexpr std::array<uint8_t, 5> kHeaderSizes = {12, 40, 56, 108, 124};
  return has(contents, "BM") && has(contents, "\0\0\0\0"sv, 6) &&
         has(contents, "\0\0\0"sv, 15) &&
         std::ranges::count(kHeaderSizes, byte(contents, 14)) > 0;
}

/// Accepts any element type; read_idx() distinguishes them.
bool is_idx(std::string_view contents) {
  const uint8_t type = byte(contents, 2), rank = byte(contents, 3);
  return contents.size() >= 8 && has(contents, "\0\0"sv) && type >= 0x08 &&
         type <= 0x0e && rank >= 1 && rank <= 8;
}

/// A length of eight bytes, then JSON.
bool is_safetensors(std::string_view contents) {
  if (byte(contents, 8) != '{' || contents.size() < 10) return false;
  const auto length = element<uint64_t>(contents.data(), /*swapped=*/false);
  return length >= 2 && length <= (uint64_t{100} << 20) &&
         byte(contents, 9) == '"';
}

// ---- text

bool is_text(std::string_view contents) {
  constexpr size_t kLooked = 1024;
  return std::ranges::all_of(contents.substr(0, kLooked), [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return (u >= 0x20 && u != 0x7f) || c == '\n' || c == '\r' || c == '\t';
  });
}

FileKind kind_of_text(std::string_view contents) {
  const size_t start = contents.find_first_not_of(" \t\r\n");
  if (start == contents.npos) return FileKind::text;
  std::string word(contents.substr(start, 14));
  for (char& c : word) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (word.starts_with("<!doctype html") || word.starts_with("<html")) {
    return FileKind::html;
  }
  const char first = word.front();
  return first == '{' || first == '[' ? FileKind::json : FileKind::text;
}

// ---- protobuf has no magic number: recognized by field numbers

struct Field {
  uint64_t number = 0;
  bool is_varint = false;
  uint64_t value = 0;          ///< if varint
  std::string_view body = {};  ///< otherwise: its bytes, possibly truncated
};

std::optional<uint64_t> take_varint(std::string_view& rest) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    const uint8_t next = byte(rest, 0);
    rest.remove_prefix(1);
    value |= static_cast<uint64_t>(next & 0x7f) << shift;
    if (next < 0x80) return value;
  }
  return std::nullopt;
}

/// Returns nothing at the end of the fields or if the bytes are no field.
std::optional<Field> take_field(std::string_view& rest) {
  constexpr uint64_t kVarint = 0, kBytes = 2;
  const std::optional<uint64_t> tag = take_varint(rest);
  if (!tag || *tag >> 3 == 0) return std::nullopt;
  Field field{.number = *tag >> 3, .is_varint = (*tag & 7) == kVarint};
  if (!field.is_varint && (*tag & 7) != kBytes) return std::nullopt;
  const std::optional<uint64_t> value = take_varint(rest);
  if (!value) return std::nullopt;
  if (field.is_varint) {
    field.value = *value;
    return field;
  }
  field.body = rest.substr(0, static_cast<size_t>(*value));
  rest.remove_prefix(field.body.size());
  return field;
}

bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::isgraph(static_cast<unsigned char>(c)) != 0;
  });
}

/// A NodeDef: field 1 is the name, field 2 the operation.
bool is_graph_node(std::string_view body) {
  const std::optional<Field> name = take_field(body);
  const std::optional<Field> operation = take_field(body);
  return name && operation && name->number == 1 && operation->number == 2 &&
         is_word(name->body) && is_word(operation->body);
}

/// Source: onnx.proto (ModelProto), saved_model.proto, graph.proto.
FileKind kind_of_protobuf(std::string_view contents) {
  constexpr int kMostFields = 64;
  const std::set<uint64_t> known = {1, 2, 3, 4, 5, 6, 7, 8, 14, 20, 25, 26};
  std::string_view rest = contents;
  std::optional<Field> first, second;
  bool version = false, opset = false, graph = false, others = false;
  for (int i = 0; i < kMostFields; ++i) {
    const std::optional<Field> field = take_field(rest);
    if (!field) break;
    if (i == 0) first = field;
    if (i == 1) second = field;
    version |= field->number == 1 && field->is_varint;
    graph |= field->number == 7 && !field->is_varint;
    opset |= field->number == 8 && !field->is_varint;
    others |= !known.contains(field->number);
  }
  if (graph && (version || opset) && !others) return FileKind::onnx;
  if (!first || first->number != 1) return FileKind::unknown;
  // Version 1, then the graphs, which begin with a message.
  if (first->is_varint && first->value == 1 && second && second->number == 2 &&
      has(second->body, "\x0a")) {
    return FileKind::saved_model;
  }
  return !first->is_varint && is_graph_node(first->body)
             ? FileKind::frozen_graph
             : FileKind::unknown;
}

}  // namespace

FileKind kind_of(std::string_view contents) {
  if (contents.empty()) return FileKind::empty;
  if (is_zip(contents)) return kind_of_zip(contents);
  if (is_hdf5(contents)) return kind_of_hdf5(contents);
  if (const FileKind kind = kind_by_magic(contents);
      kind != FileKind::unknown) {
    return kind;
  }
  if (is_bmp(contents)) return FileKind::other_image;
  if (is_pickle(contents)) return FileKind::pickle;
  if (is_idx(contents)) return FileKind::idx;
  if (is_safetensors(contents)) return FileKind::safetensors;
  if (is_text(contents)) return kind_of_text(contents);
  return kind_of_protobuf(contents);
}

}  // namespace octet::io
