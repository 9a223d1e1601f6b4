#include "printable.h"

namespace octet::io {

std::string printable(std::string_view text, size_t longest) {
  std::string result(text.substr(0, longest));
  for (char& c : result) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  if (text.size() > longest) result += "...";
  return result;
}

}  // namespace octet::io
