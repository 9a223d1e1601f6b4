// Formulas of pooling, movements, products, quantized operators, and the forms
// of older opsets. Source: ONNX, docs/Operators.md, docs/Changelog.md and, for
// com.microsoft, ONNX Runtime, docs/ContribOperators.md.
#include "formulas.h"

namespace octet::io::formula {

namespace {

constexpr Formula kTensorFormulas[] = {
    // Pooling.
    {"GlobalAveragePool(x) = ReduceMean(x, pixels(x))"},
    {"GlobalLpPool(x; p = 2) ="
     "  Pow(ReduceSum(Pow(Abs(x), p), pixels(x)), 1 / p)",
     Use::both},
    {"GlobalMaxPool(x) = ReduceMax(x, pixels(x))"},
    // Windows of volumes: over rows and columns, then over planes.
    {"MaxPool|AveragePool(x; kernel_shape = [],"
     "    strides = repeat(1, rank(x) - 2), pads = repeat(0, 2 * rank(x) - 4),"
     "    dilations = repeat(1, rank(x) - 2), auto_pad = 'NOTSET',"
     "    ceil_mode = 0, count_include_pad = 0) ="
     "  if((rank(x) == 5) * (size(kernel_shape) == 3), 0, keep());"
     "  support(outputs() == 1, 'indices of volumes are not supported');"
     "  d = dims(x);"
     "  y = this(reshape(x, [at(d, 0), at(d, 1) * at(d, 2), part(d, 3)]),"
     "           kernel_shape: part(kernel_shape, 1), strides: part(strides, "
     "1),"
     "           pads: [part(pads, 1, 3), part(pads, 4)],"
     "           dilations: part(dilations, 1), auto_pad: auto_pad,"
     "           ceil_mode: ceil_mode, count_include_pad: count_include_pad);"
     "  size = part(dims(y), 2);"
     "  z = this(reshape(y, [part(d, 0, 3), product(size)]),"
     "           kernel_shape: [at(kernel_shape, 0), 1],"
     "           strides: [at(strides, 0), 1],"
     "           pads: [at(pads, 0), 0, at(pads, 3), 0],"
     "           dilations: [at(dilations, 0), 1], auto_pad: auto_pad,"
     "           ceil_mode: ceil_mode, count_include_pad: count_include_pad);"
     "  reshape(z, [part(dims(z), 0, 3), size])"},

    // Convolutions of volumes: planes of a window become channels of images.
    {"check_volume(x, w, mode) ="
     "  support(mode == 'NOTSET', 'volumes need auto_pad NOTSET, got', mode);"
     "  require(rank(w) == 5, 'weight must have 5 axes, got', dims(w))"},
    {"planes(first, step, out, k, along) ="
     "  Unsqueeze(count(out) * int(step) + int(first), [1])"
     "  + count(k) * int(along)"},
    {"images(x, planes) ="
     "  y = Transpose(Gather(x, planes, axis: 2), perm: [0, 2, 1, 3, 4, 5]);"
     "  d = dims(y);"
     "  reshape(y, [at(d, 0) * at(d, 1), at(d, 2) * at(d, 3), part(d, 4)])"},
    {"volumes(y, n) ="
     "  d = dims(y);"
     "  Transpose(reshape(y, [n, at(d, 0) / max(n, 1), part(d, 1)]),"
     "            perm: [0, 2, 1, 3, 4])"},
    {"Conv(x, w, b; auto_pad = 'NOTSET', dilations = [1, 1, 1], group = 1,"
     "    pads = [0, 0, 0, 0, 0, 0], strides = [1, 1, 1]) ="
     "  if(rank(x) == 5, check_volume(x, w, auto_pad), keep());"
     "  k = at(dims(w), 2);"
     "  p = at(pads, 0);"
     "  q = at(pads, 3);"
     "  reach = at(dilations, 0) * (k - 1) + 1;"
     "  out = floor((at(dims(x), 2) + p + q - reach) / at(strides, 0)) + 1;"
     "  require(out > 0, 'input is smaller than the kernel:', dims(x));"
     "  padded = Pad(x, [0, 0, p, 0, 0, 0, 0, q, 0, 0]);"
     "  all = planes(0, at(strides, 0), out, k, at(dilations, 0));"
     "  weight = reshape(w, [at(dims(w), 0), at(dims(w), 1) * k,"
     "                       part(dims(w), 3)]);"
     "  y = Conv(images(padded, all), weight, b, group: group,"
     "           strides: part(strides, 1), dilations: part(dilations, 1),"
     "           pads: [part(pads, 1, 3), part(pads, 4)]);"
     "  volumes(y, at(dims(x), 0))"},
    {"ConvTranspose(x, w, b; auto_pad = 'NOTSET', dilations = [1, 1, 1],"
     "    group = 1, output_padding = [0, 0, 0], output_shape = none,"
     "    pads = [0, 0, 0, 0, 0, 0], strides = [1, 1, 1]) ="
     "  if(rank(x) == 5, check_volume(x, w, auto_pad), keep());"
     "  support(has(output_shape) == 0, 'output_shape of volumes');"
     "  d = dims(x);"
     "  k = at(dims(w), 2);"
     "  s = at(strides, 0);"
     "  reach = at(dilations, 0) * (k - 1);"
     "  more = at(output_padding, 0);"
     "  out = (at(d, 2) - 1) * s + more + reach + 1 - at(pads, 0) - at(pads, "
     "3);"
     "  require((out > 0) * (s > 0), 'output must not be empty');"
     "  apart = reshape(Pad(Unsqueeze(x, [3]), [repeat(0, 9), s - 1, 0, 0]),"
     "                  [part(d, 0, 2), at(d, 2) * s, part(d, 3)]);"
     "  padded = Pad(apart, [0, 0, reach, 0, 0, 0, 0, reach + more, 0, 0]);"
     "  all = planes(reach + at(pads, 0), 1, out, k, 0 - at(dilations, 0));"
     "  weight = reshape(Transpose(w, perm: [0, 2, 1, 3, 4]),"
     "                   [at(d, 1) * k, at(dims(w), 1), part(dims(w), 3)]);"
     "  y = ConvTranspose(images(padded, all), weight, b, group: group,"
     "           strides: part(strides, 1), dilations: part(dilations, 1),"
     "           output_padding: part(output_padding, 1),"
     "           pads: [part(pads, 1, 3), part(pads, 4)]);"
     "  volumes(y, at(d, 0))"},
    // A transposed convolution that places each element of a column.
    {"Col2Im(x, image, block; dilations = [1, 1], pads = [0, 0, 0, 0],"
     "    strides = [1, 1]) ="
     "  size = dims(Expand(0, image));"
     "  k = dims(Expand(0, block));"
     "  support((size(size) == 2) * (size(k) == 2), 'images need 2 axes');"
     "  require((rank(x) == 3) * (smallest(strides) > 0),"
     "          'input must be columns [n,c,l], got', dims(x));"
     "  n = at(dims(x), 0);"
     "  c = at(dims(x), 1) / max(product(k), 1);"
     "  room = size + part(pads, 0, 2) + part(pads, 2) - dilations * (k - 1) - "
     "1;"
     "  steps = room / strides + 1;"
     "  columns = reshape(x, [n * c, product(k), steps]);"
     "  one = EyeLike(Expand(0, [product(k), product(k)]), dtype: 1);"
     "  y = ConvTranspose(columns, reshape(one, [product(k), 1, k]),"
     "                    strides: strides, dilations: dilations, pads: pads,"
     "                    output_padding: room % strides);"
     "  reshape(y, [n, c, size])"},

    // Discrete Fourier transform as products with cosines and sines.
    // sin(2 pi q / 4n) for q from 0 to 4n, exact for multiples of pi / 2.
    {"sine(q, n) ="
     "  w = Cast(int(2 * n) - q, to: 1);"
     "  a = Abs(w);"
     "  Sign(w) * Sin(Min(a, 2 * n - a) * (1.5707963267948966 / n))"},
    {"along(x, a, w) ="
     "  last = rank(x) - 1;"
     "  if(a == last, MatMul(x, w),"
     "     Transpose(MatMul(Transpose(x, perm: [range(0, a),"
     "                                          range(a + 1, last + 1), a]), "
     "w),"
     "               perm: [range(0, a), last, range(a, last)]))"},
    {"DFT(x, length, place; axis = if(opset < 20, 1, -2), inverse = 0,"
     "    onesided = 0) ="
     "  r = rank(x);"
     "  a = axis(if(has(place), number(place), axis), r);"
     "  parts = at(dims(x), -1);"
     "  require((a < r - 1) * ((parts == 1) + (parts == 2)),"
     "          'input must be [...,1] or [...,2] with another axis, got',"
     "          dims(x));"
     "  support((onesided == 0) + (parts == 1) * (inverse == 0),"
     "          'onesided needs real input');"
     "  have = at(dims(x), a);"
     "  n = if(has(length), number(length), have);"
     "  require(n > 0, 'dft_length must be positive, got', n);"
     "  all = if(n < have, Slice(x, [0], [n], [a]),"
     "           if(n == have, x, Pad(x, [repeat(0, r + a), n - have,"
     "                                    repeat(0, r - a - 1)])));"
     "  m = if(onesided, floor(n / 2) + 1, n);"
     "  q = Mod(Unsqueeze(count(n), [1]) * count(m), int(n)) * int(4);"
     "  c = sine(Mod(q + int(n), int(4 * n)), n);"
     "  s = if(inverse != 0, -sine(q, n), sine(q, n));"
     "  re = Gather(all, int(0), axis: r - 1);"
     "  im = if(parts == 2, Gather(all, int(1), axis: r - 1), none);"
     "  y = if(parts == 2, along(re, a, c) + along(im, a, s), along(re, a, c));"
     "  z = if(parts == 2, along(im, a, c) - along(re, a, s),"
     "         -along(re, a, s));"
     "  both = Concat(Unsqueeze(y, [-1]), Unsqueeze(z, [-1]), axis: -1);"
     "  if(inverse != 0, both / n, both)"},

    // Movements. DCR orders channels by block, then depth; CRD by depth
    // first.
    {"check_blocks(x, b, mode) ="
     "  require((rank(x) == 4) * (b > 0) * ((mode == 'DCR') + (mode == "
     "'CRD')),"
     "          'input must be [n,c,h,w] with a blocksize >= 1 and mode DCR "
     "or"
     " CRD, got', dims(x), 'and', b, mode)"},
    {"DepthToSpace(x; blocksize = 0, mode = 'DCR') ="
     "  b = blocksize;"
     "  check_blocks(x, b, mode);"
     "  n = at(dims(x), 0);"
     "  d = at(dims(x), 1) / b / b;"
     "  h = at(dims(x), 2);"
     "  w = at(dims(x), 3);"
     "  require(d == floor(d), 'channels must be a multiple of', b * b);"
     "  y = if(mode == 'DCR',"
     "    Transpose(reshape(x, [n, b, b, d, h, w]), perm: [0, 3, 4, 1, 5, "
     "2]),"
     "    Transpose(reshape(x, [n, d, b, b, h, w]), perm: [0, 1, 4, 2, 5, "
     "3]));"
     "  reshape(y, [n, d, h * b, w * b])"},
    {"SpaceToDepth(x; blocksize = 0, mode = 'DCR') ="
     "  b = blocksize;"
     "  check_blocks(x, b, mode);"
     "  n = at(dims(x), 0);"
     "  c = at(dims(x), 1);"
     "  h = at(dims(x), 2) / b;"
     "  w = at(dims(x), 3) / b;"
     "  require((h == floor(h)) * (w == floor(w)),"
     "          'image sizes must be multiples of', b, ', got', dims(x));"
     "  parts = reshape(x, [n, c, h, b, w, b]);"
     "  y = Transpose(parts, perm: if(mode == 'DCR', [0, 3, 5, 1, 2, 4],"
     "                                [0, 1, 3, 5, 2, 4]));"
     "  reshape(y, [n, b * b * c, h, w])"},
    {"Flatten(x; axis = 1) ="
     "  a = if(axis == rank(x), axis, axis(axis, rank(x)));"
     "  reshape(x, [product(part(dims(x), 0, a)), product(part(dims(x), "
     "a))])"},
    {"Size(x) = int(product(dims(x)))"},
    {"ConstantOfShape(shape; value = 0) = Expand(single(value), shape)"},
    {"EyeLike(x; k = 0, dtype = type(x)) ="
     "  require(rank(x) == 2, 'input must be a matrix, got', dims(x));"
     "  if(smallest(dims(x)) < 0, keep(), 0);"
     "  Cast(Equal(diagonals(x), int(k)), to: dtype)",
     Use::both},
    // A product with a triangle.
    {"CumSum(x, place; exclusive = 0, reverse = 0) ="
     "  a = axis(number(place), rank(x));"
     "  n = at(dims(x), a);"
     "  if(n < 1, keep(), 0);"
     "  k = if(exclusive != 0, if(reverse != 0, -1, 1), 0);"
     "  along(x, a, Trilu(Expand(1, [n, n]), int(k),"
     "                    upper: if(reverse != 0, 0, 1)))",
     Use::import},
    // Keeps a triangle of each matrix.
    {"Trilu(x, k = int(0); upper = 1) ="
     "  kept = if(upper != 0, GreaterOrEqual(diagonals(x), single(k)),"
     "            LessOrEqual(diagonals(x), single(k)));"
     "  Where(kept, x, Cast(0, to: type(x)))",
     Use::both},
    {"OneHot(indices, depth, values; axis = -1) ="
     "  n = number(depth);"
     "  require((n >= 1) * (product(dims(values)) == 2),"
     "          'depth must be positive and values two numbers, got', n, "
     "'and',"
     "          dims(values));"
     "  i = Cast(indices, to: 7);"
     "  at = Where(Less(i, int(0)), i + int(n), i);"
     "  a = axis(axis, rank(i) + 1);"
     "  all = reshape(count(n), [floor(n), repeat(1, rank(i) - a)]);"
     "  Where(Equal(Unsqueeze(at, [a]), all), Gather(values, int(1)),"
     "        Gather(values, int(0)))"},

    // Scores of hidden keys are the lowest numbers, so that a query that
    // sees none has no NaN: its weights become 0. A constant mask of a
    // layer shows each query a key. Left unchanged: other opsets; past keys
    // and values; a soft cap; more query heads than a multiple of the key
    // heads; masks of other types or with is_causal.
    {"by_heads(x, heads) ="
     "  if(heads == 0, x,"
     "     Transpose(Reshape(x, [0, 0, heads, -1]), perm: [0, 2, 1, 3]))"},
    {"grouped(x, heads, total) ="
     "  if(heads == total, x,"
     "     Gather(x, range(0, total) / (total / heads), axis: 1))"},
    {"Attention(q, k, v, mask, past_key, past_value; is_causal = 0,"
     "    kv_num_heads = 0, q_num_heads = 0, scale = none, softcap = 0) ="
     "  r = rank_if_known(q);"
     "  heads = if(r == 4, 0, q_num_heads);"
     "  total = if(r == 4, at(dims(q), 1), q_num_heads);"
     "  own = if(r != 4, kv_num_heads,"
     "           if(rank_if_known(k) == 4, at(dims(k), 1), total));"
     "  fits = if(total == own, heads >= 0, if((own > 0) * (total > 0)"
     "            * (total < 32768), total % own == 0, 0));"
     "  has_rank = (r == 0) + (r == 3) * (heads != 0) + (r == 4);"
     "  type = if(has(mask), type(mask), 1);"
     "  frozen = importing() * is_known(mask);"
     "  hides = if(frozen, hides_row(mask), 0);"
     "  finite = if(has(scale), scale - scale == 0, 1);"
     "  rest = has(past_key) + has(past_value) + (softcap != 0) + hides"
     "         + (outputs() != 1) + has(mask) * is_causal;"
     "  if((opset == 23) * fits * has_rank * finite * (rest == 0)"
     "     * ((type == 1) + (type == 9)), 0,"
     "     if(importing(), keep(), support(0, 'this form is not "
     "supported')));"
     "  query = by_heads(q, heads);"
     "  kv_heads = if(heads == 0, 0, own);"
     "  keys = grouped(by_heads(k, kv_heads), own, total);"
     "  s = MatMul(query, Transpose(keys, perm: [0, 1, 3, 2]))"
     "      * if(has(scale), scale, Reciprocal(Sqrt(Cast("
     "           Gather(Shape(query), [3]), to: 1))));"
     "  low = -3.4028234663852886e38;"
     "  masked = if(has(mask) == 0, s, if(type == 9,"
     "              Where(mask, s, if(frozen, -1 / 0, low)),"
     "              if(frozen, s + mask, Max(s + mask, low))));"
     "  seen = if(has(mask) * (frozen == 0), if(type == 9, mask,"
     "            Greater(masked, low)), none);"
     "  causal = if(is_causal, Where(Cast(Trilu(Expand(1, "
     "Slice(Shape(masked),"
     "              [2], [4], [0])), upper: 0), to: 9), masked, -1 / 0),"
     "              masked);"
     "  w = Softmax(causal, axis: -1);"
     "  values = grouped(by_heads(v, kv_heads), own, total);"
     "  y = MatMul(if(has(seen), Where(seen, w, 0), w), values);"
     "  if(heads == 0, y,"
     "     Reshape(Transpose(y, perm: [0, 2, 1, 3]), [0, 0, -1]))",
     Use::both},

    // Quantized values. x minus its zero point, for each index of an axis
    // or for all, has at most 8 bits and a sign, so that sums are exact.
    {"centered(x, zero, axis) ="
     "  if(has(zero), DequantizeLinear(x, Cast(Equal(zero, zero), to: 1), "
     "zero,"
     "                                 axis: axis), DequantizeLinear(x, 1))"},
    {"integer_conv(x, x_zero, w, w_zero) ="
     "  own('octet.IntegerConv', 28, centered(x, single(x_zero), 1),"
     "      centered(w, w_zero, 0))"},
    {"integer_product(a, a_zero, b, b_zero) ="
     "  octet.IntegerMatMul(centered(a, a_zero, -2), centered(b, b_zero, "
     "-1))"},
    {"ConvInteger(x, w, x_zero, w_zero) = integer_conv(x, x_zero, w, "
     "w_zero)"},
    {"MatMulInteger(a, b, a_zero, b_zero) ="
     "  integer_product(a, a_zero, b, b_zero)"},
    {"QLinearConv(x, xs, xz, w, ws, wz, ys, yz, bias) ="
     "  sums = integer_conv(x, xz, w, wz);"
     "  all = if(has(bias), sums + per_channel(bias, sums), sums);"
     "  octet.Requantize(all, xs, ws, ys, yz, axis: 1)"},
    {"QLinearMatMul(a, as, az, b, bs, bz, ys, yz) ="
     "  octet.Requantize(integer_product(a, az, b, bz), as, bs, ys, yz,"
     "                   axis: -1)"},
    {"com.microsoft.QGemm(a, as, az, b, bs, bz, bias, ys, yz; alpha = 1,"
     "                    transA = 0, transB = 0) ="
     "  require((rank(a) == 2) * (rank(b) == 2), 'inputs must be matrices');"
     "  p = integer_product(if(transA == 0, a, Transpose(a)), az,"
     "                      if(transB == 0, b, Transpose(b)), bz);"
     "  sums = if(has(bias), p + bias, p);"
     "  y = Cast(sums, to: 1) * (single(as) * alpha) * bs;"
     "  require(dims(y) == dims(p),"
     "          'bias and scales must broadcast to the product', dims(p));"
     "  if(has(ys), quantized(y, ys, yz, a), y)"},
    {"dequantized(x, scale, zero) ="
     "  DequantizeLinear(x, single(scale), single(zero))"},
    // Without a zero point, the type is that of an input.
    {"quantized(y, scale, zero, like) ="
     "  if(has(zero), QuantizeLinear(y, single(scale), single(zero)),"
     "     QuantizeLinear(y, single(scale), output_dtype: type(like)))"},
    {"com.microsoft.QLinearAdd|com.microsoft.QLinearMul("
     "    a, as, az, b, bs, bz, ys, yz) ="
     "  y = own(tail(7), 28, dequantized(a, as, az), dequantized(b, bs, bz));"
     "  quantized(y, ys, yz, a)"},
    {"com.microsoft.QLinearConcat(ys, yz, x) ="
     "  require(inputs() % 3 == 2,"
     "          'must have a scale and a zero point for each tensor, got',"
     "          inputs(), 'inputs');"
     "  y = own_of_threes('Concat', 28, 'dequantized', 2);"
     "  quantized(y, ys, yz, x)"},
    {"com.microsoft.QLinearAveragePool|com.microsoft."
     "QLinearGlobalAveragePool|"
     "com.microsoft.QLinearLeakyRelu|com.microsoft.QLinearSigmoid|"
     "com.microsoft.QLinearSoftmax("
     "    x, xs, xz, ys, yz; opset = 28, channels_last = 0) ="
     "  support(channels_last == 0, 'channels_last must be 0');"
     "  quantized(own(tail(7), opset, dequantized(x, xs, xz)), ys, yz, x)"},
    {"DynamicQuantizeLinear(x) ="
     "  low = Min(ReduceMin(x, keepdims: 0), 0);"
     "  high = Max(ReduceMax(x, keepdims: 0), 0);"
     "  range = (high - low) / 255;"
     "  scale = Where(Equal(range, 0), 1, range);"
     "  zero = QuantizeLinear(-low / scale, 1);"
     "  QuantizeLinear(x, scale, zero), scale, zero"},

    // Without axes, all axes of size 1 are removed. The batch may have
    // another size.
    {"Squeeze(x, list; axes = none) ="
     "  if(has(axes) + has(list), keep(), 0);"
     "  if(smallest(part(dims(x), 1)) < 0, keep(), 0);"
     "  ones = places(dims(x), 1);"
     "  if(size(ones) == 0, Identity(x), Squeeze(x, ones))",
     Use::import},

    // Forms of older opsets. `axis` aligns the second operand to an axis of
    // the first.
    {"Add|And|Div|Equal|Greater|Less|Mul|Or|Pow|Sub|Xor(a, b; axis = none) ="
     "  first = if(has(axis), axis(axis, rank(a)), keep());"
     "  after = rank(a) - rank(b) - first;"
     "  require(after >= 0, 'input 1 does not fit input 0 at axis', first);"
     "  this(a, if(after == 0, b,"
     "             Unsqueeze(b, range(rank(b), rank(b) + after))))",
     Use::both, 7},
    // A list of slopes has one for each channel.
    {"PRelu(x, slope) ="
     "  if((rank(slope) == 1) * (rank(x) > 2),"
     "     PRelu(x, Unsqueeze(slope, range(1, rank(x) - 1))), keep())",
     Use::both, 7},
    {"Cast(x; to = '') = Cast(x, to: type_named(to))", Use::both, 6},
    // Pixel positions are x_original = x_resized / scale. ONNX does not
    // define rounding; ONNX Runtime rounds up on axes that shrink.
    {"enlarged(x, s, mode, nearest) ="
     "  Resize(x, none, s, mode: if(mode == 'bilinear', 'linear', mode),"
     "         coordinate_transformation_mode: 'asymmetric',"
     "         nearest_mode: nearest)"},
    {"scaled(x, s, mode) ="
     "  require(smallest(s) > 0, 'scales must be positive');"
     "  floors = (mode != 'nearest') + (smallest(s) >= 1) + has_whole_steps(s);"
     "  if(floors, enlarged(x, s, mode, 'floor'),"
     "     if(largest(s) <= 1, enlarged(x, s, mode, 'ceil'),"
     "        enlarged(enlarged(x, Max(s, 1), mode, 'floor'), Min(s, 1),"
     "                 mode, 'ceil')))"},
    {"Upsample(x; height_scale = 1, width_scale = 1, mode = 'nearest') ="
     "  scaled(x, floats(1, 1, height_scale, width_scale), mode)",
     Use::both, 7},
    {"Upsample(x; scales = none, mode = 'nearest') = scaled(x, scales, mode)",
     Use::both, 9},
    {"Resize|Upsample(x, scales; mode = 'nearest') = scaled(x, scales, mode)",
     Use::both, 11},
};

}  // namespace

std::span<const Formula> tensor_formulas() { return kTensorFormulas; }

}  // namespace octet::io::formula
