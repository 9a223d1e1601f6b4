// Steps. In the float form, values between sums and outputs are floats.
#include <cmath>

#include "fixed.h"
#include "int16_tables.h"
#include "source_writer.h"

namespace octet::io::c {
namespace {

void check_finite(const std::vector<float>& values, const std::string& what) {
  for (const float v : values) {
    if (std::isfinite(v)) continue;
    throw ValueError("not_finite", what,
                     "has weights that are not finite. Hint: look for NaN "
                     "or infinity in the training loss");
  }
}

}  // namespace

std::vector<float> kernel_weights(const PortableLinear& s, int64_t in,
                                  int64_t k, bool depthwise) {
  if (depthwise) return s.weights;
  const int64_t rows = s.kernel.h * s.kernel.w * in;
  std::vector<float> result(s.weights.size());
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t channel = 0; channel < k; ++channel) {
      result[static_cast<size_t>(channel * rows + row)] =
          s.weights[static_cast<size_t>(row * k + channel)];
    }
  }
  return result;
}

std::string SourceWriter::epilogue_value(const PortableEpilogue& e) {
  std::vector<std::string> flags;
  const auto flag = [&](bool given, const char* name) {
    if (given) flags.push_back(fmt::format("{}_{}", p_, name));
  };
  const auto low = [](const auto& clip) {
    return clip && std::isfinite(clip->first);
  };
  const auto high = [](const auto& clip) {
    return clip && std::isfinite(clip->second);
  };
  flag(low(e.clip), "CLIPS_LOW");
  flag(high(e.clip), "CLIPS_HIGH");
  flag(low(e.clip2), "CLIPS_LOW2");
  flag(high(e.clip2), "CLIPS_HIGH2");
  flag(e.function.has_value(), "RELU");
  flag(e.function && std::isfinite(e.function->gamma), "RELU_HIGH");
  flag(e.other_plus_zero, "PLUS_ZERO");
  if (flags.empty()) flags.emplace_back("0u");
  const auto bound = [](bool given, float v) {
    return given ? literal(v) : std::string("0.0f");
  };
  std::string outputs;
  for (const PortableEpilogue::Output& o : e.outputs) {
    outputs +=
        fmt::format("{}{{&{}, {}.0f, {}.0f}}", outputs.empty() ? "" : ", ",
                    descriptor(o.y), o.low, o.high);
  }
  return fmt::format(
      "{{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}.0f, {}.0f, {}, {}, {}, "
      "{}, {}, {}, {}u, {{{}}}}}",
      add_floats(ident_ + "_a", e.a), add_floats(ident_ + "_b", e.b),
      e.other >= 0 ? "&" + descriptor(e.other) : "NULL",
      add_floats(ident_ + "_other_a", e.other_a),
      add_floats(ident_ + "_other_b", e.other_b), e.other_every.h,
      e.other_every.w, bound(low(e.clip2), e.clip2 ? e.clip2->first : 0),
      bound(high(e.clip2), e.clip2 ? e.clip2->second : 0),
      e.quant2 ? literal(e.quant2->scale) : "0.0f",
      e.quant2 ? e.quant2->low : 0, e.quant2 ? e.quant2->high : 0,
      bound(low(e.clip), e.clip ? e.clip->first : 0),
      bound(high(e.clip), e.clip ? e.clip->second : 0),
      e.function ? literal(e.function->alpha) : "0.0f",
      e.function ? literal(e.function->beta) : "0.0f",
      bound(e.function && std::isfinite(e.function->gamma),
            e.function ? e.function->gamma : 0),
      fmt::join(flags, " | "), e.outputs.size(), outputs);
}

void SourceWriter::write(const PortableLinear& s) {
  check_finite(s.weights, fmt::format("'{}'", ident_));
  if (write_as_call(s)) return;
  const PortableBuffer& x = buffer(s.x);
  const PortableBuffer& y = buffer(s.epilogue.outputs.at(0).y);
  const int64_t in = x.c / s.groups, out = y.c / s.groups;
  const bool depthwise = in == 1 && s.groups > 1;
  const bool integer = !s.rescale.empty();
  const std::vector<float> weights = kernel_weights(
      fixed() ? with_positive_factors(s) : s, in, y.c, depthwise);
  const std::string stored =
      integer ? add_integers("int8_t", ident_ + "_weights", weights, 1)
              : add_floats(ident_ + "_weights", weights);
  const std::string epilogue =
      fixed() ? fixed_epilogue(s.epilogue, s.x, &s)
              : add_floats(ident_ + "_rescale", s.rescale) + ", " +
                    epilogue_value(s.epilogue);
  const std::string name = unique_.add(fmt::format("{}_{}_step", p_, ident_));
  constants_ += fmt::format(
      "static const {}_conv {} = {{&{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, "
      "{}, {}, {}, {}, {}, {}}};\n",
      p_, name, descriptor(s.x), y.h, y.w, y.c, s.kernel.h, s.kernel.w,
      s.strides.h, s.strides.w, s.dilation.h, s.dilation.w, s.top, s.left, in,
      out, stored, epilogue);
  flash_ += 60 + (fixed() ? 0 : 4) + epilogue_bytes();
  const std::string function =
      fmt::format("{}_{}", depthwise ? "depthwise" : "conv",
                  integer ? integer_suffix() : "f32");
  use(depthwise ? (integer ? Kernel::depthwise_s8 : Kernel::depthwise_f32)
                : (integer ? Kernel::conv_s8 : Kernel::conv_f32));
  add_call(function, "&" + name, s.x, s.epilogue, -1);
}

void SourceWriter::write(const PortableEvaluate& s) {
  if (write_as_call(s)) return;
  use(Kernel::evaluate);
  const std::string epilogue = fixed()
                                   ? fixed_epilogue(s.epilogue, s.x, nullptr)
                                   : epilogue_value(s.epilogue);
  const std::string name = unique_.add(fmt::format("{}_{}_step", p_, ident_));
  constants_ +=
      fmt::format("static const {}_epilogue {} = {};\n", p_, name, epilogue);
  flash_ += epilogue_bytes();
  const std::string multiplier =
      fixed()            ? ""
      : s.multiplier < 0 ? "NULL, "
                         : fmt::format("&{}, ", descriptor(s.multiplier));
  add_call("evaluate",
           fmt::format("&{}, {}&{}", descriptor(s.x), multiplier, name), s.x,
           s.epilogue, s.multiplier);
}

void SourceWriter::write(const PortablePool& s) {
  if (write_as_call(s)) return;
  const std::string name = unique_.add(fmt::format("{}_{}_step", p_, ident_));
  constants_ += fmt::format(
      "static const {}_pool {} = {{&{}, &{}, {}, {}, {}, {}, {}, {}, {}, "
      "{}, {}, {}, {}, {}}};\n",
      p_, name, descriptor(s.x), descriptor(s.y), s.kernel.h, s.kernel.w,
      s.strides.h, s.strides.w, s.dilation.h, s.dilation.w, s.top, s.left,
      s.zeros_top, s.zeros_bottom, s.zeros_left, s.zeros_right);
  flash_ += 56;
  const bool integer = buffer(s.y).quant.has_value();
  const std::string function =
      s.maximum ? fmt::format("max_pool_{}", integer ? integer_suffix() : "f32")
                : "average_pool";
  use(!s.maximum ? Kernel::average_pool
      : integer  ? Kernel::max_pool_s8
                 : Kernel::max_pool_f32);
  steps_ += fmt::format("  {}_{}(&{}, {}, {});\n", p_, function, name,
                        address(s.x), address(s.y));
}

void SourceWriter::write(const PortableImageSum& s) {
  use(Kernel::image_sum);
  if (fixed()) {
    const FixedFactor f =
        divided(fixed_factor(scale_of(buffer(s.x)) / scale_of(buffer(s.y))),
                std::llround(s.divisor));
    steps_ += fmt::format("  {}_image_sum(&{}, &{}, {}, {}, {}, {});\n", p_,
                          descriptor(s.x), descriptor(s.y), f.multiplier,
                          f.shift, address(s.x), address(s.y));
    return;
  }
  steps_ += fmt::format("  {}_image_sum(&{}, &{}, {:.17g}{}, {}, {});\n", p_,
                        descriptor(s.x), descriptor(s.y), s.divisor,
                        std::floor(s.divisor) == s.divisor ? ".0" : "",
                        address(s.x), address(s.y));
}

void SourceWriter::write(const PortableSoftmax& s) {
  if (write_as_call(s)) return;
  use(Kernel::softmax);
  if (fixed()) {
    const FixedSoftmax f = fixed_softmax(buffer(s.x));
    const std::string last =
        wide() ? fmt::format(
                     "{}, {}",
                     int16_table("exponentials", softmax_tables().exponentials),
                     int16_table("reciprocals", softmax_tables().reciprocals))
               : std::to_string(f.least);
    steps_ += fmt::format("  {}_softmax(&{}, &{}, {}, {}, {}, {}, {});\n", p_,
                          descriptor(s.x), descriptor(s.y), f.factor.multiplier,
                          f.factor.shift, last, address(s.x), address(s.y));
    return;
  }
  steps_ +=
      fmt::format("  {}_softmax(&{}, &{}, {}, {});\n", p_, descriptor(s.x),
                  descriptor(s.y), address(s.x), address(s.y));
}

}  // namespace octet::io::c
