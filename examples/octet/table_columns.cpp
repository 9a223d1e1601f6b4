#include "table_columns.h"

#include <string_view>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::program {

void add_columns_option(Command& command, std::string& columns) {
  command
      .add("--columns", columns,
           "columns of a table of images: path=NAME, label=NAME, weight=NAME, "
           "split=NAME (default: path, label, sample_weight, split)")
      .type("LIST");
}

io::ImageColumns columns_of(const std::string& list) {
  io::ImageColumns columns;
  if (list.empty()) return columns;
  std::string_view rest = list;
  while (true) {
    const std::string_view pair = rest.substr(0, rest.find(','));
    const size_t equals = pair.find('=');
    const std::string_view key = pair.substr(0, equals);
    std::string* const name = key == "path"     ? &columns.path
                              : key == "label"  ? &columns.label
                              : key == "weight" ? &columns.weight
                              : key == "split"  ? &columns.split
                                                : nullptr;
    if (name == nullptr || equals == pair.npos || equals + 1 == pair.size() ||
        !name->empty()) {
      throw ValueError(
          "invalid_value", "--columns",
          fmt::format("must be path=NAME, label=NAME, weight=NAME or "
                      "split=NAME, separated by commas, got '{}'",
                      pair));
    }
    *name = pair.substr(equals + 1);
    if (pair.size() == rest.size()) return columns;
    rest.remove_prefix(pair.size() + 1);
  }
}

bool is_table(const io::OpenedData& opened) {
  return opened.kind.starts_with("a table");
}

void check_columns(const std::string& columns, const io::OpenedData& opened) {
  if (columns.empty() || is_table(opened)) return;
  throw ValueError(
      "conflicting_options", "--columns",
      fmt::format("applies to a table of images, got {}", opened.kind));
}

}  // namespace octet::program
