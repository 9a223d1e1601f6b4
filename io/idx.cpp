#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>

#include <octet/io/data.h>
#include <octet/runtime/error.h>

#include "file_kind.h"

namespace octet::io {
namespace {

constexpr int64_t kMostIdxElements = int64_t{1} << 31;
constexpr uint8_t kUnsignedByte = 0x08;
/// Magic number and one dimension.
constexpr size_t kLeastBytes = 8;
constexpr std::string_view kIdxFile = "an IDX file";

bool is_gzip(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

// Reads the contents of a file, decompressed if gzip. zlib's gz* functions
// would accept trailing garbage and some truncations.
class Source {
 public:
  explicit Source(std::string_view bytes)
      : rest_(bytes), packed_(is_gzip(bytes)) {
    // 16: a gzip header and trailer, whose CRC and size zlib checks.
    if (packed_ && inflateInit2(&stream_, 16 + MAX_WBITS) != Z_OK) {
      throw InternalError("internal", "zlib", "cannot initialize");
    }
  }
  ~Source() {
    if (packed_) inflateEnd(&stream_);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// Reads up to out.size() bytes into `out`; returns the number of bytes.
  size_t read(std::span<uint8_t> out) {
    if (packed_) return unpack(out);
    const size_t count = std::min(out.size(), rest_.size());
    std::memcpy(out.data(), rest_.data(), count);
    rest_.remove_prefix(count);
    return count;
  }

 private:
  size_t unpack(std::span<uint8_t> out) {
    size_t done = 0;
    while (done < out.size() && !finished_) {
      const size_t room = std::min<size_t>(out.size() - done, kMostAtOnce);
      const size_t given = std::min<size_t>(rest_.size(), kMostAtOnce);
      stream_.next_in = reinterpret_cast<Bytef*>(
          const_cast<char*>(rest_.data()));  // zlib's C interface only reads
      stream_.avail_in = static_cast<uInt>(given);
      stream_.next_out = out.data() + done;
      stream_.avail_out = static_cast<uInt>(room);
      const int status = inflate(&stream_, Z_NO_FLUSH);
      rest_.remove_prefix(given - stream_.avail_in);
      done += room - stream_.avail_out;
      if (status == Z_STREAM_END) {
        next_member();
      } else if (status == Z_BUF_ERROR ||
                 (status == Z_OK && rest_.empty() && stream_.avail_out > 0)) {
        throw FormatError("truncated_file", "gzip data",
                          "compressed data ends early");
      } else if (status != Z_OK) {
        throw FormatError(
            "malformed_file", "gzip data",
            stream_.msg != nullptr ? stream_.msg : "corrupt compressed data");
      }
    }
    return done;
  }

  // A gzip file may consist of several members.
  void next_member() {
    if (is_gzip(rest_)) {
      inflateReset(&stream_);
      return;
    }
    finished_ = true;
    if (!rest_.empty()) {
      throw FormatError("malformed_file", "gzip data",
                        fmt::format("{} extra bytes after the compressed data",
                                    rest_.size()));
    }
  }

  static constexpr size_t kMostAtOnce = std::numeric_limits<int>::max();

  std::string_view rest_;
  bool packed_;
  bool finished_ = false;
  z_stream stream_{};
};

void read_header(Source& source, std::span<uint8_t> out) {
  if (const size_t got = source.read(out); got < out.size()) {
    throw FormatError(
        "truncated_file", "IDX header",
        fmt::format("expected {} more bytes, got {}", out.size(), got));
  }
}

/// `bytes` is the whole file, before decompression.
Shape read_shape(Source& source, std::string_view bytes) {
  std::array<uint8_t, 4> magic;
  read_header(source, magic);
  if (magic[0] != 0 || magic[1] != 0) {
    refuse_other_kind(kIdxFile, bytes, {FileKind::gzip});
    throw FormatError(
        "unsupported_format", "IDX magic number",
        fmt::format(
            "expected 00 00 08 and the rank, got {:02x} {:02x} {:02x} {:02x}{}",
            magic[0], magic[1], magic[2], magic[3],
            is_gzip(bytes) ? ". Hint: the gzip file contains another kind of "
                             "file; unpack it with gunzip or tar -xf"
                           : ""));
  }
  if (magic[2] != kUnsignedByte) {
    refuse_other_kind(kIdxFile, bytes, {FileKind::gzip, FileKind::idx});
    throw FormatError(
        "unsupported_type", "IDX element type",
        fmt::format("expected 0x08 (unsigned byte), got 0x{:02x}", magic[2]));
  }
  const int rank = magic[3];
  if (rank < 1 || rank > Shape::kMaxRank) {
    throw FormatError(
        "invalid_shape", "IDX rank",
        fmt::format("must be 1 to {}, got {}", Shape::kMaxRank, rank));
  }
  std::vector<int64_t> dims;
  int64_t limit = kMostIdxElements;
  for (int axis = 0; axis < rank; ++axis) {
    std::array<uint8_t, 4> big_endian;
    read_header(source, big_endian);
    int64_t dim = 0;
    for (const uint8_t byte : big_endian) dim = dim << 8 | byte;
    dims.push_back(dim);
    limit /= std::max<int64_t>(dim, 1);
    if (limit == 0) {
      throw FormatError(
          "size_limit", "IDX shape",
          fmt::format(
              "more than 2^31 elements: the first {} of {} dimensions are {}",
              axis + 1, rank,
              Shape(std::span<const int64_t>(dims)).to_string()));
    }
  }
  return Shape(std::span<const int64_t>(dims));
}

// Allocates in proportion to the data present, not to the size in the header.
std::vector<uint8_t> read_elements(Source& source, const Shape& shape) {
  const size_t expected = static_cast<size_t>(shape.size());
  std::vector<uint8_t> elements;
  while (elements.size() < expected) {
    constexpr size_t kFirstBlock = size_t{1} << 20;
    const size_t have = elements.size();
    const size_t block = std::min(expected - have, std::max(have, kFirstBlock));
    elements.resize(have + block);
    const size_t got = source.read(std::span(elements).subspan(have, block));
    if (got < block) {
      throw FormatError("truncated_file", "IDX data",
                        fmt::format("expected {} elements for shape {}, got {}",
                                    expected, shape.to_string(), have + got));
    }
  }
  // Reading an extra byte also makes zlib check the CRC at the end.
  std::array<uint8_t, 1> extra;
  if (source.read(extra) != 0) {
    throw FormatError(
        "malformed_file", "IDX data",
        fmt::format("more than {} elements, expected for shape {}", expected,
                    shape.to_string()));
  }
  return elements;
}

}  // namespace

Tensor read_idx(const std::filesystem::path& path) {
  const std::string bytes = read_file_as(kIdxFile, path);
  return with_context(
      [&] { return fmt::format("in file '{}'", path.string()); },
      [&] {
        if (bytes.size() < kLeastBytes) refuse_other_kind(kIdxFile, bytes);
        Source source(bytes);
        const Shape shape = read_shape(source, bytes);
        const std::vector<uint8_t> elements = read_elements(source, shape);
        return Tensor::of<uint8_t>(shape, elements);
      });
}

}  // namespace octet::io
