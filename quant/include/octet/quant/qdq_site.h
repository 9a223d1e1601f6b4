// QdqSite: one place at a layer where a Q/DQ pair can stand; PlacedSite: one
// where a pair does stand, and why; QdqSites: those that a layer class offers.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <octet/runtime/language.h>

namespace octet::quant {

enum class SiteKind {
  input,   ///< between a tensor and the layer that reads it
  inner,   ///< between two products of one layer, such as SeparableConv2D's
  weight,  ///< between a parameter and its layer
  output,  ///< after the layer, for all that read it
};

/// QdqSite::input(0), QdqSite::inner("depthwise"), QdqSite::weight("kernel"),
/// QdqSite::output().
struct QdqSite {
  SiteKind kind = SiteKind::input;
  int index = 0;          ///< of the input
  std::string parameter;  ///< the weight's name, or the inner tensor's

  static QdqSite input(int index);
  /// `tensor` is what the class calls it (QdqDefault::inner).
  static QdqSite inner(std::string tensor);
  static QdqSite weight(std::string parameter);
  static QdqSite output();
  bool operator==(const QdqSite&) const = default;
};

/// "input 0", "inner depthwise", "kernel", "output".
std::string to_string(const QdqSite& site);

/// The order of one layer's sites in plans: inputs by their index, then the
/// inner tensor, then weights, then the output.
int site_order(const QdqSite& site);

/// A site that gets Q/DQ, whose decision that is, and why.
struct PlacedSite {
  QdqSite site;
  /// "user", "case ResNetV1", "default", the id of a placement rule ("P04") or
  /// "pattern ConvBNReLU".
  std::string rule = {};
  std::string reason = {};  ///< in words
  bool operator==(const PlacedSite&) const = default;
};

/// What is asked of a layer, in the toolkit's terms.
struct QdqRequest {
  bool quantize_input = true;
  bool quantize_weight = true;
  /// Which inputs of a layer with several; empty: all.
  std::vector<int> quantization_index = {};
  bool operator==(const QdqRequest&) const = default;
};

/// The sites of a layer class that get Q/DQ on a request.
struct QdqSites {
  static constexpr int kEveryInput = std::numeric_limits<int>::max();

  int inputs = 1;  ///< the first so many
  /// The tensor between two products of the layer (QdqDefault::inner). It and
  /// the output are asked for with the inputs.
  std::string inner = {};
  bool output = false;
  std::vector<std::string> weights = {};  ///< names of parameters
  bool operator==(const QdqSites&) const = default;

  /// How many of the `count` tensors that a layer reads may get Q/DQ.
  int offered_inputs(int count) const { return std::min(inputs, count); }

  /// Those that `request` asks for, of a layer that reads `count` tensors.
  /// Throws: ValueError for an index out of range.
  std::vector<QdqSite> select(const QdqRequest& request, int count) const;
};

}  // namespace octet::quant
