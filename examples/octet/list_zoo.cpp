#include "list_zoo.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/layers/zoo.h>

#include "model_text.h"

namespace octet::program {
namespace {

std::string networks_as_json() {
  Config::List list;
  for (const zoo::Entry& entry : zoo::entries()) {
    list.push_back(
        Config()
            .set("name", entry.name)
            .set("description", entry.description)
            .set("input", to_config(entry.input))
            .set("classes", entry.classes)
            .set("parameters", zoo::make(entry.name).parameter_count()));
  }
  return io::to_json(list) + "\n";
}

std::string networks_as_table() {
  using Row = std::array<std::string, 5>;
  std::vector<Row> rows{{"network", "input", "classes", "parameters", ""}};
  for (const zoo::Entry& entry : zoo::entries()) {
    rows.push_back({std::string(entry.name), entry.input.to_string(),
                    entry.classes == 0 ? "-" : std::to_string(entry.classes),
                    std::to_string(zoo::make(entry.name).parameter_count()),
                    std::string(entry.description)});
  }
  std::array<size_t, 5> width{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      width[i] = std::max(width[i], row[i].size());
    }
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = fmt::format("{:<{}}  {:<{}}  {:>{}}  {:>{}}  {}", row[0],
                                   width[0], row[1], width[1], row[2], width[2],
                                   row[3], width[3], row[4]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace

std::string list_zoo(bool json) {
  return json ? networks_as_json() : networks_as_table();
}

}  // namespace octet::program
