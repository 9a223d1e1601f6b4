// Checks that fit, evaluate and the optimizers share. Internal to train.
#pragma once

#include <string>
#include <string_view>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

namespace octet::train {

/// Throws: ValueError naming `subject` if the value is not finite or below 0.
void check_learning_rate(std::string_view subject, float rate);
/// Throws: ValueError if the share is outside [0, 1).
void check_decay(std::string_view subject, std::string_view option,
                 float value);
/// Throws: ValueError if the count is below 1.
void check_positive(std::string_view subject, std::string_view option,
                    int64_t value);

/// Throws: ValueError if the data is empty or does not fit the model's input,
/// or if the model does not end in one row of logits per sample;
/// UnsupportedError for several inputs or outputs.
void check_data(std::string_view subject, const Model& model,
                const Dataset& data);

/// "nan", "inf", "-inf" or the number: fmt would print the sign of a NaN.
std::string number_text(float value);

/// Whether no element is NaN or infinite. Shapes: any, f32.
bool all_finite(const Tensor& tensor);

/// "conv2d/kernel" of the first trainable parameter that is not finite, or
/// nothing.
std::string first_bad_parameter(const Model& model);

/// Why the loss of a batch is not finite: a sentence naming the first
/// parameter, input or layer that is not, with a hint.
std::string explain_bad_loss(const Model& model, const Tensor& inputs);

}  // namespace octet::train
