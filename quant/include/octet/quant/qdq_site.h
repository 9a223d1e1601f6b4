// QdqSite: a position at a layer where a Q/DQ pair can be inserted. PlacedSite:
// a selected site with its reason. QdqSites: the sites of a layer class.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <octet/runtime/language.h>

namespace octet::quant {

/// Position of a site relative to its layer.
enum class SiteKind {
  input,         ///< between a tensor and a consuming layer
  intermediate,  ///< intermediate tensor within a layer, as in SeparableConv2D
  weight,        ///< between a parameter and its layer
  output,        ///< after the layer, for all consumers
};

/// QdqSite::input(0), QdqSite::intermediate("depthwise"),
/// QdqSite::weight("kernel"), QdqSite::output().
struct QdqSite {
  SiteKind kind = SiteKind::input;
  int index = 0;          ///< of the input
  std::string parameter;  ///< name of the weight or the intermediate tensor

  static QdqSite input(int index);
  /// `tensor` is the name in QdqDefault::intermediate.
  static QdqSite intermediate(std::string tensor);
  static QdqSite weight(std::string parameter);
  static QdqSite output();
  bool operator==(const QdqSite&) const = default;
};

/// Returns "input 0", "inner depthwise", "kernel" or "output".
std::string to_string(const QdqSite& site);

/// Returns the sort key of a site among the sites of its layer: inputs by
/// index, then intermediate tensor, weights, output.
int site_order(const QdqSite& site);

/// A site selected for quantization, with the rule that selects it.
struct PlacedSite {
  QdqSite site;
  /// "user", "case ResNetV1", "default", the id of a placement rule ("P04") or
  /// "pattern ConvBNReLU".
  std::string rule = {};
  std::string reason = {};  ///< explanation for users
  bool operator==(const PlacedSite&) const = default;
};

/// A quantization request for a layer, with the field names of NVIDIA's
/// tensorflow-quantization.
struct QdqRequest {
  bool quantize_input = true;
  bool quantize_weight = true;
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

}  // namespace octet::quant
