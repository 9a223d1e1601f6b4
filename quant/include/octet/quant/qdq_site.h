// QdqSite: a possible position of a Q/DQ pair at a layer; PlacedSite: a chosen
// position with its reason; QdqSites: the positions of a layer class.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <octet/runtime/language.h>

namespace octet::quant {

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
  int index = 0;          ///< for inputs
  std::string parameter;  ///< name of the weight or the intermediate tensor

  static QdqSite input(int index);
  /// `tensor` is the name in QdqDefault::intermediate.
  static QdqSite intermediate(std::string tensor);
  static QdqSite weight(std::string parameter);
  static QdqSite output();
  bool operator==(const QdqSite&) const = default;
};

/// "input 0", "inner depthwise", "kernel", "output".
std::string to_string(const QdqSite& site);

/// Returns the sort key of a layer's sites in plans: inputs by index,
/// intermediate tensor, weights, output.
int site_order(const QdqSite& site);

/// A quantized site, with the deciding rule and the reason.
struct PlacedSite {
  QdqSite site;
  /// "user", "case ResNetV1", "default", the id of a placement rule ("P04") or
  /// "pattern ConvBNReLU".
  std::string rule = {};
  std::string reason = {};
  bool operator==(const PlacedSite&) const = default;
};

/// A quantization request for a layer, in the toolkit's terms.
struct QdqRequest {
  bool quantize_input = true;
  bool quantize_weight = true;
  /// Input indices for layers with several inputs; empty: all.
  std::vector<int> quantization_index = {};
  bool operator==(const QdqRequest&) const = default;
};

/// The sites of a layer class that can be quantized.
struct QdqSites {
  static constexpr int kEveryInput = std::numeric_limits<int>::max();

  int inputs = 1;  ///< number of leading inputs
  /// Intermediate tensor of the layer (QdqDefault::intermediate). It and the
  /// output are requested together with the inputs.
  std::string intermediate = {};
  bool output = false;
  std::vector<std::string> weights = {};  ///< parameter names
  bool operator==(const QdqSites&) const = default;

  /// Returns the number of quantizable inputs of a layer with `count` inputs.
  int offered_inputs(int count) const { return std::min(inputs, count); }

  /// Returns the sites selected by `request` for a layer with `count` inputs.
  /// Throws: ValueError for an index out of range.
  std::vector<QdqSite> select(const QdqRequest& request, int count) const;
};

}  // namespace octet::quant
