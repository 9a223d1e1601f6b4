// Products of quantized values by AMX: one instruction multiplies 64 bytes of
// each of 16 pixels with 64 bytes of each of 16 channels and adds to 256 sums.
// Operands have the memory layout of vpdpbusd (see int8_gemm.inl). Source:
// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1,
// chapter 18.

#include "code_sums.inl"

constexpr int kMatrixRows = 16;   // rows of a tile register
constexpr int kMatrixWords = 16;  // 32-bit words per row
constexpr int64_t kWordBytes = sizeof(CodeWord);

// Assignment of tile registers.
constexpr int kSumTiles = 4;    // 0 to 3
constexpr int kImageTile = 4;   // and 5
constexpr int kWeightTile = 6;  // and 7

struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

template <int To>
OCTET_INLINE void load_tile(const void* from, int64_t row_bytes) {
  asm volatile("tileloadd (%1,%2,1), %%tmm%c0"
               :
               : "i"(To), "r"(from), "r"(row_bytes)
               : "memory");
}

template <int From>
OCTET_INLINE void store_tile(void* to, int64_t row_bytes) {
  asm volatile("tilestored %%tmm%c0, (%1,%2,1)"
               :
               : "i"(From), "r"(to), "r"(row_bytes)
               : "memory");
}

template <int Sums, int Image, int Weights>
OCTET_INLINE void add_tile_product() {
  asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0"
               :
               : "i"(Sums), "i"(Image), "i"(Weights));
}

// Configures tiles for `pixels` pixels and `words` words per instruction.
OCTET_INLINE void shape_tiles(int64_t pixels, int64_t words) {
  TileShapes shapes;
  const auto set = [&](int tile, int64_t rows, int64_t row_words) {
    shapes.rows[tile] = static_cast<uint8_t>(rows);
    shapes.row_bytes[tile] = static_cast<uint16_t>(4 * row_words);
  };
  for (int i = 0; i < kSumTiles; ++i) set(i, pixels, kMatrixWords);
  for (int i = 0; i < 2; ++i) {
    set(kImageTile + i, pixels, words);
    set(kWeightTile + i, words, kMatrixWords);
  }
  asm volatile("ldtilecfg %0" : : "m"(shapes));
}

OCTET_INLINE void release_tiles() { asm volatile("tilerelease"); }

// Output pixels of a product as lines, cut into runs. Each row is a line, or,
// if that makes fewer runs, all rows are one line as stored in the image,
// including the pixels between them, whose sums are discarded.
struct Lines {
  int64_t count, pixels;
  int64_t pitch;  // pixels between rows
  int64_t run;    // pixels per run
};

OCTET_INLINE int64_t runs_of(int64_t pixels) {
  return (pixels + kMatrixRows - 1) / kMatrixRows;
}

OCTET_INLINE Lines lines_of(const CodeProduct& c) {
  Lines lines{c.rows, c.cols, c.cols, 0};
  const int64_t pitch = c.line / c.pixel;
  const int64_t joined = (c.rows - 1) * pitch + c.cols;
  if (pitch * c.pixel == c.line && pitch >= c.cols &&
      runs_of(joined) < c.rows * runs_of(c.cols)) {
    lines = {1, joined, pitch, 0};
  }
  lines.run = lines.pixels < kMatrixRows ? lines.pixels : kMatrixRows;
  return lines;
}

// Neighboring pixels of a line, whose sums fill one register.
struct PixelRun {
  int64_t line, first;
  int64_t skip;  // pixels that overlap the previous run
};

struct RunProduct {
  const CodeProduct* of;
  const CodeWord* images[kSumTiles];  // per run
  const CodeWord* weights;            // one panel
  const int32_t* start;
  int64_t words;  // words per instruction
  int32_t* sums;  // [runs][kMatrixRows][V * kLanes]
};

// Multiplies Runs runs with V vectors of channels.
template <int V, int Runs>
OCTET_NOINLINE void multiply_runs(const RunProduct& p) {
  static_assert(V * Runs <= kSumTiles);
  constexpr int64_t kWidth = V * kLanes;
  const CodeProduct& c = *p.of;
  const int64_t words = p.words;
  const int64_t pixel = c.pixel * kWordBytes;
  unroll<Runs>([&](auto r) OCTET_INLINE_LAMBDA {
    unroll<V>([&](auto v) OCTET_INLINE_LAMBDA {
      load_tile<r * V + v>(p.start + v * kLanes, 0);
    });
  });
  const CodeWord* weights = p.weights;
  for (int64_t s = 0; s < c.segment_count; ++s) {
    int64_t at = c.segments[s];
    for (const int64_t end = at + c.steps; at < end; at += words) {
      unroll<V>([&](auto v) OCTET_INLINE_LAMBDA {
        load_tile<kWeightTile + v>(weights + v * kLanes, kWidth * kWordBytes);
      });
      unroll<Runs>([&](auto r) OCTET_INLINE_LAMBDA {
        constexpr int kImage = kImageTile + r % 2;
        load_tile<kImage>(p.images[r] + at, pixel);
        unroll<V>([&](auto v) OCTET_INLINE_LAMBDA {
          add_tile_product<r * V + v, kImage, kWeightTile + v>();
        });
      });
      weights += words * kWidth;
    }
  }
  unroll<Runs>([&](auto r) OCTET_INLINE_LAMBDA {
    unroll<V>([&](auto v) OCTET_INLINE_LAMBDA {
      store_tile<r * V + v>(p.sums + r * kMatrixRows * kWidth + v * kLanes,
                            kWidth * kWordBytes);
    });
  });
}

template <int V>
OCTET_INLINE void multiply_runs(const RunProduct& p, int runs) {
  switch (runs) {
    case 1:
      return multiply_runs<V, 1>(p);
    case 2:
      return multiply_runs<V, 2>(p);
    case 3:
      if constexpr (V == 1) multiply_runs<V, 3>(p);
      return;
    default:
      if constexpr (V == 1) multiply_runs<V, 4>(p);
  }
}

// Stores the sums of neighboring runs up to pixel `end`, row by row.
template <bool Fuse>
OCTET_INLINE void finish_runs(const CodeProduct& c, const Lines& lines,
                              const PixelRun& run, int64_t end,
                              const int32_t* sums, int width, int64_t k,
                              int channels, const Epilogue& e) {
  for (int64_t at = run.first + run.skip; at < end;) {
    const int64_t row = at < lines.pitch ? 0 : at / lines.pitch;
    const int64_t col = at - row * lines.pitch;
    if (col < c.cols) {
      const int64_t left = c.cols - col;
      const int64_t count = end - at < left ? end - at : left;
      finish_tile<Fuse>(sums + (at - run.first) * width,
                        {run.line + row, col, count, width}, k, channels, e);
    }
    at += lines.pitch - col;
  }
}

// Computes the V vectors of channels from k on.
template <int V, bool Fuse>
OCTET_INLINE void multiply_panel(const CodeProduct& c, const Lines& lines,
                                 int64_t words, int64_t k, const Epilogue& e) {
  constexpr int kWidth = V * kLanes;
  constexpr int kMost = kSumTiles / V;
  alignas(64) int32_t sums[kMost * kMatrixRows * kWidth];
  const int channels = panel_channels(k, c.channels);
  PixelRun runs[kMost];
  RunProduct p{};
  p.of = &c;
  p.weights = c.weights + k * c.panel_rows + c.first_row * kWidth;
  p.start = c.start + k;
  p.words = words;
  p.sums = sums;
  int count = 0;
  const auto finish = [&]() OCTET_INLINE_LAMBDA {
    multiply_runs<V>(p, count);
    for (int i = 0; i < count;) {
      const PixelRun& run = runs[i];
      const int32_t* const from = sums + i * kMatrixRows * kWidth;
      int64_t end = run.first + lines.run;
      // Merges the next run unless it overlaps this one.
      static_assert(2 * kMatrixRows <= kMostFusedPixels);
      if (++i < count && runs[i].line == run.line && runs[i].first == end &&
          lines.run == kMatrixRows) {
        end += lines.run;
        ++i;
      }
      finish_runs<Fuse>(c, lines, run, end, from, kWidth, k, channels, e);
    }
    count = 0;
  };
  for (int64_t line = 0; line < lines.count; ++line) {
    for (int64_t next = 0; next < lines.pixels; next += lines.run) {
      // A shorter last run starts earlier, to overlap.
      const int64_t left = lines.pixels - next;
      const int64_t skip = left < lines.run ? lines.run - left : 0;
      runs[count] = {line, next - skip, skip};
      p.images[count] = c.image + line * c.line + (next - skip) * c.pixel;
      if (++count == kMost) finish();
    }
  }
  if (count > 0) finish();
}

template <bool Fuse>
OCTET_INLINE void multiply_panels(const CodeProduct& c, const Lines& lines,
                                  int64_t words, const Epilogue& e) {
  for (int64_t k = 0; k < c.channels;) {
    const int vectors = panel_vectors(k, c.channels);
    if (vectors == 2) {
      multiply_panel<2, Fuse>(c, lines, words, k, e);
    } else {
      multiply_panel<1, Fuse>(c, lines, words, k, e);
    }
    k += vectors * kLanes;
  }
}

// Returns the largest divisor of `steps` that fits an instruction, in words.
OCTET_INLINE int64_t words_at_once(int64_t steps) {
  int64_t words = steps < kMatrixWords ? steps : kMatrixWords;
  while (steps % words != 0) --words;
  return words;
}
