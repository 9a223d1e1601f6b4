// Formatters for fmt: fmt::format("{}", tensor). Opt-in: needs fmt 9 or newer
// and is not part of octet.h. The text is that of operator<<; width, fill and
// alignment apply to it as to a string.
#pragma once

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <octet/layers/inference_session.h>
#include <octet/quant/plan.h>
#include <octet/runtime/program.h>
#include <octet/train/fit.h>

/// Formatters of values of the runtime.
template <>
struct fmt::formatter<octet::DType> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<octet::Shape> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<octet::Tensor> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<octet::Variable> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<octet::QuantParams> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<octet::Program> : fmt::ostream_formatter {};

/// Formatters of models and sessions.
template <>
struct fmt::formatter<octet::SymbolicTensor> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<octet::Model> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<octet::InferenceSession> : fmt::ostream_formatter {};

/// Formatters of placements and of the results of training.
template <>
struct fmt::formatter<octet::quant::QdqPlan> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<octet::quant::PairCount> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<octet::train::Evaluation> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<octet::train::History> : fmt::ostream_formatter {};
