// QuantizationSpec: what the user says about single layers and classes. A
// value that nobody but the user changes.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <octet/quant/qdq_site.h>
#include <octet/runtime/config.h>

namespace octet::quant {

/// What an entry of a spec names.
enum class SpecTarget {
  layer,    ///< the layer of that name
  pattern,  ///< all layers whose whole name matches (an RE2 regex)
  class_,   ///< all layers of that class, or that Keras calls so too
};

/// Fields in order: is_keras_class, is_regex, quantize_input, quantize_weight,
/// quantization_index
struct SpecOptions {
  bool is_keras_class = false;
  bool is_regex = false;
  bool quantize_input = true;
  bool quantize_weight = true;
  /// Which inputs of a layer with several; empty: all.
  std::vector<int> quantization_index = {};
};

/// For several names at once. Each list is empty (the default for all), holds
/// one value for all names, or one a name.
struct SpecLists {
  std::vector<bool> is_keras_class = {};
  std::vector<bool> is_regex = {};
  std::vector<bool> quantize_input = {};
  std::vector<bool> quantize_weight = {};
  std::vector<std::vector<int>> quantization_index = {};
};

struct SpecEntry {
  std::string name;
  SpecTarget target = SpecTarget::layer;
  QdqRequest request = {};
  bool operator==(const SpecEntry&) const = default;
};

class QuantizationSpec {
 public:
  /// Throws: ValueError for an empty name, a name that is a class and a
  /// pattern at once, a regular expression that is none, a negative index or
  /// one given twice.
  void add(const std::string& name, const SpecOptions& options = {});
  /// Throws: as add(); ValueError for a list of another length, naming it.
  /// The spec is then as before.
  void add(std::initializer_list<std::string> names,
           const SpecLists& options = {});
  void add(const std::vector<std::string>& names,
           const SpecLists& options = {});

  std::span<const SpecEntry> entries() const& { return entries_; }
  /// Of a temporary, as in `for (auto& entry : c.case_(model, {}).entries())`.
  std::vector<SpecEntry> entries() && { return std::move(entries_); }
  bool empty() const { return entries_.empty(); }

  /// The entry that holds for a layer, or null: by its name before a pattern
  /// before its class, and the last added of each kind.
  const SpecEntry* find(std::string_view layer,
                        std::string_view layer_class) const;
  /// Whether an entry names the layer itself.
  bool names_layer(std::string_view layer) const;

  bool operator==(const QuantizationSpec&) const = default;

 private:
  friend QuantizationSpec spec_from_config(const Config& config);

  void append(SpecEntry entry);

  std::vector<SpecEntry> entries_;
  std::map<std::string, size_t, std::less<>> by_layer_;  // the last of each
  std::vector<size_t> others_;                           // patterns, classes
};

/// {"spec": [{"name": "conv1", "quantize_weight": false}, ...]}, where an
/// entry may have a "target" ("layer", "pattern" or "class") and has the names
/// of SpecOptions otherwise. What is missing has its default.
Config to_config(const QuantizationSpec& spec);
/// Throws: ValueError, NotFoundError saying what is wrong with which entry.
QuantizationSpec spec_from_config(const Config& config);

}  // namespace octet::quant
