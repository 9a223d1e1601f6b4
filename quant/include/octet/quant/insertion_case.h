// CustomQDQInsertionCase: a rule, in code, that says for a model which layers
// to quantize differently. It is asked once, with the model and the user's
// spec, and returns a spec of its own; the user's spec wins where both speak
// of a layer.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/spec.h>

namespace octet::quant {

class CustomQDQInsertionCase {
 public:
  virtual ~CustomQDQInsertionCase() = default;
  /// How plans call it: "ResNetV1".
  virtual std::string name() const = 0;
  /// What it does, in words; plans show it as the reason.
  virtual std::string info() const { return ""; }
  /// Must return a spec; it may be empty. `spec` is the user's, not that of
  /// other cases.
  virtual QuantizationSpec case_(const Model& model,
                                 const QuantizationSpec& spec) const = 0;
};

/// A case as a value, so that options read `.cases = {ResNetV1QDQCase()}`.
class InsertionCase {
 public:
  template <std::derived_from<CustomQDQInsertionCase> Case>
  InsertionCase(Case c)  // implicit, as in a list of cases
      : case_(std::make_shared<const Case>(std::move(c))) {}
  /// Throws: ValueError for none.
  InsertionCase(std::shared_ptr<const CustomQDQInsertionCase> c);
  template <std::derived_from<CustomQDQInsertionCase> Case>
  InsertionCase(std::shared_ptr<Case> c)
      : InsertionCase(
            std::shared_ptr<const CustomQDQInsertionCase>(std::move(c))) {}

  const CustomQDQInsertionCase* operator->() const { return case_.get(); }

 private:
  std::shared_ptr<const CustomQDQInsertionCase> case_;
};

/// Whether a case may decide on a layer: the user's spec does not name it.
bool check_is_quantizable_by_layer_name(const QuantizationSpec& spec,
                                        std::string_view layer);

// The library's cases. Source of all: NVIDIA tensorflow-quantization 0.2.0,
// custom_qdq_cases.

/// Add: every input but the first that comes from a convolution alone.
class ResidualConnectionQDQCase : public CustomQDQInsertionCase {
 public:
  std::string name() const override { return "Residual"; }
  std::string info() const override;
  QuantizationSpec case_(const Model& model,
                         const QuantizationSpec& spec) const override;
};

/// BatchNormalization that does not follow a convolution.
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

/// Residual.
class ResNetV1QDQCase : public ResidualConnectionQDQCase {
 public:
  std::string name() const override { return "ResNetV1"; }
};

/// Residual.
class MobileNetQDQCase : public ResidualConnectionQDQCase {
 public:
  std::string name() const override { return "MobileNet"; }
};

/// Residual, BN and MaxPool.
class ResNetV2QDQCase : public CustomQDQInsertionCase {
 public:
  std::string name() const override { return "ResNetV2"; }
  std::string info() const override;
  QuantizationSpec case_(const Model& model,
                         const QuantizationSpec& spec) const override;
};

/// MaxPool.
class InceptionQDQCase : public MaxPoolQDQCase {
 public:
  std::string name() const override { return "Inception"; }
};

/// Residual, and both inputs of every Multiply.
class EfficientNetQDQCase : public CustomQDQInsertionCase {
 public:
  std::string name() const override { return "EfficientNet"; }
  std::string info() const override;
  QuantizationSpec case_(const Model& model,
                         const QuantizationSpec& spec) const override;
};

/// The library's cases, in alphabetical order of their names.
std::vector<InsertionCase> insertion_cases();
/// Throws: NotFoundError listing the names there are.
InsertionCase insertion_case(std::string_view name);

}  // namespace octet::quant
