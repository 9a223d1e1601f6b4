#include <algorithm>
#include <cstdint>

#include <octet/runtime/detail/printable.h>

namespace octet {
namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  ///< 0: invalid UTF-8
};

/// Decodes the first character of a text. Source: RFC 3629, section 3.
Character first_of(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  uint32_t code = lead & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0u) != 0x80u) return {};
    code = code << 6 | (next & 0x3fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[bytes] || code > 0x10ffff || is_surrogate) return {};
  return {code, bytes};
}

/// Control characters, line and direction marks, and Unicode noncharacters.
/// Source: Unicode 15, 23.7 and 23.8, and chapter 9 of UAX 9.
bool is_control(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
         code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) ||
         (code >= 0xfdd0 && code <= 0xfdef) || (code & 0xfffe) == 0xfffe;
}

/// Moves the first character of `text` to the end of `to`, sanitized; returns
/// false if `to` would exceed `longest`.
bool move_first(std::string_view& text, std::string& to, size_t longest,
                std::string_view kept) {
  const Character character = first_of(text);
  const size_t bytes = std::max<size_t>(character.bytes, 1);
  if (to.size() + bytes > longest) return false;
  if (character.bytes > 0 &&
      (!is_control(character.code) || kept.find(text[0]) != kept.npos)) {
    to += text.substr(0, bytes);
  } else {
    to += '?';
  }
  text.remove_prefix(bytes);
  return true;
}

}  // namespace

std::string printable(std::string_view text, size_t longest) {
  std::string result;
  while (!text.empty() && move_first(text, result, longest, "")) {
  }
  if (!text.empty()) result += "...";
  return result;
}

std::string printable_lines(std::string_view text) {
  std::string result;
  while (!text.empty() && move_first(text, result, result.max_size(), "\n\t")) {
  }
  return result;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t bytes = first_of(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

}  // namespace octet
