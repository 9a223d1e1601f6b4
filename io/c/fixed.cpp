#include "fixed.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "printable.h"
#include "source_writer.h"

namespace octet::io::c {
namespace {

// Range of stored values: an output's, limited by clipping of floats.
struct StoredRange {
  int zero, low, high;
};

StoredRange stored_range(const PortableQuant& quant, int low, int high,
                         const std::optional<std::pair<float, float>>& clip) {
  if (clip) {
    const auto bound = [&](float v) {
      return static_cast<int>(quantize(v, quant.scale, quant.low, quant.high));
    };
    low = std::max(low, bound(clip->first));
    high = std::min(high, bound(clip->second));
  }
  const int zero = stored_zero(quant);
  return {zero, low + zero, std::max(low, high) + zero};
}

std::string factor_text(const FixedFactor& f) {
  return fmt::format("{{{}, {}}}", f.multiplier, f.shift);
}

bool is_zero(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float v) { return v == 0; });
}

class Obstacles {
 public:
  explicit Obstacles(const PortableProgram& program) : program_(program) {}

  std::vector<std::string> run() {
    for (const int input : program_.inputs) {
      if (!buffer(input).quant) found_.emplace_back("the input is float");
    }
    for (const PortableStep& step : program_.steps) {
      const std::string why = obstacle(step);
      const std::string name = step.layer.empty() ? step.op : step.layer;
      if (!why.empty()) {
        found_.push_back(fmt::format("'{}': {}", printable(name), why));
      }
    }
    return std::move(found_);
  }

 private:
  const PortableBuffer& buffer(int id) const {
    return at(program_.buffers, id);
  }

  std::string obstacle(const PortableStep& step) const {
    const StepAccess access = access_of(step);
    for (const int id : access.reads) {
      if (!buffer(id).quant) return "an operand is float";
    }
    for (const int id : access.writes) {
      if (!buffer(id).quant) return "the output is float";
    }
    if (const auto* linear = std::get_if<PortableLinear>(&step.what)) {
      const std::string why = epilogue_obstacle(linear->epilogue, nullptr);
      return why.empty() ? linear_obstacle(*linear) : why;
    }
    if (const auto* e = std::get_if<PortableEvaluate>(&step.what)) {
      if (e->multiplier >= 0) return "multiplies by a computed value";
      if (!e->epilogue.a.empty() || !is_zero(e->epilogue.b)) {
        return "scales channels of an INT8 value";
      }
      return epilogue_obstacle(e->epilogue, &buffer(e->x));
    }
    if (const auto* pool = std::get_if<PortablePool>(&step.what)) {
      return buffer(pool->x).quant == buffer(pool->y).quant
                 ? ""
                 : "pools between different scales";
    }
    if (const auto* sum = std::get_if<PortableImageSum>(&step.what)) {
      const bool whole = sum->divisor >= 1 && sum->divisor <= 0x1p31 &&
                         std::floor(sum->divisor) == sum->divisor;
      return whole ? "" : "divides a sum by a fraction";
    }
    if (const auto* softmax = std::get_if<PortableSoftmax>(&step.what)) {
      const PortableQuant& y = *buffer(softmax->y).quant;
      if (is_wide(y)) {
        return y.scale == 1.0f / 32768
                   ? ""
                   : "softmax needs an output scale of 1/32768";
      }
      const PortableQuant probabilities{1.0f / 256, 0, 255};
      return y == probabilities ? "" : "softmax needs an output scale of 1/256";
    }
    if (const auto* table = std::get_if<PortableTable>(&step.what)) {
      if (is_wide(*buffer(table->x).quant))
        return "functions of 16-bit values are not supported";
    }
    return "";
  }

  std::string linear_obstacle(const PortableLinear& step) const {
    if (step.rescale.empty()) return "its weights are float";
    for (const float w : with_positive_factors(step).weights) {
      if (w > 127) return "a weight of -128 has a negative factor";
    }
    if (is_wide(*buffer(step.x).quant)) {
      if (largest_sum(step) >= 0x1p47) return "its sums exceed 48 bits";
      const FixedEpilogue f =
          fixed_epilogue_of(program_, step.epilogue, step.x, &step);
      for (const FixedFactor& factor : f.factors) {
        if (factor.shift > kLargestShift64) return "its scale is out of range";
      }
    } else if (largest_sum(step) >= 0x1p31) {
      return "its sums exceed int32";
    }
    return "";
  }

  // Bound of the sums of products and bias.
  double largest_sum(const PortableLinear& step) const {
    const PortableQuant& quant = *buffer(step.x).quant;
    const double most = std::max(-quant.low, quant.high);
    std::vector<double> sums(step.rescale.size());
    for (size_t i = 0; i < step.weights.size(); ++i) {
      sums[i % sums.size()] += std::abs(double{step.weights[i]}) * most;
    }
    const std::vector<int64_t> bias = integer_bias(step);
    for (size_t k = 0; k < bias.size(); ++k) {
      sums[k] += std::abs(static_cast<double>(bias[k]));
    }
    return *std::ranges::max_element(sums);
  }

  // `x`: the input of the epilogue if it is INT8, else null.
  std::string epilogue_obstacle(const PortableEpilogue& e,
                                const PortableBuffer* x) const {
    if (e.function) return "leaky ReLU of a float value";
    if (e.outputs.size() > 1) return "its output has two quantizations";
    if (e.other < 0) return "";
    if (!e.other_a.empty() || !is_zero(e.other_b)) {
      return "scales channels of an operand";
    }
    if (x == nullptr && !e.quant2) return "adds to a float value";
    if (x != nullptr && e.quant2 && e.quant2 != x->quant) {
      return "quantizes an INT8 operand again";
    }
    return "";
  }

  const PortableProgram& program_;
  std::vector<std::string> found_;
};

}  // namespace

double scale_of(const PortableBuffer& buffer) {
  return double{buffer.quant->scale};
}

PortableLinear with_positive_factors(PortableLinear step) {
  const std::vector<float>& a = step.epilogue.a;
  if (a.empty()) return step;
  for (size_t i = 0; i < step.weights.size(); ++i) {
    if (a[i % a.size()] < 0) step.weights[i] = -step.weights[i];
  }
  return step;
}

std::vector<int64_t> integer_bias(const PortableLinear& step) {
  const PortableEpilogue& e = step.epilogue;
  if (is_zero(e.b)) return {};
  std::vector<int64_t> bias;
  for (size_t k = 0; k < e.b.size(); ++k) {
    const double factor = e.a.empty() ? 1 : std::abs(double{e.a[k]});
    const double units = double{e.b[k]} / (double{step.rescale[k]} * factor);
    // With a factor of 0, sums vanish and the bias has no unit.
    constexpr double kMost = 0x1p40;
    bias.push_back(
        static_cast<int64_t>(std::round(std::clamp(units, -kMost, kMost))));
  }
  return bias;
}

void use_int8_weights(PortableProgram& program) {
  for (PortableStep& step : program.steps) {
    auto* linear = std::get_if<PortableLinear>(&step.what);
    if (linear == nullptr || !linear->rescale.empty() ||
        linear->weight_scales.empty()) {
      continue;
    }
    const auto& quant = at(program.buffers, linear->x).quant;
    if (!quant) continue;
    const std::vector<float>& scales = linear->weight_scales;
    for (size_t i = 0; i < linear->weights.size(); ++i) {
      linear->weights[i] =
          std::round(linear->weights[i] / scales[i % scales.size()]);
    }
    for (const float scale : scales) {
      linear->rescale.push_back(quant->scale * scale);
    }
  }
}

std::vector<std::string> fixed_obstacles(const PortableProgram& program) {
  return Obstacles(program).run();
}

FixedEpilogue fixed_epilogue_of(const PortableProgram& program,
                                const PortableEpilogue& e, int x,
                                const PortableLinear* linear) {
  FixedEpilogue f;
  const PortableEpilogue::Output& output = e.outputs.at(0);
  const PortableQuant& of_y = *at(program.buffers, output.y).quant;
  const PortableQuant& of_x = *at(program.buffers, x).quant;
  f.adds = e.other >= 0;
  // Quantization of the first operand of a sum: a linear step's result, or an
  // INT8 value.
  const PortableQuant& own = !f.adds             ? of_y
                             : linear != nullptr ? *e.quant2
                                                 : of_x;
  if (linear != nullptr) {
    f.bias = integer_bias(*linear);
    for (size_t k = 0; k < linear->rescale.size(); ++k) {
      const double factor = e.a.empty() ? 1 : std::abs(double{e.a[k]});
      f.factors.push_back(
          fixed_factor(double{of_x.scale} * double{linear->weight_scales[k]} *
                       factor / double{own.scale}));
    }
  } else if (!f.adds) {
    f.factors.push_back(fixed_factor(double{of_x.scale} / double{of_y.scale}));
  }
  if (std::ranges::all_of(f.factors,
                          [&](const auto& v) { return v == f.factors[0]; }) &&
      f.factors.size() > 1) {
    f.factors.resize(1);
  }
  const StoredRange last = stored_range(of_y, output.low, output.high, e.clip);
  const StoredRange range =
      f.adds ? stored_range(own, own.low, own.high, e.clip2) : last;
  f.zero = range.zero;
  f.low = range.low;
  f.high = range.high;
  if (!f.adds) return f;
  const double of_other = scale_of(at(program.buffers, e.other));
  const double twice = 2 * std::max(double{own.scale}, of_other);
  f.own = fixed_factor(double{own.scale} / twice);
  f.others = fixed_factor(of_other / twice);
  f.sum = fixed_factor(twice / (sum_unit(of_y) * double{of_y.scale}));
  f.sum_zero = last.zero;
  f.sum_low = last.low;
  f.sum_high = last.high;
  return f;
}

FixedSoftmax fixed_softmax(const PortableBuffer& x) {
  if (is_wide(*x.quant)) return {fixed_factor(scale_of(x) / (10.0 / 65535.0))};
  // Differences have 5 integer and 26 fractional bits.
  const FixedFactor factor =
      fixed_factor(std::min(scale_of(x) * 0x1p26, 0x1p31 - 1.0));
  const double least = -std::floor(31 * 0x1p26 / std::ldexp(1.0, factor.shift));
  return {factor, static_cast<int32_t>(least)};
}

std::string SourceWriter::fixed_epilogue(const PortableEpilogue& e, int x,
                                         const PortableLinear* linear) {
  const FixedEpilogue f = fixed_epilogue_of(net_.program, e, x, linear);
  const std::string bias =
      f.bias.empty() ? "NULL"
                     : add_integers(wide() ? "int64_t" : "int32_t",
                                    ident_ + "_bias", f.bias, wide() ? 8 : 4);
  std::vector<std::string> factors;
  for (const FixedFactor& factor : f.factors) {
    factors.push_back(factor_text(factor));
  }
  const std::string stored =
      factors.empty()
          ? "NULL"
          : add_array(p_ + "_factor", ident_ + "_factors", factors, 8);
  return fmt::format(
      "{{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, &{}}}",
      bias, stored, factors.size() > 1 ? 1 : 0, f.zero, f.low, f.high,
      f.adds ? "&" + descriptor(e.other) : "NULL", e.other_every.h,
      e.other_every.w, factor_text(f.own), factor_text(f.others),
      factor_text(f.sum), f.sum_zero, f.sum_low, f.sum_high,
      descriptor(e.outputs.at(0).y));
}

}  // namespace octet::io::c
