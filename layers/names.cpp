#include "names.h"

#include <cctype>

namespace octet {
namespace {

bool upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
bool lower(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }

}  // namespace

std::string snake_case(std::string_view name) {
  std::string result;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool word_begins =
        i > 0 && upper(c) &&
        (lower(name[i - 1]) || (i + 1 < name.size() && lower(name[i + 1])));
    if (word_begins) result += '_';
    result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

}  // namespace octet
