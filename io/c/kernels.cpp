#include "kernels.h"

#include <string_view>
#include <utility>
#include <vector>

#include "fixed_kernels.h"
#include "layer_kernels.h"
#include "linear_kernels.h"

namespace octet::io::c {
namespace {

using Words = std::vector<std::pair<std::string_view, std::string_view>>;

std::string replaced(std::string_view text, const Words& words) {
  std::string result(text);
  for (const auto& [from, to] : words) {
    for (size_t at = result.find(from); at != std::string::npos;
         at = result.find(from, at + to.size())) {
      result.replace(at, from.size(), to);
    }
  }
  return result;
}

constexpr const char* kRescaledSum = "(float)sum * p->rescale[k]";
constexpr const char* kRescaledSums = "(float)sums[n] * p->rescale[k + n]";

std::string text_of(Kernel kernel, bool fixed) {
  switch (kernel) {
    case Kernel::value:
      return std::string(kValue);
    case Kernel::quantized:
      return std::string(kQuantized);
    case Kernel::put:
      return std::string(kPut);
    case Kernel::rounding:
      return std::string(kRounding);
    case Kernel::scaled:
      return std::string(kScaled);
    case Kernel::epilogue:
      return std::string(fixed ? kFixedEpilogue : kEpilogue);
    case Kernel::dot:
      return std::string(kDot);
    case Kernel::convolution:
      return fixed ? replaced(kConvolution, {{kRescale, ""}})
                   : std::string(kConvolution);
    case Kernel::pool:
      return std::string(kPool);
    case Kernel::conv_s8:
      return replaced(kConvS8, {{"RESULT", fixed ? "sum" : kRescaledSum}});
    case Kernel::depthwise_s8:
      return replaced(kDepthwiseS8,
                      {{"RESULT", fixed ? "sums[n]" : kRescaledSums}});
    case Kernel::conv_f32:
      return std::string(kConvF32);
    case Kernel::depthwise_f32:
      return std::string(kDepthwiseF32);
    case Kernel::evaluate:
      return std::string(fixed ? kFixedEvaluate : kEvaluate);
    case Kernel::max_pool_s8:
      return replaced(kMaxPool,
                      {{"TYPE", "s8"},
                       {"ELEMENT", "int32_t"},
                       {"LOWEST", "-128"},
                       {"ZERO", "b->zero"},
                       {"LOAD((in_y * b->w + in_x) * b->pixel + k)",
                        "((const int8_t*)from)[(in_y * b->w + in_x) * "
                        "b->pixel + k]"},
                       {"STORE((row * p->y->w + col) * p->y->pixel + k, most)",
                        "((int8_t*)to)[(row * p->y->w + col) * p->y->pixel + "
                        "k] = (int8_t)most"}});
    case Kernel::max_pool_f32:
      return replaced(kMaxPool,
                      {{"TYPE", "f32"},
                       {"ELEMENT", "float"},
                       {"LOWEST", "-3.40282347e+38f"},
                       {"ZERO", "0.0f"},
                       {"LOAD(", "@_value(b, from, "},
                       {"STORE((row * p->y->w + col) * p->y->pixel + k, most)",
                        "((float*)to)[(row * p->y->w + col) * p->y->pixel + "
                        "k] = most"}});
    case Kernel::average_pool:
      return std::string(fixed ? kFixedAveragePool : kAveragePool);
    case Kernel::nearest_s8:
      return replaced(kNearest,
                      {{"TYPE", "s8"},
                       {"ELEMENT", "int8_t"},
                       {"LOAD(at + k)", "((const int8_t*)from)[at + k]"}});
    case Kernel::nearest_f32:
      return replaced(kNearest, {{"TYPE", "f32"},
                                 {"ELEMENT", "float"},
                                 {"LOAD(", "@_value(x, from, "}});
    case Kernel::table_s8:
      return replaced(kTable, {{"TYPE", "s8"}, {"ELEMENT", "int8_t"}});
    case Kernel::table_f32:
      return replaced(kTable, {{"TYPE", "f32"}, {"ELEMENT", "float"}});
    case Kernel::image_sum:
      return std::string(fixed ? kFixedImageSum : kImageSum);
    case Kernel::softmax:
      return std::string(fixed ? kFixedSoftmax : kSoftmax);
  }
  return {};
}

std::vector<Kernel> fixed_needs_of(Kernel kernel) {
  switch (kernel) {
    case Kernel::conv_s8:
      return {Kernel::rounding, Kernel::scaled, Kernel::dot, Kernel::epilogue,
              Kernel::convolution};
    case Kernel::depthwise_s8:
      return {Kernel::rounding, Kernel::scaled, Kernel::epilogue,
              Kernel::convolution};
    case Kernel::evaluate:
      return {Kernel::rounding, Kernel::scaled, Kernel::epilogue};
    case Kernel::max_pool_s8:
    case Kernel::average_pool:
      return {Kernel::pool};
    case Kernel::image_sum:
      return {Kernel::rounding, Kernel::scaled};
    case Kernel::softmax:
      return {Kernel::rounding};
    default:
      return {};
  }
}

// Kernels that another one needs.
std::vector<Kernel> needs_of(Kernel kernel) {
  switch (kernel) {
    case Kernel::conv_s8:
      return {Kernel::value, Kernel::quantized, Kernel::dot, Kernel::epilogue,
              Kernel::convolution};
    case Kernel::depthwise_s8:
    case Kernel::conv_f32:
    case Kernel::depthwise_f32:
      return {Kernel::value, Kernel::quantized, Kernel::epilogue,
              Kernel::convolution};
    case Kernel::evaluate:
      return {Kernel::value, Kernel::quantized, Kernel::epilogue};
    case Kernel::max_pool_s8:
      return {Kernel::pool};
    case Kernel::max_pool_f32:
      return {Kernel::value, Kernel::pool};
    case Kernel::nearest_f32:
      return {Kernel::value};
    case Kernel::average_pool:
      return {Kernel::value, Kernel::quantized, Kernel::put, Kernel::pool};
    case Kernel::image_sum:
    case Kernel::softmax:
      return {Kernel::value, Kernel::quantized, Kernel::put};
    default:
      return {};
  }
}

}  // namespace

std::string kernel_text(const std::set<Kernel>& kernels,
                        const std::string& prefix, CArithmetic form) {
  const bool fixed = form == CArithmetic::fixed;
  std::set<Kernel> all = kernels;
  for (const Kernel kernel : kernels) {
    for (const Kernel needed :
         fixed ? fixed_needs_of(kernel) : needs_of(kernel)) {
      all.insert(needed);
    }
  }
  std::string text(kTypes);
  for (const Kernel kernel : all) text += text_of(kernel, fixed);
  return replaced(text, {{"@", prefix}});
}

}  // namespace octet::io::c
