// The fixed form in plain loops: golden outputs of generated code.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "fixed.h"

namespace octet::io::c {
namespace {

constexpr int32_t kOne = std::numeric_limits<int32_t>::max();

int32_t high_product(int32_t a, int32_t b) {
  const int64_t product = int64_t{a} * int64_t{b};
  const int64_t nudge =
      product >= 0 ? int64_t{1} << 30 : 1 - (int64_t{1} << 30);
  return static_cast<int32_t>((product + nudge) / (int64_t{1} << 31));
}

int32_t rounding_shift(int32_t x, int exponent) {
  const auto mask = static_cast<int32_t>((int64_t{1} << exponent) - 1);
  const int32_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  return (x >> exponent) + ((x & mask) > threshold ? 1 : 0);
}

int32_t scaled(int32_t x, const FixedFactor& f) {
  const auto shifted =
      static_cast<int32_t>(static_cast<uint32_t>(x) << std::max(f.shift, 0));
  return rounding_shift(high_product(shifted, f.multiplier),
                        std::max(-f.shift, 0));
}

int32_t wrapped(int64_t x) { return static_cast<int32_t>(x); }

// exp(a), a <= 0 with 26 fractional bits; the result has 31.
int32_t exponential(int32_t a) {
  constexpr int32_t kFactors[] = {1672461947, 1302514674, 790015084, 290630308,
                                  39332535,   720401,     242};
  if (a == 0) return kOne;
  constexpr int32_t kQuarter = 1 << 24;
  const int32_t in_quarter = (a & (kQuarter - 1)) - kQuarter;
  const int32_t x = in_quarter * 32 + (1 << 28);
  const int32_t x2 = high_product(x, x);
  const int32_t x3 = high_product(x2, x);
  const int32_t x4 = rounding_shift(high_product(x2, x2), 2);
  const int32_t terms = rounding_shift(
      wrapped(int64_t{high_product(x4 + x3, 715827883)} + x2), 1);
  constexpr int32_t kCenter = 1895147668;  // exp(-1/8)
  int32_t result = wrapped(int64_t{kCenter} +
                           high_product(kCenter, wrapped(int64_t{x} + terms)));
  for (int i = 0; i < 7; ++i) {
    if (((in_quarter - a) >> (24 + i) & 1) == 0) continue;
    result = high_product(result, kFactors[i]);
  }
  return result;
}

// 1 / (1 + a), a in [0,1]; both have 31 fractional bits.
int32_t inverse_of_one_plus(int32_t a) {
  const auto half = static_cast<int32_t>((int64_t{a} + kOne + 1) / 2);
  int32_t x = wrapped(int64_t{1515870810} + high_product(half, -1010580540));
  for (int i = 0; i < 3; ++i) {
    const int32_t rest = (1 << 29) - high_product(half, x);
    x = wrapped(x + int64_t{high_product(x, rest)} * 4);
  }
  return x > kOne / 2 ? kOne : x * 2;
}

void softmax_row(const int8_t* x, int8_t* y, int64_t count,
                 const FixedSoftmax& s) {
  const int32_t top = *std::max_element(x, x + count);
  const auto exp_of = [&](int8_t q) {
    const auto difference =
        static_cast<int32_t>(static_cast<uint32_t>(q - top) << s.factor.shift);
    return exponential(high_product(difference, s.factor.multiplier));
  };
  int32_t sum = 0;
  for (int64_t k = 0; k < count; ++k) {
    if (x[k] - top >= s.least) sum += rounding_shift(exp_of(x[k]), 12);
  }
  const int headroom = std::countl_zero(static_cast<uint32_t>(sum));
  const int32_t inverse = inverse_of_one_plus(static_cast<int32_t>(
      (static_cast<uint32_t>(sum) << headroom) - (uint32_t{1} << 31)));
  for (int64_t k = 0; k < count; ++k) {
    int32_t q = 0;
    if (x[k] - top >= s.least && headroom > 3) {
      q = rounding_shift(high_product(inverse, exp_of(x[k])), 35 - headroom);
    }
    y[k] = static_cast<int8_t>(std::clamp(q - 128, -128, 127));
  }
}

class FixedRun {
 public:
  explicit FixedRun(const PortableProgram& program)
      : program_(program), values_(program.buffers.size()) {}

  std::vector<Tensor> run(std::span<const Tensor> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto from = inputs[i].data<int8_t>();
      std::ranges::copy(from, view(program_.inputs[i]).data);
    }
    for (const PortableStep& step : program_.steps) {
      std::visit([&](const auto& what) { compute(what); }, step.what);
    }
    std::vector<Tensor> outputs;
    for (const int id : program_.outputs) {
      const View y = view(id);
      outputs.push_back(Tensor::of<int8_t>(
          {1, y.b.size()},
          std::span<const int8_t>(y.data, static_cast<size_t>(y.b.size()))));
    }
    return outputs;
  }

 private:
  // Elements of a buffer, possibly some channels of another.
  struct View {
    const PortableBuffer& b;
    int8_t* data;
    int64_t pixel;
    int zero;
    int8_t& at(int64_t row, int64_t col, int64_t k) const {
      return data[(row * b.w + col) * pixel + k];
    }
    bool contains(int64_t row, int64_t col) const {
      return row >= 0 && row < b.h && col >= 0 && col < b.w;
    }
  };

  View view(int id) {
    const PortableBuffer& b = at(program_.buffers, id);
    const int zero = b.quant ? stored_zero(*b.quant) : 0;
    if (b.alias >= 0) return {b, view(b.alias).data, b.c, zero};
    if (b.slice_of >= 0) {
      const View whole = view(b.slice_of);
      return {b, whole.data + b.channel, whole.pixel, zero};
    }
    std::vector<int8_t>& values = at(values_, id);
    values.resize(static_cast<size_t>(b.size()));
    return {b, values.data(), b.c, zero};
  }

  template <class Use>
  static void for_each(const PortableBuffer& b, const Use& use) {
    for (int64_t row = 0; row < b.h; ++row) {
      for (int64_t col = 0; col < b.w; ++col) {
        for (int64_t k = 0; k < b.c; ++k) use(row, col, k);
      }
    }
  }

  void finish(const PortableEpilogue& e, const FixedEpilogue& f, int64_t row,
              int64_t col, int64_t k, int32_t v) {
    const auto channel = static_cast<size_t>(k);
    if (!f.bias.empty()) v += f.bias[channel];
    if (!f.factors.empty()) {
      v = scaled(v, f.factors[f.factors.size() == 1 ? 0 : channel]);
    }
    v = std::clamp(v + f.zero, f.low, f.high);
    if (f.adds) {
      const View other = view(e.other);
      const int32_t u =
          other.at(row * e.other_every.h, col * e.other_every.w, k) -
          other.zero;
      v = scaled((v - f.zero) * (1 << 20), f.own) +
          scaled(u * (1 << 20), f.others);
      v = std::clamp(scaled(v, f.sum) + f.sum_zero, f.sum_low, f.sum_high);
    }
    view(e.outputs[0].y).at(row, col, k) = static_cast<int8_t>(v);
  }

  void compute(const PortableLinear& given) {
    const FixedEpilogue f =
        fixed_epilogue_of(program_, given.epilogue, given.x, &given);
    const PortableLinear s = with_positive_factors(given);
    const View x = view(s.x);
    const PortableBuffer& y = view(s.epilogue.outputs[0].y).b;
    const int64_t in = x.b.c / s.groups, out = y.c / s.groups;
    for_each(y, [&](int64_t row, int64_t col, int64_t k) {
      int32_t sum = 0;
      for (int64_t i = 0; i < s.kernel.h * s.kernel.w; ++i) {
        const int64_t at_row =
            row * s.strides.h + i / s.kernel.w * s.dilation.h - s.top;
        const int64_t at_col =
            col * s.strides.w + i % s.kernel.w * s.dilation.w - s.left;
        if (!x.contains(at_row, at_col)) continue;
        for (int64_t c = 0; c < in; ++c) {
          const auto w = static_cast<int32_t>(
              s.weights[static_cast<size_t>((i * in + c) * y.c + k)]);
          sum += w * (x.at(at_row, at_col, k / out * in + c) - x.zero);
        }
      }
      finish(s.epilogue, f, row, col, k, sum);
    });
  }

  void compute(const PortableEvaluate& s) {
    const FixedEpilogue f =
        fixed_epilogue_of(program_, s.epilogue, s.x, nullptr);
    const View x = view(s.x);
    for_each(x.b, [&](int64_t row, int64_t col, int64_t k) {
      finish(s.epilogue, f, row, col, k, x.at(row, col, k) - x.zero);
    });
  }

  void compute(const PortablePool& s) {
    const View x = view(s.x), y = view(s.y);
    for_each(y.b, [&](int64_t row, int64_t col, int64_t k) {
      int32_t most = -128, sum = 0, count = 0;
      for (int64_t i = 0; i < s.kernel.h * s.kernel.w; ++i) {
        const int64_t at_row =
            row * s.strides.h + i / s.kernel.w * s.dilation.h - s.top;
        const int64_t at_col =
            col * s.strides.w + i % s.kernel.w * s.dilation.w - s.left;
        if (at_row < 0 || at_row >= s.zeros_top + x.b.h + s.zeros_bottom ||
            at_col < 0 || at_col >= s.zeros_left + x.b.w + s.zeros_right) {
          continue;
        }
        const int64_t in_row = at_row - s.zeros_top;
        const int64_t in_col = at_col - s.zeros_left;
        const int32_t v = x.contains(in_row, in_col)
                              ? int32_t{x.at(in_row, in_col, k)}
                              : x.zero;
        most = std::max(most, v);
        sum += v;
        ++count;
      }
      const int32_t half = sum > 0 ? count / 2 : -(count / 2);
      y.at(row, col, k) =
          static_cast<int8_t>(s.maximum ? most : (sum + half) / count);
    });
  }

  void compute(const PortableNearest& s) {
    const View x = view(s.x), y = view(s.y);
    for_each(y.b, [&](int64_t row, int64_t col, int64_t k) {
      y.at(row, col, k) = x.at(s.rows[static_cast<size_t>(row)],
                               s.cols[static_cast<size_t>(col)], k);
    });
  }

  void compute(const PortableTable& s) {
    const View x = view(s.x), y = view(s.y);
    for_each(x.b, [&](int64_t row, int64_t col, int64_t k) {
      const int q = std::clamp(x.at(row, col, k) - x.zero, x.b.quant->low,
                               x.b.quant->high);
      const float result = s.results[static_cast<size_t>(q - x.b.quant->low)];
      y.at(row, col, k) =
          static_cast<int8_t>(static_cast<int>(result) + y.zero);
    });
  }

  void compute(const PortableImageSum& s) {
    const View x = view(s.x), y = view(s.y);
    const FixedFactor f = divided(fixed_factor(scale_of(x.b) / scale_of(y.b)),
                                  std::llround(s.divisor));
    for (int64_t k = 0; k < x.b.c; ++k) {
      int32_t sum = 0;
      for (int64_t i = 0; i < x.b.h * x.b.w; ++i) {
        sum += x.data[i * x.pixel + k] - x.zero;
      }
      y.data[k] =
          static_cast<int8_t>(std::clamp(scaled(sum, f) + y.zero, -128, 127));
    }
  }

  void compute(const PortableSoftmax& s) {
    const View x = view(s.x), y = view(s.y);
    for (int64_t i = 0; i < x.b.h * x.b.w; ++i) {
      softmax_row(x.data + i * x.pixel, y.data + i * y.pixel, x.b.c,
                  fixed_softmax(x.b));
    }
  }

  void compute(const PortableUnknown&) {}

  const PortableProgram& program_;
  std::vector<std::vector<int8_t>> values_;  // by buffer
};

}  // namespace

std::vector<Tensor> run_fixed(const PortableProgram& program,
                              std::span<const Tensor> inputs) {
  return FixedRun(program).run(inputs);
}

}  // namespace octet::io::c
