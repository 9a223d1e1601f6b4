// QuantizationSpec: the user's quantization requests for layers, selected by
// name, name pattern or class. The library never modifies it.
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

/// How the name of a spec entry selects layers.
enum class SpecTarget {
  layer,    ///< layer name
  pattern,  ///< RE2 regular expression that matches the whole layer name
  class_,   ///< layer class or its Keras alias
};

/// Options of an entry. Fields in order: is_keras_class, is_regex,
/// quantize_input, quantize_weight, quantization_index
/// Fields in order: is_keras_class, is_regex, quantize_input, quantize_weight,
/// quantization_index
struct SpecOptions {
  bool is_keras_class = false;  ///< SpecTarget::class_
  bool is_regex = false;        ///< SpecTarget::pattern
  bool quantize_input = true;
  bool quantize_weight = true;
  /// Indices of the quantized inputs of a layer with several inputs; empty:
  /// all.
  std::vector<int> quantization_index = {};
};

/// Options of several entries. A list is empty (default for all names), has one
/// value for all names, or has one value per name.
struct SpecLists {
  std::vector<bool> is_keras_class = {};
  std::vector<bool> is_regex = {};
  std::vector<bool> quantize_input = {};
  std::vector<bool> quantize_weight = {};
  std::vector<std::vector<int>> quantization_index = {};
};

/// A request for all layers that the name selects.
struct SpecEntry {
  std::string name;
  SpecTarget target = SpecTarget::layer;
  QdqRequest request = {};
  bool operator==(const SpecEntry&) const = default;
};

/// An ordered list of entries. At most one of them applies to a layer: find().
class QuantizationSpec {
 public:
  /// Appends an entry.
  /// Throws: ValueError for an empty name, both is_keras_class and is_regex, an
  /// invalid regular expression, or a negative or duplicate index.
  void add(const std::string& name, const SpecOptions& options = {});
  /// Appends an entry per name. If it throws, the spec is unchanged.
  /// Throws: as above; ValueError for a list that has neither one value nor one
  /// per name.
  void add(std::initializer_list<std::string> names,
           const SpecLists& options = {});
  void add(const std::vector<std::string>& names,
           const SpecLists& options = {});

  std::span<const SpecEntry> entries() const& { return entries_; }
  /// Returns the entries of a temporary by value, so that they outlive it:
  /// `for (auto& entry : c.case_(model, {}).entries())`.
  std::vector<SpecEntry> entries() && { return std::move(entries_); }
  bool empty() const { return entries_.empty(); }

  /// Returns the entry that applies to a layer, or null. A layer name precedes
  /// a pattern, a pattern precedes a class; of several entries of one kind the
  /// last applies.
  const SpecEntry* find(std::string_view layer,
                        std::string_view layer_class) const;
  /// Returns whether an entry selects the layer by its name.
  bool names_layer(std::string_view layer) const;

  bool operator==(const QuantizationSpec&) const = default;

 private:
  friend QuantizationSpec spec_from_config(const Config& config);

  void append(SpecEntry entry);

  std::vector<SpecEntry> entries_;
  // Indices into entries_: the last entry per layer name; patterns and classes.
  std::map<std::string, size_t, std::less<>> by_layer_;
  std::vector<size_t> others_;
};

/// Format: {"spec": [{"name": "conv1", "quantize_weight": false}, ...]}.
/// Optional keys of an entry: "target" ("layer", "pattern" or "class"),
/// "quantize_input", "quantize_weight" and "quantization_index".
Config to_config(const QuantizationSpec& spec);
/// Parses the result of to_config().
/// Throws: ValueError for an unknown key or invalid value, NotFoundError for a
/// missing key; both name the entry.
QuantizationSpec spec_from_config(const Config& config);

}  // namespace octet::quant
