#include "kernels.h"

#include <string_view>
#include <utility>
#include <vector>

#include "cmsis_kernels.h"
#include "dot_kernels.h"
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

// Replacements in the text of kernels of quantized values.
Words integer_words(const CForm& form) {
  if (form.wide) {
    return {{"TYPE", "s16"},   {"INTEGER", "int16_t"}, {"SUM", "int64_t"},
            {"UNIT", "32768"}, {"LOWEST", "-32768"},   {" && BYTES", " && 0"}};
  }
  return {{"TYPE", "s8"},      {"INTEGER", "int8_t"}, {"SUM", "int32_t"},
          {"UNIT", "1048576"}, {"LOWEST", "-128"},    {" && BYTES", ""}};
}

// End of a convolution: stores `count` sums.
std::string_view finish(const CForm& form) {
  return form.fixed ? "@_finish(&p->epilogue, d, row, col, k, count, sums);"
                    : "for (i = 0; i < count; ++i) {\n"
                      "          @_store(&p->epilogue, d, row, col, k + i,\n"
                      "                  (float)sums[i] * p->rescale[k + i]);\n"
                      "        }";
}

std::string linear_text(std::string_view text, const CForm& form) {
  return replaced(replaced(text, {{"FINISH", finish(form)}}),
                  integer_words(form));
}

std::string text_of(Kernel kernel, const CForm& form) {
  const bool fixed = form.fixed;
  const Words words = integer_words(form);
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
      return fixed ? replaced(kFixedEpilogue, words) : std::string(kEpilogue);
    case Kernel::finish:
      return std::string(form.wide ? kFinish16 : kFinish);
    case Kernel::dots:
      return std::string(form.wide ? kDots16 : kDots);
    case Kernel::accumulate:
      return replaced(kAccumulate, words);
    case Kernel::convolution:
      return fixed ? replaced(kConvolution, {{kRescale, ""}})
                   : std::string(kConvolution);
    case Kernel::pool:
      return std::string(kPool);
    case Kernel::conv_s8:
      return linear_text(kConvS8, form);
    case Kernel::depthwise_s8:
      return linear_text(kDepthwiseS8, form);
    case Kernel::conv_f32:
      return std::string(kConvF32);
    case Kernel::depthwise_f32:
      return std::string(kDepthwiseF32);
    case Kernel::evaluate:
      return fixed ? replaced(kFixedEvaluate, words) : std::string(kEvaluate);
    case Kernel::max_pool_s8:
      return replaced(
          replaced(kMaxPool,
                   {{"ELEMENT", "int32_t"},
                    {"ZERO", "b->zero"},
                    {"LOAD((in_y * b->w + in_x) * b->pixel + k)",
                     "((const INTEGER*)from)[(in_y * b->w + in_x) * "
                     "b->pixel + k]"},
                    {"STORE((row * p->y->w + col) * p->y->pixel + k, most)",
                     "((INTEGER*)to)[(row * p->y->w + col) * p->y->pixel + "
                     "k] = (INTEGER)most"}}),
          words);
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
      return fixed ? replaced(kFixedAveragePool, words)
                   : std::string(kAveragePool);
    case Kernel::nearest_s8:
      return replaced(replaced(kNearest, {{"ELEMENT", "INTEGER"},
                                          {"LOAD(at + k)",
                                           "((const INTEGER*)from)[at + k]"}}),
                      words);
    case Kernel::nearest_f32:
      return replaced(kNearest, {{"TYPE", "f32"},
                                 {"ELEMENT", "float"},
                                 {"LOAD(", "@_value(x, from, "}});
    case Kernel::table_s8:
      return replaced(kTable, {{"TYPE", "s8"}, {"ELEMENT", "int8_t"}});
    case Kernel::table_f32:
      return replaced(kTable, {{"TYPE", "f32"}, {"ELEMENT", "float"}});
    case Kernel::image_sum:
      return fixed ? replaced(kFixedImageSum, words) : std::string(kImageSum);
    case Kernel::softmax:
      return std::string(!fixed      ? kSoftmax
                         : form.wide ? kFixedSoftmax16
                                     : kFixedSoftmax);
    case Kernel::cmsis_linear:
      return std::string(kCmsisLinear);
    case Kernel::cmsis_conv:
      return std::string(kCmsisConv);
    case Kernel::cmsis_depthwise:
      return std::string(kCmsisDepthwise);
    case Kernel::cmsis_dense:
      return std::string(kCmsisDense);
    case Kernel::cmsis_pool:
      return std::string(kCmsisPool);
    case Kernel::cmsis_max_pool:
      return std::string(kCmsisMaxPool);
    case Kernel::cmsis_average_pool:
      return std::string(kCmsisAveragePool);
  }
  return {};
}

std::vector<Kernel> fixed_needs_of(Kernel kernel, bool wide) {
  switch (kernel) {
    case Kernel::conv_s8:
      return {Kernel::rounding, Kernel::scaled, Kernel::epilogue,
              Kernel::finish,   Kernel::dots,   Kernel::convolution};
    case Kernel::depthwise_s8:
      return {Kernel::rounding, Kernel::scaled,     Kernel::epilogue,
              Kernel::finish,   Kernel::accumulate, Kernel::convolution};
    case Kernel::evaluate:
      return {Kernel::rounding, Kernel::scaled, Kernel::epilogue};
    case Kernel::max_pool_s8:
    case Kernel::average_pool:
      return {Kernel::pool};
    case Kernel::image_sum:
      return {Kernel::rounding, Kernel::scaled};
    case Kernel::softmax:
      if (wide) return {Kernel::rounding, Kernel::scaled};
      return {Kernel::rounding};
    case Kernel::cmsis_conv:
    case Kernel::cmsis_depthwise:
    case Kernel::cmsis_dense:
      return {Kernel::cmsis_linear};
    case Kernel::cmsis_max_pool:
    case Kernel::cmsis_average_pool:
      return {Kernel::cmsis_pool};
    default:
      return {};
  }
}

// Kernels that another one needs.
std::vector<Kernel> needs_of(Kernel kernel) {
  switch (kernel) {
    case Kernel::conv_s8:
      return {Kernel::value, Kernel::quantized, Kernel::dots, Kernel::epilogue,
              Kernel::convolution};
    case Kernel::depthwise_s8:
      return {Kernel::value, Kernel::quantized, Kernel::epilogue,
              Kernel::accumulate, Kernel::convolution};
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
                        const std::string& prefix, const CForm& form) {
  std::set<Kernel> all = kernels;
  for (const Kernel kernel : kernels) {
    for (const Kernel needed :
         form.fixed ? fixed_needs_of(kernel, form.wide) : needs_of(kernel)) {
      all.insert(needed);
    }
  }
  std::string text(kTypes);
  for (const Kernel kernel : all) text += text_of(kernel, form);
  return replaced(text, {{"@", prefix}});
}

}  // namespace octet::io::c
