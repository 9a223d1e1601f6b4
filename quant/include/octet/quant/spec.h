// Selection of the tensors to quantize: sites, specs and insertion cases.
#pragma once

#include <algorithm>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/config.h>
#include <octet/runtime/detail/language.h>

namespace octet::quant {

// QdqSite: a position at a layer where a Q/DQ pair can be inserted. QdqSites:
// the sites of a layer class.

/// Position of a site relative to its layer.
enum class SiteKind {
  input,         ///< between a tensor and a consuming layer
  intermediate,  ///< intermediate tensor within a layer, as in SeparableConv2D
  weight,        ///< between a parameter and its layer
  output,        ///< after the layer, for all consumers
};

/// A position at a layer: QdqSite::input(0),
/// QdqSite::intermediate("depthwise"), QdqSite::weight("kernel"),
/// QdqSite::output().
struct QdqSite {
  SiteKind kind = SiteKind::input;  ///< position relative to the layer
  int index = 0;                    ///< of the input
  std::string parameter;  ///< name of the weight or the intermediate tensor

  /// Input `index` of the layer, from 0.
  static QdqSite input(int index);
  /// `tensor` is the name in QdqDefault::intermediate.
  static QdqSite intermediate(std::string tensor);
  /// A parameter of the layer, by name.
  static QdqSite weight(std::string parameter);
  /// The output of the layer, for all consumers.
  static QdqSite output();
  bool operator==(const QdqSite&) const = default;
};

/// Returns "input 0", "inner depthwise", "kernel" or "output".
std::string to_string(const QdqSite& site);

/// Returns the sort key of a site among the sites of its layer: inputs by
/// index, then intermediate tensor, weights, output.
int site_order(const QdqSite& site);

/// A quantization request for a layer, with the field names of NVIDIA's
/// tensorflow-quantization.
struct QdqRequest {
  /// Whether inputs are quantized, and with them the intermediate tensor and
  /// the output if the class has these sites.
  bool quantize_input = true;
  bool quantize_weight = true;  ///< whether weights are quantized
  /// Indices of the quantized inputs of a layer with several inputs; empty:
  /// all.
  std::vector<int> quantization_index = {};
  bool operator==(const QdqRequest&) const = default;
};

/// The sites of a layer class.
struct QdqSites {
  /// Value of `inputs` for a class that quantizes all its inputs.
  static constexpr int kEveryInput = std::numeric_limits<int>::max();

  int inputs = 1;  ///< number of quantizable inputs, counted from input 0
  /// Name of an intermediate tensor (QdqDefault::intermediate), if any. A
  /// request with quantize_input selects it and the output, too.
  std::string intermediate = {};
  bool output = false;                    ///< whether the output is a site
  std::vector<std::string> weights = {};  ///< parameter names
  bool operator==(const QdqSites&) const = default;

  /// Returns the number of quantizable inputs of a layer with `count` inputs.
  int quantizable_inputs(int count) const { return std::min(inputs, count); }

  /// Returns the sites selected by `request` for a layer with `count` inputs.
  /// Throws: ValueError for an index out of range.
  std::vector<QdqSite> select(const QdqRequest& request, int count) const;
};

// QuantizationSpec: the user's quantization requests for layers, selected by
// name, name pattern or class. The library never modifies it.

/// How the name of a spec entry selects layers.
enum class SpecTarget {
  layer,    ///< layer name
  pattern,  ///< RE2 regular expression that matches the whole layer name
  class_,   ///< layer class or its Keras alias
};

/// Options of an entry: how its name selects layers, and the request.
/// Fields in order: is_keras_class, is_regex, quantize_input, quantize_weight,
/// quantization_index
struct SpecOptions {
  bool is_keras_class = false;  ///< SpecTarget::class_
  bool is_regex = false;        ///< SpecTarget::pattern
  bool quantize_input = true;   ///< as in QdqRequest
  bool quantize_weight = true;  ///< as in QdqRequest
  /// Indices of the quantized inputs of a layer with several inputs, distinct
  /// and >= 0; empty: all.
  std::vector<int> quantization_index = {};
};

/// Options of several entries. A list is empty (default for all names), has one
/// value for all names, or has one value per name.
struct SpecLists {
  std::vector<bool> is_keras_class = {};                  ///< default: false
  std::vector<bool> is_regex = {};                        ///< default: false
  std::vector<bool> quantize_input = {};                  ///< default: true
  std::vector<bool> quantize_weight = {};                 ///< default: true
  std::vector<std::vector<int>> quantization_index = {};  ///< default: {}, all
};

/// A request for all layers that the name selects.
struct SpecEntry {
  std::string name;  ///< layer name, regular expression or class; not empty
  SpecTarget target = SpecTarget::layer;  ///< meaning of the name
  QdqRequest request = {};                ///< for the selected layers
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

  /// Returns the entries, in the order added.
  std::span<const SpecEntry> entries() const& { return entries_; }
  /// Returns the entries of a temporary by value, so that they outlive it:
  /// `for (auto& entry : c.case_(model, {}).entries())`.
  std::vector<SpecEntry> entries() && { return std::move(entries_); }
  /// Returns whether there are no entries.
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

/// A placement rule in code. It receives the model and the user's spec once and
/// returns a separate spec. For layers in both specs the user's wins.
class CustomQDQInsertionCase {
 public:
  virtual ~CustomQDQInsertionCase() = default;
  /// Returns the name in plans: "ResNetV1".
  virtual std::string name() const = 0;
  /// Returns a description, shown by plans as the reason.
  virtual std::string info() const { return ""; }
  /// Returns the case's spec, possibly empty. `spec` is the user's, without
  /// those of other cases.
  virtual QuantizationSpec case_(const Model& model,
                                 const QuantizationSpec& spec) const = 0;
};

/// A case as a value, for `.cases = {ResNetV1QDQCase()}`.
class InsertionCase {
 public:
  /// Copies or moves a case.
  template <std::derived_from<CustomQDQInsertionCase> Case>
  InsertionCase(Case c)  // implicit, as in a list of cases
      : case_(std::make_shared<const Case>(std::move(c))) {}
  /// Shares a case.
  /// Throws: ValueError for a null pointer.
  InsertionCase(std::shared_ptr<const CustomQDQInsertionCase> c);
  /// Shares a case. Throws: as above.
  template <std::derived_from<CustomQDQInsertionCase> Case>
  InsertionCase(std::shared_ptr<Case> c)
      : InsertionCase(
            std::shared_ptr<const CustomQDQInsertionCase>(std::move(c))) {}

  /// Accesses the case, which is never null.
  const CustomQDQInsertionCase* operator->() const { return case_.get(); }

 private:
  std::shared_ptr<const CustomQDQInsertionCase> case_;
};

/// Returns whether a case may decide on a layer: the user's spec does not name
/// it.
bool check_is_quantizable_by_layer_name(const QuantizationSpec& spec,
                                        std::string_view layer);

// Built-in cases.
// Source: NVIDIA tensorflow-quantization 0.2.0, custom_qdq_cases.

/// Add: all inputs but the first that only a convolution produces.
class ResidualConnectionQDQCase : public CustomQDQInsertionCase {
 public:
  std::string name() const override { return "Residual"; }
  std::string info() const override;
  QuantizationSpec case_(const Model& model,
                         const QuantizationSpec& spec) const override;
};

/// BatchNormalization not preceded by a convolution.
class BNQDQCase : public CustomQDQInsertionCase {
 public:
  std::string name() const override { return "BN"; }
  std::string info() const override;
  QuantizationSpec case_(const Model& model,
                         const QuantizationSpec& spec) const override;
};

/// Every MaxPooling2D.
class MaxPoolQDQCase : public CustomQDQInsertionCase {
 public:
  std::string name() const override { return "MaxPool"; }
  std::string info() const override;
  QuantizationSpec case_(const Model& model,
                         const QuantizationSpec& spec) const override;
};

/// As ResidualConnectionQDQCase.
class ResNetV1QDQCase : public ResidualConnectionQDQCase {
 public:
  std::string name() const override { return "ResNetV1"; }
};

/// As ResidualConnectionQDQCase.
class MobileNetQDQCase : public ResidualConnectionQDQCase {
 public:
  std::string name() const override { return "MobileNet"; }
};

/// Residual, BN and MaxPool combined.
class ResNetV2QDQCase : public CustomQDQInsertionCase {
 public:
  std::string name() const override { return "ResNetV2"; }
  std::string info() const override;
  QuantizationSpec case_(const Model& model,
                         const QuantizationSpec& spec) const override;
};

/// As MaxPoolQDQCase.
class InceptionQDQCase : public MaxPoolQDQCase {
 public:
  std::string name() const override { return "Inception"; }
};

/// Residual and both inputs of every Multiply.
class EfficientNetQDQCase : public CustomQDQInsertionCase {
 public:
  std::string name() const override { return "EfficientNet"; }
  std::string info() const override;
  QuantizationSpec case_(const Model& model,
                         const QuantizationSpec& spec) const override;
};

/// Returns the built-in cases, sorted by name.
std::vector<InsertionCase> insertion_cases();
/// Returns a case by name.
/// Throws: NotFoundError listing the known names.
InsertionCase insertion_case(std::string_view name);

}  // namespace octet::quant
