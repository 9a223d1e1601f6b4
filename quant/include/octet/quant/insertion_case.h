// CustomQDQInsertionCase: a placement rule in code. It receives the model and
// the user's spec once and returns a separate spec. For layers in both specs
// the user's wins.
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
  template <std::derived_from<CustomQDQInsertionCase> Case>
  InsertionCase(Case c)  // implicit, as in a list of cases
      : case_(std::make_shared<const Case>(std::move(c))) {}
  /// Shares a case.
  /// Throws: ValueError for a null pointer.
  InsertionCase(std::shared_ptr<const CustomQDQInsertionCase> c);
  template <std::derived_from<CustomQDQInsertionCase> Case>
  InsertionCase(std::shared_ptr<Case> c)
      : InsertionCase(
            std::shared_ptr<const CustomQDQInsertionCase>(std::move(c))) {}

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
