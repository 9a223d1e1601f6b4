// Max pooling and its gradient.

// Calls f(cell, pixel) for the cells of a window inside the image, row by row.
template <class F>
OCTET_INLINE void for_cells(const MaxPool& p, int64_t oh, int64_t ow, F f) {
  for (int64_t kh = 0; kh < p.kh; ++kh) {
    const int64_t h = oh * p.stride_h - p.top + kh * p.dilation_h;
    if (h < 0 || h >= p.h) continue;
    for (int64_t kw = 0; kw < p.kw; ++kw) {
      const int64_t w = ow * p.stride_w - p.left + kw * p.dilation_w;
      if (w < 0 || w >= p.w) continue;
      f(static_cast<int32_t>(kh * p.kw + kw), h * p.w + w);
    }
  }
}

template <class V>
OCTET_INLINE void pool_block(const MaxPool& p, int64_t oh, int64_t ow,
                             int64_t c) {
  using I = typename IntsOf<V>::Type;
  V best = {};
  I where = {};
  bool begun = false;
  for_cells(p, oh, ow, [&](int32_t cell, int64_t pixel) OCTET_INLINE_LAMBDA {
    const V v = load<V>(p.image + pixel * p.c + c);
    const I here = I{} + cell;
    if (!begun) {
      best = v;
      where = here;
      begun = true;
      return;
    }
    // NaN wins: no value compares greater.
    const auto take = (v > best) | (v != v);
    best = take ? v : best;
    where = take ? here : where;
  });
  const int64_t at = (oh * p.ow + ow) * p.c + c;
  store(p.out + at, best);
  if (p.index == nullptr) return;
  if constexpr (lanes_of<V>() == 1) {
    p.index[at] = static_cast<uint8_t>(where);
  } else {
    store_low_bits<V>(p.index + at, (V)where);
  }
}

void max_pool(const MaxPool& arguments) {
  const MaxPool p = arguments;
  for (int64_t oh = 0; oh < p.oh; ++oh) {
    for (int64_t ow = 0; ow < p.ow; ++ow) {
      for_channel_blocks(p.c, [&](auto v, int64_t c) {
        pool_block<decltype(v)>(p, oh, ow, c);
      });
    }
  }
}

template <class V>
OCTET_INLINE void pool_gradient_block(const MaxPoolGradient& g, int64_t oh,
                                      int64_t ow, int64_t c) {
  using I = typename IntsOf<V>::Type;
  const MaxPool& p = g.sizes;
  const int64_t at = (oh * p.ow + ow) * p.c + c;
  const V dy = load<V>(g.dy + at);
  I taken;
  if constexpr (lanes_of<V>() == 1) {
    taken = g.index[at];
  } else {
    typename CodeVector<1, lanes_of<V>()>::Type bytes;
    __builtin_memcpy(&bytes, g.index + at, sizeof(bytes));
    taken = widened<I>(bytes);
  }
  for_cells(p, oh, ow, [&](int32_t cell, int64_t pixel) OCTET_INLINE_LAMBDA {
    float* dx = g.dx + pixel * p.c + c;
    const V own = taken == I{} + cell ? dy : V{};
    store(dx, load<V>(dx) + own);
  });
}

void max_pool_gradient(const MaxPoolGradient& arguments) {
  const MaxPoolGradient g = arguments;
  const MaxPool& p = g.sizes;
  clear(g.dx, p.h * p.w * p.c);
  for (int64_t oh = 0; oh < p.oh; ++oh) {
    for (int64_t ow = 0; ow < p.ow; ++ow) {
      for_channel_blocks(p.c, [&](auto v, int64_t c) {
        pool_gradient_block<decltype(v)>(g, oh, ow, c);
      });
    }
  }
}
