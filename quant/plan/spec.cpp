#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/quant/spec.h>
#include <octet/runtime/error.h>

#include "plan/name_pattern.h"

namespace octet::quant {
namespace {

constexpr std::string_view kTargets[] = {"layer", "pattern", "class"};

void check(const SpecEntry& entry) {
  if (entry.name.empty()) {
    throw ValueError("missing_value", "spec",
                     "name of a layer or class must not be empty");
  }
  if (entry.target == SpecTarget::pattern) {
    (void)NamePattern(entry.name);
  }
  std::set<int> seen;
  for (const int index : entry.request.quantization_index) {
    if (index < 0 || !seen.insert(index).second) {
      throw ValueError(
          "invalid_value", fmt::format("spec entry '{}'", entry.name),
          fmt::format(
              "quantization_index must have distinct indices >= 0, got {}{}",
              index, index < 0 ? "" : " twice"));
    }
  }
}

SpecEntry entry_of(const std::string& name, const SpecOptions& options) {
  if (options.is_keras_class && options.is_regex) {
    throw ValueError("conflicting_options",
                     fmt::format("spec entry '{}'", name),
                     "is_keras_class and is_regex exclude each other");
  }
  SpecEntry entry{
      .name = name,
      .target = options.is_keras_class ? SpecTarget::class_
                : options.is_regex     ? SpecTarget::pattern
                                       : SpecTarget::layer,
      .request = {.quantize_input = options.quantize_input,
                  .quantize_weight = options.quantize_weight,
                  .quantization_index = options.quantization_index}};
  check(entry);
  return entry;
}

template <class T>
void check_length(const std::vector<T>& list, size_t names,
                  std::string_view option) {
  if (list.size() <= 1 || list.size() == names) return;
  throw ValueError(
      "count_mismatch", fmt::format("SpecLists.{}", option),
      fmt::format("must have one value or one per name ({}), got {}", names,
                  list.size()));
}

template <class T>
T value_at(const std::vector<T>& list, size_t i, T otherwise) {
  if (list.empty()) return otherwise;
  return list.size() == 1 ? list[0] : list[i];
}

SpecTarget target_of(const std::string& text) {
  const auto at = std::ranges::find(kTargets, text);
  if (at == std::end(kTargets)) {
    throw ValueError(
        "invalid_value", "spec entry",
        fmt::format("target must be layer, pattern or class, got '{}'", text));
  }
  return static_cast<SpecTarget>(at - std::begin(kTargets));
}

std::vector<int> indices_of(const Config& value) {
  constexpr int64_t kMost = 1 << 20;
  std::vector<int> indices;
  for (const Config& index : value.as_list()) {
    const int64_t i = index.as_int();
    if (i < 0 || i > kMost) {
      throw ValueError(
          "out_of_range", "spec entry",
          fmt::format("quantization_index must be in [0,{}], got {}", kMost,
                      i));
    }
    indices.push_back(static_cast<int>(i));
  }
  return indices;
}

void set(SpecEntry& entry, std::string_view key, const Config& value) {
  if (key == "name") {
    entry.name = value.as_string();
  } else if (key == "target") {
    entry.target = target_of(value.as_string());
  } else if (key == "quantize_input") {
    entry.request.quantize_input = value.as_bool();
  } else if (key == "quantize_weight") {
    entry.request.quantize_weight = value.as_bool();
  } else if (key == "quantization_index") {
    entry.request.quantization_index = indices_of(value);
  } else {
    throw ValueError("unknown_option", "spec entry",
                     fmt::format("unknown key '{}', expected name, target, "
                                 "quantize_input, quantize_weight or "
                                 "quantization_index",
                                 key));
  }
}

SpecEntry entry_from(const Config& config) {
  SpecEntry entry{.name = config.at("name").as_string()};
  for (const auto& [key, value] : config.as_object()) {
    with_context([&] { return fmt::format("at '{}'", key); },
                 [&] { set(entry, key, value); });
  }
  check(entry);
  return entry;
}

}  // namespace

void QuantizationSpec::add(const std::string& name,
                           const SpecOptions& options) {
  append(entry_of(name, options));
}

void QuantizationSpec::append(SpecEntry entry) {
  if (entry.target == SpecTarget::layer) {
    by_layer_[entry.name] = entries_.size();
  } else {
    others_.push_back(entries_.size());
  }
  entries_.push_back(std::move(entry));
}

void QuantizationSpec::add(std::initializer_list<std::string> names,
                           const SpecLists& options) {
  add(std::vector<std::string>(names), options);
}

void QuantizationSpec::add(const std::vector<std::string>& names,
                           const SpecLists& options) {
  const size_t n = names.size();
  check_length(options.is_keras_class, n, "is_keras_class");
  check_length(options.is_regex, n, "is_regex");
  check_length(options.quantize_input, n, "quantize_input");
  check_length(options.quantize_weight, n, "quantize_weight");
  check_length(options.quantization_index, n, "quantization_index");
  std::vector<SpecEntry> added;
  for (size_t i = 0; i < n; ++i) {
    added.push_back(entry_of(
        names[i],
        {.is_keras_class = value_at(options.is_keras_class, i, false),
         .is_regex = value_at(options.is_regex, i, false),
         .quantize_input = value_at(options.quantize_input, i, true),
         .quantize_weight = value_at(options.quantize_weight, i, true),
         .quantization_index =
             value_at(options.quantization_index, i, std::vector<int>())}));
  }
  for (SpecEntry& entry : added) append(std::move(entry));
}

const SpecEntry* QuantizationSpec::find(std::string_view layer,
                                        std::string_view layer_class) const {
  const auto named = by_layer_.find(layer);
  if (named != by_layer_.end()) return &entries_[named->second];
  const SpecEntry* best = nullptr;
  for (const size_t i : others_) {
    const SpecEntry& entry = entries_[i];
    const bool fits = entry.target == SpecTarget::pattern
                          ? NamePattern(entry.name).matches(layer)
                          : canonical_class_name(entry.name) ==
                                canonical_class_name(layer_class);
    if (fits && (best == nullptr || entry.target <= best->target)) {
      best = &entry;
    }
  }
  return best;
}

bool QuantizationSpec::names_layer(std::string_view layer) const {
  return by_layer_.contains(layer);
}

Config to_config(const QuantizationSpec& spec) {
  Config::List list;
  for (const SpecEntry& entry : spec.entries()) {
    Config config;
    config.set("name", entry.name)
        .set("target", kTargets[static_cast<size_t>(entry.target)])
        .set("quantize_input", entry.request.quantize_input)
        .set("quantize_weight", entry.request.quantize_weight);
    if (!entry.request.quantization_index.empty()) {
      Config::List indices;
      for (const int i : entry.request.quantization_index) {
        indices.emplace_back(int64_t{i});
      }
      config.set("quantization_index", std::move(indices));
    }
    list.push_back(std::move(config));
  }
  return Config().set("spec", std::move(list));
}

QuantizationSpec spec_from_config(const Config& config) {
  QuantizationSpec spec;
  const Config::List& list = config.at("spec").as_list();
  for (const auto& [key, value] : config.as_object()) {
    if (key == "spec") continue;
    throw ValueError(
        "unknown_option", "spec",
        fmt::format("unknown key '{}', expected only 'spec'", key));
  }
  for (size_t i = 0; i < list.size(); ++i) {
    spec.append(
        with_context([&] { return fmt::format("in entry {} of the spec", i); },
                     [&] { return entry_from(list[i]); }));
  }
  return spec;
}

}  // namespace octet::quant
