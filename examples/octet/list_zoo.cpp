#include "list_zoo.h"

#include <string>

#include <octet/io/json.h>
#include <octet/layers/zoo.h>
#include <octet/runtime/detail/text_table.h>

#include "model_text.h"

namespace octet::program {
namespace {

std::string networks_as_json() {
  Config::List list;
  for (const zoo::Entry& entry : zoo::entries()) {
    list.push_back(Config()
                       .set("name", entry.name)
                       .set("description", entry.description)
                       .set("input", to_config(entry.input))
                       .set("classes", entry.classes)
                       .set("parameters", entry.parameters));
  }
  return io::to_json(list) + "\n";
}

std::string networks_as_table() {
  TextTable table(
      {Align::left, Align::left, Align::right, Align::right, Align::left});
  table.add_row({"network", "input", "classes", "parameters", ""});
  for (const zoo::Entry& entry : zoo::entries()) {
    table.add_row({std::string(entry.name), entry.input.to_string(),
                   entry.classes == 0 ? "-" : std::to_string(entry.classes),
                   std::to_string(entry.parameters),
                   std::string(entry.description)});
  }
  return table.to_string();
}

}  // namespace

std::string list_zoo(bool json) {
  return json ? networks_as_json() : networks_as_table();
}

}  // namespace octet::program
