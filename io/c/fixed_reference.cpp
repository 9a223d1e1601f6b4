// The fixed form in plain loops: golden outputs of generated code.
#include <algorithm>
#include <bit>
#include <cmath>

#include "elements.h"
#include "fixed.h"
#include "int16_tables.h"

namespace octet::io::c {
namespace {

void softmax_row(const int32_t* x, int32_t* y, int64_t count,
                 const FixedSoftmax& s) {
  const int32_t top = *std::max_element(x, x + count);
  const auto exp_of = [&](int32_t q) {
    const auto difference =
        static_cast<int32_t>(static_cast<uint32_t>(q - top) << s.factor.shift);
    return exp_of_negative(high_product(difference, s.factor.multiplier), 5);
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
    y[k] = std::clamp(q - 128, -128, 127);
  }
}

void softmax_row16(const int32_t* x, int32_t* y, int64_t count,
                   const FixedSoftmax& s) {
  std::vector<int16_t> row(x, x + count);
  softmax16(row.data(), row.data(), count, s.factor, softmax_tables());
  std::ranges::copy(row, y);
}

class FixedRun {
 public:
  explicit FixedRun(const PortableProgram& program)
      : program_(program), values_(program.buffers.size()) {}

  std::vector<Tensor> run(std::span<const Tensor> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      visit_elements(inputs[i], [&](auto elements) {
        std::ranges::transform(elements, view(program_.inputs[i]).data,
                               [](auto q) { return static_cast<int32_t>(q); });
      });
    }
    for (const PortableStep& step : program_.steps) {
      std::visit([&](const auto& what) { compute(what); }, step.what);
    }
    std::vector<Tensor> outputs;
    for (const int id : program_.outputs) {
      const View y = view(id);
      const bool wide = is_wide(*y.b.quant);
      Tensor output({1, y.b.size()}, wide ? DType::i16 : DType::i8);
      for (size_t i = 0; i < static_cast<size_t>(y.b.size()); ++i) {
        if (wide) {
          output.data<int16_t>()[i] = static_cast<int16_t>(y.data[i]);
        } else {
          output.data<int8_t>()[i] = static_cast<int8_t>(y.data[i]);
        }
      }
      outputs.push_back(std::move(output));
    }
    return outputs;
  }

 private:
  // Elements of a buffer, possibly some channels of another.
  struct View {
    const PortableBuffer& b;
    int32_t* data;
    int64_t pixel;
    int zero;
    int32_t& at(int64_t row, int64_t col, int64_t k) const {
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
    std::vector<int32_t>& values = at(values_, id);
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

  // Sums of int16 values have 64 bits.
  template <class Sum>
  static int32_t scaled_sum(const FixedEpilogue& f, int64_t k, Sum sum) {
    const auto channel = static_cast<size_t>(k);
    if (!f.bias.empty()) sum += static_cast<Sum>(f.bias[channel]);
    return scaled(sum, f.factors[f.factors.size() == 1 ? 0 : channel]);
  }

  void finish(const PortableEpilogue& e, const FixedEpilogue& f, int64_t row,
              int64_t col, int64_t k, int32_t v) {
    v = std::clamp(v + f.zero, f.low, f.high);
    if (f.adds) {
      const View other = view(e.other);
      const int32_t u =
          other.at(row * e.other_every.h, col * e.other_every.w, k) -
          other.zero;
      const int32_t unit = sum_unit(*view(e.outputs[0].y).b.quant);
      v = scaled((v - f.zero) * unit, f.own) + scaled(u * unit, f.others);
      v = std::clamp(scaled(v, f.sum) + f.sum_zero, f.sum_low, f.sum_high);
    }
    view(e.outputs[0].y).at(row, col, k) = v;
  }

  void compute(const PortableLinear& given) {
    const FixedEpilogue f =
        fixed_epilogue_of(program_, given.epilogue, given.x, &given);
    const PortableLinear s = with_positive_factors(given);
    const View x = view(s.x);
    const PortableBuffer& y = view(s.epilogue.outputs[0].y).b;
    const int64_t in = x.b.c / s.groups, out = y.c / s.groups;
    const bool wide = is_wide(*x.b.quant);
    for_each(y, [&](int64_t row, int64_t col, int64_t k) {
      int64_t sum = 0;
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
      finish(s.epilogue, f, row, col, k,
             wide ? scaled_sum(f, k, sum)
                  : scaled_sum(f, k, static_cast<int32_t>(sum)));
    });
  }

  void compute(const PortableEvaluate& s) {
    const FixedEpilogue f =
        fixed_epilogue_of(program_, s.epilogue, s.x, nullptr);
    const View x = view(s.x);
    for_each(x.b, [&](int64_t row, int64_t col, int64_t k) {
      const int32_t v = x.at(row, col, k) - x.zero;
      finish(s.epilogue, f, row, col, k,
             f.factors.empty() ? v : scaled(v, f.factors[0]));
    });
  }

  void compute(const PortablePool& s) {
    const View x = view(s.x), y = view(s.y);
    for_each(y.b, [&](int64_t row, int64_t col, int64_t k) {
      int32_t most = x.b.quant->low + x.zero, sum = 0, count = 0;
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
      y.at(row, col, k) = s.maximum ? most : (sum + half) / count;
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
      y.at(row, col, k) = static_cast<int>(result) + y.zero;
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
      const PortableQuant& quant = *y.b.quant;
      y.data[k] = std::clamp(scaled(sum, f) + y.zero, quant.low + y.zero,
                             quant.high + y.zero);
    }
  }

  void compute(const PortableSoftmax& s) {
    const View x = view(s.x), y = view(s.y);
    for (int64_t i = 0; i < x.b.h * x.b.w; ++i) {
      const auto row = is_wide(*x.b.quant) ? softmax_row16 : softmax_row;
      row(x.data + i * x.pixel, y.data + i * y.pixel, x.b.c,
          fixed_softmax(x.b));
    }
  }

  void compute(const PortableUnknown&) {}

  const PortableProgram& program_;
  std::vector<std::vector<int32_t>> values_;  // by buffer
};

}  // namespace

std::vector<Tensor> run_fixed(const PortableProgram& program,
                              std::span<const Tensor> inputs) {
  return FixedRun(program).run(inputs);
}

}  // namespace octet::io::c
