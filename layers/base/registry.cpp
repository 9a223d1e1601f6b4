#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/runtime/error.h>

#include "base/layer_table.h"

namespace octet {
namespace {

std::vector<const LayerDef*>& user_defs() {
  static std::vector<const LayerDef*> defs;
  return defs;
}

bool goes_by(const LayerDef& def, std::string_view name) {
  return def.class_name == name ||
         std::ranges::find(def.keras.aliases, name) != def.keras.aliases.end();
}

}  // namespace

std::string_view canonical_class_name(std::string_view name) {
  if (const size_t package = name.rfind('>'); package != name.npos) {
    name.remove_prefix(package + 1);
  }
  const LayerDef* def = find_layer_def(name);
  return def == nullptr ? name : def->class_name;
}

const LayerDef* find_layer_def(std::string_view name) {
  if (const size_t package = name.rfind('>'); package != name.npos) {
    name.remove_prefix(package + 1);
  }
  if (name.empty()) return nullptr;
  const auto is_it = [&](const LayerDef* def) { return goes_by(*def, name); };
  const auto built_in = built_in_layer_defs();
  const auto found = std::ranges::find_if(built_in, is_it);
  if (found != built_in.end()) return *found;
  const auto user = std::ranges::find_if(user_defs(), is_it);
  return user != user_defs().end() ? *user : nullptr;
}

std::vector<const LayerDef*> layer_defs() {
  const auto built_in = built_in_layer_defs();
  std::vector<const LayerDef*> defs(built_in.begin(), built_in.end());
  std::ranges::sort(defs, {}, &LayerDef::class_name);
  std::vector<const LayerDef*> users = user_defs();
  std::ranges::sort(users, {}, &LayerDef::class_name);
  defs.insert(defs.end(), users.begin(), users.end());
  return defs;
}

void register_layer(const LayerDef& def) {
  const auto expect_new = [](std::string_view name) {
    if (find_layer_def(name) == nullptr) return;
    throw ValueError("duplicate_name", "register_layer",
                     fmt::format("class '{}' already exists", name));
  };
  expect_new(def.class_name);
  for (const std::string_view alias : def.keras.aliases) expect_new(alias);
  user_defs().push_back(&def);
}

std::shared_ptr<Layer> create_layer(std::string_view class_name,
                                    const Config& config) {
  const LayerDef* def = find_layer_def(class_name);
  if (def == nullptr) {
    std::string known;
    for (const LayerDef* each : layer_defs()) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", each->class_name);
    }
    throw UnsupportedError(
        "unsupported_layer", fmt::format("layer class '{}'", class_name),
        fmt::format(
            "unknown class (known: {}). Hint: register_layer() adds custom "
            "classes",
            known));
  }
  return with_context(
      [&] { return fmt::format("in configuration of {}", class_name); },
      [&] { return def->create(config); });
}

}  // namespace octet
