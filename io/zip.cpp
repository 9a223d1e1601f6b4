#include "zip.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <zlib.h>

#include <octet/runtime/error.h>

#include "elements.h"
#include "printable.h"

namespace octet::io {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kDirectoryEntry = 0x02014b50;
constexpr uint32_t kEndOfDirectory = 0x06054b50;
constexpr uint32_t kZip64Locator = 0x07064b50;
constexpr size_t kEndSize = 22;
constexpr size_t kLocatorSize = 20;
constexpr size_t kLongestComment = 65535;

// Flags (APPNOTE 4.4.4) that reading ignores: compression level, sizes after
// the data, names in UTF-8.
constexpr uint16_t kEncrypted = 1 << 0;
constexpr uint16_t kSizesFollow = 1 << 3;
constexpr uint16_t kHarmless = 1 << 1 | 1 << 2 | kSizesFollow | 1 << 11;

constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;

// Reads consecutive little-endian fields.
class Fields {
 public:
  Fields(std::string_view rest, std::string_view what)
      : rest_(rest), what_(what) {}

  uint16_t u16() { return element<uint16_t>(text(2).data(), false); }
  uint32_t u32() { return element<uint32_t>(text(4).data(), false); }
  std::string_view text(size_t bytes) {
    if (bytes > rest_.size()) {
      throw FormatError(
          "truncated_file", fmt::format("ZIP {}", what_),
          fmt::format("expected {} more bytes, got {}", bytes, rest_.size()));
    }
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  void skip(size_t bytes) { text(bytes); }
  void signature(uint32_t expected) {
    if (const uint32_t got = u32(); got != expected) {
      throw FormatError(
          "malformed_file", fmt::format("ZIP {}", what_),
          fmt::format("expected signature {:08x}, got {:08x}", expected, got));
    }
  }
  size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
  std::string_view what_;
};

// Facts that are both in the directory and in the header before the data.
struct Entry {
  std::string_view name;
  uint16_t flags = 0;
  uint16_t method = 0;
  uint32_t crc = 0;
  uint32_t packed = 0;    // bytes
  uint32_t unpacked = 0;  // bytes
};

/// Reads the fields that both headers have in the same order.
void read_common(Fields& fields, Entry& entry) {
  entry.flags = fields.u16();
  entry.method = fields.u16();
  fields.skip(4);  // time and date
  entry.crc = fields.u32();
  entry.packed = fields.u32();
  entry.unpacked = fields.u32();
}

struct Directory {
  size_t start;  // offset in the file: the end of the data
  std::string_view entries;
  size_t count;
};

std::string member_text(std::string_view name) {
  return fmt::format("ZIP member '{}'", printable(name));
}

/// Returns the offset of the end record: the last offset whose comment extends
/// to the end of the file.
size_t find_end(std::string_view contents) {
  if (contents.size() >= kEndSize) {
    const size_t last = contents.size() - kEndSize;
    const size_t first = last - std::min(last, kLongestComment);
    for (size_t at = last + 1; at-- > first;) {
      const char* here = contents.data() + at;
      if (element<uint32_t>(here, false) == kEndOfDirectory &&
          element<uint16_t>(here + kEndSize - 2, false) == last - at) {
        return at;
      }
    }
  }
  throw FormatError("truncated_file", "ZIP file",
                    "no end record: the file is truncated or not a ZIP file");
}

Directory find_directory(std::string_view contents) {
  const size_t end = find_end(contents);
  Fields fields(contents.substr(end), "end record");
  fields.skip(4);
  const uint16_t disk = fields.u16();
  const uint16_t first_disk = fields.u16();
  const uint16_t count_here = fields.u16();
  const uint16_t count = fields.u16();
  const uint32_t size = fields.u32();
  const uint32_t start = fields.u32();
  const bool has_locator =
      end >= kLocatorSize &&
      element<uint32_t>(contents.data() + end - kLocatorSize, false) ==
          kZip64Locator;
  if (has_locator || count == 0xffff || size == ~0u || start == ~0u) {
    throw UnsupportedError(
        "unsupported_format", "ZIP file",
        "the ZIP64 format (over 4 GiB or 65534 members) is not supported");
  }
  if (disk != 0 || first_disk != 0 || count != count_here) {
    throw UnsupportedError("unsupported_format", "ZIP file",
                           "archives of several parts are not supported");
  }
  if (uint64_t{start} + size != end) {
    throw FormatError("malformed_file", "ZIP file",
                      fmt::format("directory must end at {}, got {}", end,
                                  uint64_t{start} + size));
  }
  return {start, contents.substr(start, size), count};
}

void check_sizes(const Entry& entry, const ZipLimits& limits) {
  if (entry.packed == ~0u || entry.unpacked == ~0u) {
    throw UnsupportedError("unsupported_format", member_text(entry.name),
                           "the ZIP64 format (over 4 GiB) is not supported");
  }
  if (entry.unpacked > limits.most_bytes) {
    throw FormatError("size_limit", member_text(entry.name),
                      fmt::format("must have at most {} bytes, got {}",
                                  limits.most_bytes, entry.unpacked));
  }
  if (entry.unpacked > limits.any_ratio_bytes &&
      entry.unpacked / limits.most_ratio > entry.packed) {
    throw FormatError(
        "size_limit", member_text(entry.name),
        fmt::format("must have at most {} times its compressed size of {} "
                    "bytes, got {}",
                    limits.most_ratio, entry.packed, entry.unpacked));
  }
}

void check_entry(const Entry& entry, const ZipLimits& limits) {
  if ((entry.flags & kEncrypted) != 0) {
    throw UnsupportedError("unsupported_format", member_text(entry.name),
                           "encrypted members are not supported");
  }
  if ((entry.flags & ~kHarmless) != 0) {
    throw UnsupportedError("unsupported_format", member_text(entry.name),
                           fmt::format("unknown flags {:04x}", entry.flags));
  }
  if (entry.method != kStored && entry.method != kDeflated) {
    throw UnsupportedError(
        "unsupported_format", member_text(entry.name),
        fmt::format("must be stored or deflated, got compression method {}",
                    entry.method));
  }
  if (entry.method == kStored && entry.packed != entry.unpacked) {
    throw FormatError("malformed_file", member_text(entry.name),
                      fmt::format("expected {} stored bytes, got {}",
                                  entry.unpacked, entry.packed));
  }
  check_sizes(entry, limits);
}

/// Returns the compressed bytes of the member whose header is at `offset`.
std::string_view packed_data(std::string_view contents, size_t offset,
                             const Entry& entry, size_t directory_start) {
  const std::string what = fmt::format("header of '{}'", printable(entry.name));
  const size_t start = std::min(offset, directory_start);
  Fields fields(contents.substr(start, directory_start - start), what);
  fields.signature(kLocalHeader);
  fields.skip(2);  // the version needed
  Entry local;
  read_common(fields, local);
  const uint16_t name_bytes = fields.u16();
  const uint16_t extra_bytes = fields.u16();
  local.name = fields.text(name_bytes);
  fields.skip(extra_bytes);
  const bool sizes_follow = (entry.flags & kSizesFollow) != 0;
  if (local.name != entry.name || local.flags != entry.flags ||
      local.method != entry.method ||
      (!sizes_follow &&
       (local.crc != entry.crc || local.packed != entry.packed ||
        local.unpacked != entry.unpacked))) {
    throw FormatError("malformed_file", member_text(entry.name),
                      "header differs from the directory");
  }
  return fields.text(entry.packed);
}

class Inflater {
 public:
  Inflater() {
    // Negative: raw deflate data without zlib's header and checksum.
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) {
      throw InternalError("internal", "zlib", "cannot initialize");
    }
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

/// Allocates in proportion to the data present, not to the size in the
/// directory.
std::string inflated(std::string_view packed, const Entry& entry) {
  constexpr size_t kBlock = size_t{1} << 20;
  Inflater inflater;
  z_stream& stream = inflater.stream();
  stream.next_in = reinterpret_cast<Bytef*>(
      const_cast<char*>(packed.data()));  // zlib's C interface only reads
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string out;
  int status = Z_OK;
  while (status == Z_OK) {
    // Room for an extra byte detects excess data.
    const size_t have = out.size();
    const size_t room =
        std::min(entry.unpacked + size_t{1} - have, std::max(have, kBlock));
    out.resize(have + room);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + have);
    stream.avail_out = static_cast<uInt>(room);
    status = inflate(&stream, Z_NO_FLUSH);
    out.resize(have + room - stream.avail_out);
    if (out.size() > entry.unpacked) break;
  }
  if (status != Z_STREAM_END || stream.avail_in != 0 ||
      out.size() != entry.unpacked) {
    throw FormatError(
        "malformed_file", member_text(entry.name),
        fmt::format("expected {} bytes of deflated data, got {}",
                    entry.unpacked,
                    stream.msg != nullptr          ? stream.msg
                    : out.size() > entry.unpacked  ? "more"
                    : status != Z_STREAM_END       ? "truncated data"
                    : out.size() != entry.unpacked ? "fewer"
                                                   : "extra bytes after it"));
  }
  return out;
}

void check_crc(std::string_view data, const Entry& entry) {
  const uLong crc =
      crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size());
  if (crc != entry.crc) {
    throw FormatError(
        "checksum_mismatch", member_text(entry.name),
        fmt::format("expected CRC {:08x}, got {:08x}", entry.crc, crc));
  }
}

}  // namespace

bool is_zip(std::string_view contents) {
  return contents.starts_with("PK\x03\x04");
}

std::map<std::string, std::string> read_zip(
    std::string_view contents, std::span<const std::string_view> wanted,
    const ZipLimits& limits) {
  const Directory directory = find_directory(contents);
  Fields fields(directory.entries, "directory");
  std::set<std::string_view> names;
  std::map<std::string, std::string> members;
  for (size_t i = 0; i < directory.count; ++i) {
    fields.signature(kDirectoryEntry);
    fields.skip(4);  // versions
    Entry entry;
    read_common(fields, entry);
    const uint16_t name_bytes = fields.u16();
    const uint16_t extra_bytes = fields.u16();
    const uint16_t comment_bytes = fields.u16();
    const uint16_t disk = fields.u16();
    fields.skip(6);  // attributes
    const uint32_t offset = fields.u32();
    entry.name = fields.text(name_bytes);
    fields.skip(size_t{extra_bytes} + comment_bytes);
    if (!names.insert(entry.name).second) {
      throw FormatError("duplicate_name", member_text(entry.name),
                        "appears twice");
    }
    if (std::find(wanted.begin(), wanted.end(), entry.name) == wanted.end()) {
      continue;
    }
    check_entry(entry, limits);
    if (disk != 0) {
      throw UnsupportedError("unsupported_format", member_text(entry.name),
                             "is in another part of the archive");
    }
    const std::string_view packed =
        packed_data(contents, offset, entry, directory.start);
    std::string data =
        entry.method == kStored ? std::string(packed) : inflated(packed, entry);
    check_crc(data, entry);
    members.emplace(entry.name, std::move(data));
  }
  if (fields.left() != 0) {
    throw FormatError("malformed_file", "ZIP directory",
                      fmt::format("{} extra bytes after {} members",
                                  fields.left(), directory.count));
  }
  return members;
}

}  // namespace octet::io
