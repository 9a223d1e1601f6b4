// Checks shared by fit, evaluate and the optimizers. Internal to train.
#pragma once

#include <string>
#include <string_view>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>
#include <octet/train/loss.h>
#include <octet/train/optimizer.h>

namespace octet::train {

/// Throws: ValueError of `subject` unless the rate is finite and >= 0.
void check_learning_rate(std::string_view subject, float rate);
/// Throws: ValueError unless the value is in [0, 1).
void check_decay(std::string_view subject, std::string_view option,
                 float value);
/// Throws: ValueError unless the value is finite and positive.
void check_above_zero(std::string_view subject, std::string_view option,
                      float value);
/// As check_above_zero() for "epsilon".
void check_epsilon(std::string_view subject, float value);
/// Throws: ValueError unless the rate is finite and >= 0.
void check_weight_decay(std::string_view subject, const WeightDecay& decay);
/// Throws: ValueError if the value is negative.
void check_not_negative(std::string_view subject, std::string_view option,
                        int64_t value);
/// Throws: ValueError if the value is below 1.
void check_positive(std::string_view subject, std::string_view option,
                    int64_t value);

/// Throws: ValueError for a metric without name or function, a repeated name,
/// or the name of another value that a fit reports.
void check_metrics(std::string_view subject, const Metrics& metrics);

/// Returns "nan", "inf", "-inf" or the number. fmt would print the sign of a
/// NaN.
std::string number_text(float value);

/// Whether no element is NaN or infinite. Shapes: any, f32.
bool all_finite(const Tensor& tensor);

/// Returns the path of the first trainable parameter that is not finite,
/// "conv2d/kernel", or "".
std::string first_bad_parameter(const Model& model);

/// Throws: ValueError if an input of a batch has a value that is not finite.
void expect_finite_inputs(const Batch& batch);

/// Explains a loss that is not finite: names the first parameter, part of the
/// batch or layer output that is not finite, with a hint.
std::string explain_bad_loss(const Model& model, const Batch& batch);

}  // namespace octet::train
