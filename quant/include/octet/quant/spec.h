// QuantizationSpec: the user's choices for single layers and classes. Never
// modified by the library.
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

/// Kind of name in a spec entry.
enum class SpecTarget {
  layer,    ///< layer name
  pattern,  ///< RE2 regular expression that matches the whole layer name
  class_,   ///< layer class or its Keras alias
};

/// Fields in order: is_keras_class, is_regex, quantize_input, quantize_weight,
/// quantization_index
struct SpecOptions {
  bool is_keras_class = false;
  bool is_regex = false;
  bool quantize_input = true;
  bool quantize_weight = true;
  /// Input indices for layers with several inputs; empty: all.
  std::vector<int> quantization_index = {};
};

/// Options for several names. Each list is empty (defaults), has one value for
/// all names, or one per name.
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
  /// Throws: ValueError for an empty name, both is_keras_class and is_regex, an
  /// invalid regular expression, and a negative or duplicate index.
  void add(const std::string& name, const SpecOptions& options = {});
  /// Throws: as above; ValueError naming a list of wrong length. The spec is
  /// then unchanged.
  void add(std::initializer_list<std::string> names,
           const SpecLists& options = {});
  void add(const std::vector<std::string>& names,
           const SpecLists& options = {});

  std::span<const SpecEntry> entries() const& { return entries_; }
  /// For temporaries: `for (auto& entry : c.case_(model, {}).entries())`.
  std::vector<SpecEntry> entries() && { return std::move(entries_); }
  bool empty() const { return entries_.empty(); }

  /// Returns the entry for a layer, or null. Precedence: name, pattern, class;
  /// of each the last added.
  const SpecEntry* find(std::string_view layer,
                        std::string_view layer_class) const;
  /// Returns whether an entry names the layer itself.
  bool names_layer(std::string_view layer) const;

  bool operator==(const QuantizationSpec&) const = default;

 private:
  friend QuantizationSpec spec_from_config(const Config& config);

  void append(SpecEntry entry);

  std::vector<SpecEntry> entries_;
  std::map<std::string, size_t, std::less<>> by_layer_;  // last entry of each
  std::vector<size_t> others_;                           // patterns and classes
};

/// Format: {"spec": [{"name": "conv1", "quantize_weight": false}, ...]}.
/// Optional keys of an entry: "target" ("layer", "pattern" or "class") and the
/// fields of SpecOptions.
Config to_config(const QuantizationSpec& spec);
/// Throws: ValueError, NotFoundError naming the faulty entry.
QuantizationSpec spec_from_config(const Config& config);

}  // namespace octet::quant
