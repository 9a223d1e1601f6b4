// Formulas of functions and normalizations. Source: ONNX, docs/Operators.md.
#include "formulas.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "onnx/check/proto_limits.h"

namespace octet::io::formula {
namespace {

constexpr Formula kFormulas[] = {
    // Functions that other formulas call.
    {"reshape(x, shape) ="
     "  if(importing(), Reshape(x, shape), Reshape(x, shape, allowzero: 1))"},
    {"single(x) = if(has(x), reshape(x, []), x)"},
    {"per_channel(p, x) ="
     "  reshape(p, [at(dims(x), 1), repeat(1, rank(x) - 2)])"},
    {"axes_from(x, axis) = range(axis(axis, rank(x)), rank(x))"},
    {"pixels(x) ="
     "  require(rank(x) > 2, 'input must be [n,c,...], got', dims(x));"
     "  range(2, rank(x))"},
    {"count(n) = Range(int(0), int(n), int(1))"},
    {"diagonals(x) ="  // column - row of each element of matrices
     "  require(rank(x) > 1, 'input must be matrices, got', dims(x));"
     "  count(at(dims(x), -1)) - Unsqueeze(count(at(dims(x), -2)), [1])"},

    // Functions of elements.
    {"Celu(x; alpha = 1) ="
     "  support(alpha > 0, 'alpha must be positive, got', alpha);"
     "  if(alpha == 1, keep(), Elu(x / alpha) * alpha)",
     Use::both},
    {"Gelu(x; approximate = 'none') ="
     "  exact = approximate == 'none';"
     "  require(exact + (approximate == 'tanh'),"
     "          'approximate must be none or tanh, got', approximate);"
     "  f = if(exact, Erf(x / 1.4142135623730951),"
     "         Tanh((x + x * x * x * 0.044715) * 0.7978845608028654));"
     "  x * 0.5 * (f + 1)"},
    {"HardSwish(x) ="
     "  x * HardSigmoid(x, alpha: 0.16666666666666666, beta: 0.5)"},
    {"Mish(x) = x * Tanh(Softplus(x))"},
    {"Selu(x; alpha = if(opset < 6, 1.6732, 1.6732631921768188),"
     "        gamma = if(opset < 6, 1.0507, 1.0507010221481323)) ="
     "  Elu(x, alpha: alpha) * gamma"},
    {"Shrink(x; bias = 0, lambd = 0.5) ="
     "  high = Where(Greater(x, lambd), x - bias, 0);"
     "  Where(Less(x, 0 - lambd), x + bias, high)",
     Use::both},
    // exp(x) / 2 overflows later than exp(x).
    {"half_exp(x) = Exp(x - 0.6931471805599453)"},
    {"Cosh(x) = half_exp(x) + half_exp(-x)", Use::import},
    {"Sinh(x) ="
     "  s = x * x;"
     "  series = x * (s * (s * (s / 42 + 1) / 20 + 1) / 6 + 1);"
     "  Where(Less(Abs(x), 0.25), series, half_exp(x) - half_exp(-x))",
     Use::import},
    {"Tan(x) = Sin(x) / Cos(x)", Use::import},
    {"IsNaN(x) = Not(Equal(x, x))", Use::import},
    {"IsInf(x; detect_negative = 1, detect_positive = 1) ="
     "  most = 3.4028234663852886e38;"
     "  if((detect_negative != 0) * (detect_positive != 0),"
     "     Greater(Abs(x), most),"
     "     if(detect_negative != 0, Less(x, 0 - most),"
     "        if(detect_positive != 0, Greater(x, most), keep())))",
     Use::import},
    {"Softsign(x) = x / (Abs(x) + 1)"},
    {"Swish(x; alpha = 1) ="
     "  if(alpha == 1, keep(), x * Sigmoid(x * alpha))",
     Use::both},
    {"ThresholdedRelu(x; alpha = 1) = Where(Greater(x, alpha), x, 0)"},

    {"PRelu(x, slope) ="
     "  Where(Less(x, Cast(0, to: type(x))), x * slope, x)"},
    {"CastLike(x, like) = Cast(x, to: type(like))"},
    {"Clip(x; min = none, max = none) = Clip(x, min, max)", Use::reference, 11},
    {"Gemm(a, b, c; alpha = 1, beta = 1, transA = 0, transB = 0) ="
     "  require((rank(a) == 2) * (rank(b) == 2),"
     "          'inputs must be matrices, got', dims(a), 'and', dims(b));"
     "  p = MatMul(if(transA == 0, a, Transpose(a)),"
     "             if(transB == 0, b, Transpose(b)));"
     "  q = if(alpha == 1, p, p * alpha);"
     "  y = if(has(c) * (beta != 0), q + if(beta == 1, c, c * beta), q);"
     "  require(dims(y) == dims(p), 'input 2 must broadcast to', dims(p));"
     "  y"},

    // A matrix that is computed.
    {"Gemm(a, b, c; alpha = 1, beta = 1, transA = 0, transB = 0) ="
     "  if(is_known(b), keep(), 0);"
     "  p = MatMul(if(transA == 0, a, Transpose(a, perm: [1, 0])),"
     "             if(transB == 0, b, Transpose(b, perm: [1, 0])));"
     "  q = if(alpha == 1, p, p * alpha);"
     "  if(has(c) * (beta != 0), q + if(beta == 1, c, c * beta), q)",
     Use::import},

    // Functions along `axis` or, before opset 13, along all axes from it on.
    {"covered(x, axis) ="
     "  first = axis(axis, rank(x));"
     "  range(first, if(opset < 13, rank(x), first + 1))"},
    {"shifted(x, axes) = x - ReduceMax(x, axes)"},
    {"Softmax(x; axis = if(opset < 13, 1, -1)) ="
     "  axes = covered(x, axis);"
     "  e = Exp(shifted(x, axes));"
     "  e / ReduceSum(e, axes)"},
    {"LogSoftmax(x; axis = if(opset < 13, 1, -1)) ="
     "  axes = covered(x, axis);"
     "  s = shifted(x, axes);"
     "  s - Log(ReduceSum(Exp(s), axes))"},
    // Layers have a single axis: several are merged, if they are known.
    {"check_several(x, first) ="
     "  sizes = part(dims(x), first + 1);"
     "  if((first > 0) * (sizes != repeat(1, size(sizes))), 0, keep())"},
    {"Softmax|LogSoftmax(x; axis = 1) ="
     "  first = axis(axis, rank(x));"
     "  check_several(x, first);"
     "  y = this(Reshape(x, [repeat(0, first), -1]), axis: first);"
     "  Reshape(y, Shape(x))",
     Use::import, 13},
    {"LayerNormalization|RMSNormalization(x, scale, bias; axis = -1,"
     "    epsilon = 1e-5) ="
     "  first = axis(axis, rank(x));"
     "  check_several(x, first);"
     "  sizes = part(dims(x), first);"
     "  is_weight = has(known(scale)) * (dims(scale) == sizes);"
     "  is_bias = if(has(bias), has(known(bias)) * (dims(bias) == sizes), 1);"
     "  if(is_weight * is_bias * (smallest(sizes) >= 0) * (outputs() == 1),"
     "     0, keep());"
     "  y = this(Reshape(x, [repeat(0, first), -1]), Reshape(scale, [-1]),"
     "           if(has(bias), Reshape(bias, [-1]), none), axis: first,"
     "           epsilon: epsilon);"
     "  Reshape(y, Shape(x))",
     Use::import},
    {"Hardmax(x; axis = if(opset < 13, 1, -1)) ="
     "  axes = covered(x, axis);"
     "  first = at(axes, 0);"
     "  sizes = part(dims(x), first, first + size(axes));"
     "  n = product(sizes);"
     "  require((smallest(sizes) >= 0) * (n <= 16777216),"
     "          'axis must have at most 2^24 elements, got', n);"
     "  rows = if(size(axes) > 1, Reshape(x, [repeat(0, first), n]), x);"
     "  after = if(size(axes) > 1, 0, rank(x) - first - 1);"
     "  best = Cast(ArgMax(rows, axis: first), to: 1);"
     "  all = reshape(Range(0, n, 1), [n, repeat(1, after)]);"
     "  y = Cast(Equal(best, all), to: 1);"
     "  if(size(axes) > 1, Reshape(y, Shape(x)), y)",
     Use::both},
    {"ReduceLogSumExp(x, list; axes = none, keepdims = 1,"
     "                noop_with_empty_axes = 0) ="
     "  a = if(opset < 18, axes, list);"
     "  top = ReduceMax(x, a, noop_with_empty_axes: noop_with_empty_axes);"
     "  shift = Where(IsInf(top), 0, top);"
     "  sum = ReduceSum(Exp(x - shift), a,"
     "                  noop_with_empty_axes: noop_with_empty_axes);"
     "  y = Log(sum) + shift;"
     "  if(keepdims != 0, y, Squeeze(y, a))"},

    // Normalizations.
    {"BatchNormalization(x, scale, bias, mean, variance; epsilon = 1e-5,"
     "    momentum = 0.9, training_mode = 0, is_test = 0, spatial = 1) ="
     "  support(spatial, 'spatial must be 1, got 0');"
     "  support((training_mode != 0) + (opset >= 14) +"
     "          (outputs() == 1) * ((opset >= 7) + (is_test != 0)),"
     "          'training mode is not supported');"
     "  axes = [0, range(2, rank(x))];"
     "  m = if(training_mode != 0, ReduceMean(x, axes), per_channel(mean, x));"
     "  d = x - m;"
     "  v = if(training_mode != 0, ReduceMean(d * d, axes),"
     "         per_channel(variance, x));"
     "  factor = per_channel(scale, x) / Sqrt(v + epsilon);"
     "  d * factor + per_channel(bias, x),"
     "  mean * momentum + reshape(m, [-1]) * (1 - momentum),"
     "  variance * momentum + reshape(v, [-1]) * (1 - momentum)"},
    {"normalized_groups(x, groups, scale, bias, scales, epsilon) ="
     "  n = at(dims(x), 0);"
     "  each = product(part(dims(x), 1));"
     "  rows = reshape(x, [n, groups, each / max(groups, 1)]);"
     "  d = rows - ReduceMean(rows, [2]);"
     "  y = d / Sqrt(ReduceMean(d * d, [2]) + epsilon);"
     "  parts = reshape(y, [n, scales, each / max(scales, 1)]);"
     "  z = parts * reshape(scale, [scales, 1]) + reshape(bias, [scales, 1]);"
     "  reshape(z, dims(x))"},
    {"InstanceNormalization(x, scale, bias; epsilon = 1e-5) ="
     "  c = at(dims(x), 1);"
     "  normalized_groups(x, c, scale, bias, c, epsilon)"},
    // Scale and bias are per group before opset 21 and per channel since then.
    {"GroupNormalization(x, scale, bias; num_groups = 0, epsilon = 1e-5) ="
     "  c = at(dims(x), 1);"
     "  require(if(num_groups > 0, c % num_groups == 0, 0),"
     "          'num_groups must divide', c, 'channels, got', num_groups);"
     "  normalized_groups(x, num_groups, scale, bias,"
     "                    if(opset < 21, num_groups, c), epsilon)"},
    {"LayerNormalization(x, scale, bias; axis = -1, epsilon = 1e-5) ="
     "  axes = axes_from(x, axis);"
     "  shape = part(dims(x), at(axes, 0));"
     "  mean = ReduceMean(x, axes);"
     "  d = x - mean;"
     "  inverse = Reciprocal(Sqrt(ReduceMean(d * d, axes) + epsilon));"
     "  y = d * inverse * reshape(scale, shape);"
     "  if(has(bias), y + reshape(bias, shape), y), mean, inverse"},
    {"RMSNormalization(x, scale; axis = -1, epsilon = 1e-5) ="
     "  mean = ReduceMean(x * x, axes_from(x, axis));"
     "  y = x / Sqrt(mean + epsilon) * scale;"
     "  require(dims(y) == dims(x), 'scale must broadcast to', dims(x));"
     "  y"},
    {"MeanVarianceNormalization(x; axes = [0, 2, 3]) ="
     "  d = x - ReduceMean(x, axes);"
     "  d / (Sqrt(ReduceMean(d * d, axes)) + 1e-9)",
     Use::both},
    // The epsilon maps vectors of zeros to zeros.
    {"LpNormalization(x; axis = -1, p = 2) ="
     "  require((p == 1) + (p == 2), 'p must be 1 or 2, got', p);"
     "  norm = if(p == 1, ReduceL1(x, [axis]), ReduceL2(x, [axis]));"
     "  x / Max(norm, 1.1754943508222875e-38)",
     Use::both},
    // A window of 2 * c + 1 covers all channels.
    {"LRN(x; size = 0, alpha = 1e-4, beta = 0.75, bias = 1) ="
     "  require(size > 0, 'size must be positive, got', size);"
     "  c = at(dims(x), 1);"
     "  w = min(size, 2 * c + 1);"
     "  columns = [at(dims(x), 0), 1, c, product(part(dims(x), 2))];"
     "  mean = AveragePool(reshape(x * x, columns), kernel_shape: [w, 1],"
     "                     pads: [floor((w - 1) / 2), 0, floor(w / 2), 0],"
     "                     count_include_pad: 1);"
     "  sum = reshape(mean, dims(x)) * (alpha * w / size);"
     "  x / Pow(sum + bias, beta)"},
    // The mask is all ones. Newer opsets have a boolean mask.
    {"Dropout(x, ratio, mode; is_test = 0) ="
     "  support(if(opset < 7, is_test, if(has(mode), number(mode) == 0, 1)),"
     "          'training mode is not supported');"
     "  x, Cast(Expand(1, Shape(x)), to: if(opset < 10, type(x), 9))"},
};

using Index = std::unordered_map<std::string_view, std::vector<const Formula*>>;

/// Returns the formulas of each name in the order of the table.
const Index& index() {
  static const Index kIndex = [] {
    Index index;
    const auto add = [&index](const Formula& formula) {
      std::string_view names = formula.text.substr(0, formula.text.find('('));
      for (size_t end = 0; end != names.npos; names.remove_prefix(end + 1)) {
        end = names.find('|');
        index[names.substr(0, end)].push_back(&formula);
        if (end == names.npos) break;
      }
    };
    std::ranges::for_each(kFormulas, add);
    std::ranges::for_each(tensor_formulas(), add);
    return index;
  }();
  return kIndex;
}

}  // namespace

const Formula* find_formula(const onnx::NodeProto& node, int64_t opset,
                            Use use) {
  const auto found = is_standard_domain(node.domain())
                         ? index().find(node.op_type())
                         : index().find(node.domain() + "." + node.op_type());
  const bool is_function =
      is_standard_domain(node.domain()) && std::isupper(node.op_type()[0]) == 0;
  if (found == index().end() || is_function) return nullptr;
  const Formula* result = nullptr;
  for (const Formula* formula : found->second) {
    const bool applies = opset < formula->before &&
                         (formula->use == use || formula->use == Use::both);
    const bool is_older = result == nullptr || formula->before < result->before;
    if (applies && is_older) result = formula;
  }
  return result;
}

const Formula* find_function(const std::string& name) {
  const auto found = index().find(name);
  const bool is_function = std::islower(name[0]) != 0;
  return found == index().end() || !is_function ? nullptr : found->second[0];
}

}  // namespace octet::io::formula
