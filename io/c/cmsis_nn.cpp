#include "cmsis_nn.h"

#include <algorithm>
#include <type_traits>

#include "fixed.h"
#include "source_writer.h"

namespace octet::io::c {
namespace {

bool is_whole(const PortableProgram& program, int id) {
  return at(program.buffers, id).slice_of < 0;
}

bool is_depthwise(const PortableProgram& program, const PortableLinear& s) {
  return s.groups > 1 && at(program.buffers, s.x).c == s.groups;
}

bool is_one(const PortableSize& size) { return size.h == 1 && size.w == 1; }

std::string tile(int64_t h, int64_t w) {
  return fmt::format("{{{}, {}}}", w, h);
}
std::string tile(const PortableSize& size) { return tile(size.h, size.w); }

// Dimensions n, h, w, c.
std::string dims(int64_t n, int64_t h, int64_t w, int64_t c) {
  return fmt::format("{{{}, {}, {}, {}}}", n, h, w, c);
}
std::string dims(const PortableBuffer& b) { return dims(1, b.h, b.w, b.c); }

// Returns the bytes that CMSIS-NN's *_get_buffer_size functions request for a
// step, the largest number of all cores. Generated code compares it with the
// library's.
int64_t scratch_of(const PortableProgram& program, const PortableLinear& s) {
  const PortableBuffer& x = at(program.buffers, s.x);
  const int64_t out = at(program.buffers, s.epilogue.outputs[0].y).c;
  const int64_t taps = s.kernel.h * s.kernel.w;
  const int64_t columns = (taps * x.c + 15) / 16 * 16;
  if (is_vector_product(program, s)) return 4 * out;
  if (!is_depthwise(program, s)) return 4 * columns;
  constexpr int64_t kBlock = 124;  // channels of a pass with Helium
  return std::max({4 * kBlock * taps, 2 * x.c * taps,
                   x.c == 1 ? 4 * columns + out * taps : 0});
}

int64_t scratch_of(const PortableProgram& program, const PortablePool& s) {
  return s.maximum ? 0 : 4 * at(program.buffers, s.x).c;
}

}  // namespace

bool is_vector_product(const PortableProgram& program,
                       const PortableLinear& s) {
  const PortableBuffer& x = at(program.buffers, s.x);
  return s.groups == 1 && is_one(s.kernel) && x.h == 1 && x.w == 1 &&
         s.top == 0 && s.left == 0;
}

bool cmsis_computes(const PortableProgram& program, const PortableLinear& s) {
  const PortableEpilogue& e = s.epilogue;
  return (s.groups == 1 || is_depthwise(program, s)) && e.other < 0 &&
         is_whole(program, s.x) && is_whole(program, e.outputs.at(0).y);
}

// Sums of two values of equal shape.
bool cmsis_computes(const PortableProgram& program, const PortableEvaluate& s) {
  const PortableEpilogue& e = s.epilogue;
  if (e.other < 0 || e.clip2 || !is_one(e.other_every)) return false;
  const FixedEpilogue f = fixed_epilogue_of(program, e, s.x, nullptr);
  return f.own.shift <= 0 && f.others.shift <= 0 && f.sum.shift <= 0 &&
         is_whole(program, s.x) && is_whole(program, e.other) &&
         is_whole(program, e.outputs.at(0).y) &&
         at(program.buffers, s.x).size() == at(program.buffers, e.other).size();
}

bool cmsis_computes(const PortableProgram& program, const PortablePool& s) {
  return is_one(s.dilation) && s.zeros_top == 0 && s.zeros_bottom == 0 &&
         s.zeros_left == 0 && s.zeros_right == 0 && is_whole(program, s.x) &&
         is_whole(program, s.y);
}

bool cmsis_computes(const PortableProgram& program, const PortableSoftmax& s) {
  return is_whole(program, s.x) && is_whole(program, s.y);
}

void split_sums(PortableProgram& program) {
  std::vector<PortableStep> steps;
  for (PortableStep& step : program.steps) {
    auto* linear = std::get_if<PortableLinear>(&step.what);
    if (linear == nullptr || linear->epilogue.other < 0) {
      steps.push_back(std::move(step));
      continue;
    }
    PortableEpilogue& own = linear->epilogue;
    PortableBuffer sum = at(program.buffers, own.outputs.at(0).y);
    sum.quant = own.quant2;
    sum.alias = sum.slice_of = -1;
    sum.constant.clear();
    const int id = static_cast<int>(program.buffers.size());
    program.buffers.push_back(std::move(sum));
    PortableEvaluate add;
    add.x = id;
    add.epilogue = {.clip = own.clip,
                    .other = own.other,
                    .other_plus_zero = own.other_plus_zero,
                    .other_every = own.other_every,
                    .function = own.function,
                    .outputs = own.outputs};
    own = {.a = std::move(own.a),
           .b = std::move(own.b),
           .clip = own.clip2,
           .outputs = {{id, own.quant2->low, own.quant2->high}}};
    const std::string layer = step.layer;
    steps.push_back(std::move(step));
    steps.push_back({layer, "add", std::move(add)});
  }
  program.steps = std::move(steps);
}

int64_t cmsis_scratch(const PortableProgram& program) {
  int64_t most = 0;
  for (const PortableStep& step : program.steps) {
    std::visit(
        [&](const auto& what) {
          if constexpr (requires { scratch_of(program, what); }) {
            if (cmsis_computes(program, what)) {
              most = std::max(most, scratch_of(program, what));
            }
          }
        },
        step.what);
  }
  return (most + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

// Adds a call that returns 0 on failure.
void SourceWriter::add_checked_call(const std::string& call) {
  steps_ +=
      fmt::format("  if ({} == 0) {{\n    return {}_ERROR_KERNEL;\n  }}\n",
                  call, names_.macros);
}

bool SourceWriter::write_cmsis(const PortableLinear& given) {
  if (!cmsis_computes(net_.program, given)) return false;
  const PortableLinear s = with_positive_factors(given);
  FixedEpilogue f = fixed_epilogue_of(net_.program, s.epilogue, s.x, &given);
  const PortableBuffer& x = buffer(s.x);
  const PortableBuffer& y = buffer(s.epilogue.outputs[0].y);
  const bool depthwise = is_depthwise(net_.program, s);
  const bool dense = is_vector_product(net_.program, s);
  // With Helium and more than 124 channels, CMSIS-NN's depthwise kernel
  // advances the bias pointer before it compares it with null.
  if (depthwise && f.bias.empty()) f.bias.assign(static_cast<size_t>(y.c), 0);
  std::vector<int> multipliers, shifts;
  for (size_t k = 0; k < static_cast<size_t>(y.c); ++k) {
    const FixedFactor& factor = f.factors[f.factors.size() == 1 ? 0 : k];
    multipliers.push_back(factor.multiplier);
    shifts.push_back(factor.shift);
  }
  const std::string weights =
      add_integers("int8_t", ident_ + "_weights",
                   kernel_weights(s, x.c / s.groups, y.c, depthwise), 1);
  const std::string bias =
      f.bias.empty() ? "NULL"
                     : add_integers("int32_t", ident_ + "_bias", f.bias, 4);
  const std::string multipliers_name =
      add_integers("int32_t", ident_ + "_multipliers", multipliers, 4);
  const std::string shifts_name =
      add_integers("int32_t", ident_ + "_shifts", shifts, 4);
  const std::string filter = dense ? dims(x.c, 1, 1, y.c)
                             : depthwise
                                 ? dims(1, s.kernel.h, s.kernel.w, y.c)
                                 : dims(y.c, s.kernel.h, s.kernel.w, x.c);
  const std::string name = unique_.add(fmt::format("{}_{}_step", p_, ident_));
  constants_ += fmt::format(
      "static const {}_cmsis_linear {} = {{{}, {}, {}, {}, {}, {}, {}, {}, "
      "{{{}, "
      "{}}}, {}, {}, {}, {}, {}}};\n",
      p_, name, dims(x), filter, dims(y), tile(s.strides), tile(s.top, s.left),
      tile(s.dilation), -stored_zero(*x.quant), f.zero, f.low, f.high,
      y.c / s.groups, weights, bias, multipliers_name, shifts_name);
  flash_ += 112;
  use(dense       ? Kernel::cmsis_dense
      : depthwise ? Kernel::cmsis_depthwise
                  : Kernel::cmsis_conv);
  add_checked_call(fmt::format("{}_cmsis_{}(&{}, {}, {}, scratch)", p_,
                               dense       ? "dense"
                               : depthwise ? "depthwise"
                                           : "convolve",
                               name, address(s.x),
                               address(s.epilogue.outputs[0].y)));
  return true;
}

bool SourceWriter::write_cmsis(const PortableEvaluate& s) {
  if (!cmsis_computes(net_.program, s)) return false;
  const PortableEpilogue& e = s.epilogue;
  const FixedEpilogue f = fixed_epilogue_of(net_.program, e, s.x, nullptr);
  const auto zero = [&](int id) { return -stored_zero(*buffer(id).quant); };
  add_checked_call(fmt::format(
      "(arm_elementwise_add_s8({}, {}, {}, {}, {}, {}, {}, {}, 20, {}, {}, {}, "
      "{}, {}, {}, {}) == ARM_CMSIS_NN_SUCCESS)",
      address(s.x), address(e.other), zero(s.x), f.own.multiplier, f.own.shift,
      zero(e.other), f.others.multiplier, f.others.shift,
      address(e.outputs[0].y), f.sum_zero, f.sum.multiplier, f.sum.shift,
      f.sum_low, f.sum_high, buffer(s.x).size()));
  return true;
}

bool SourceWriter::write_cmsis(const PortablePool& s) {
  if (!cmsis_computes(net_.program, s)) return false;
  const std::string name = unique_.add(fmt::format("{}_{}_step", p_, ident_));
  constants_ += fmt::format(
      "static const {}_cmsis_pool {} = {{{}, {}, {}, {}, {}}};\n", p_, name,
      dims(buffer(s.x)), dims(1, s.kernel.h, s.kernel.w, 1), dims(buffer(s.y)),
      tile(s.strides), tile(s.top, s.left));
  flash_ += 64;
  use(s.maximum ? Kernel::cmsis_max_pool : Kernel::cmsis_average_pool);
  add_checked_call(fmt::format("{}_cmsis_{}(&{}, {}, {}, scratch)", p_,
                               s.maximum ? "max_pool" : "average_pool", name,
                               address(s.x), address(s.y)));
  return true;
}

bool SourceWriter::write_cmsis(const PortableSoftmax& s) {
  if (!cmsis_computes(net_.program, s)) return false;
  const PortableBuffer& x = buffer(s.x);
  const FixedSoftmax f = fixed_softmax(x);
  steps_ += fmt::format("  arm_softmax_s8({}, {}, {}, {}, {}, {}, {});\n",
                        address(s.x), x.h * x.w, x.c, f.factor.multiplier,
                        f.factor.shift, f.least, address(s.y));
  return true;
}

}  // namespace octet::io::c
