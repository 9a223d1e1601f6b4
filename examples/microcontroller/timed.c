/* Runs every sample of a file through generated INT8 code, writes the outputs
 * and prints the time per inference in microseconds:
 *
 *   timed INPUTS.bin OUTPUTS.bin
 *
 * The median of 21 runs over up to 100 samples. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "model.h"

static uint32_t arena[NET_ARENA_BYTES / 4 + 1];
static int8_t input[NET_INPUT_SIZE];
static int8_t output[NET_OUTPUT_SIZE];

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  enum { kRuns = 21 };
  double times[kRuns];
  FILE* in = argc == 3 ? fopen(argv[1], "rb") : NULL;
  FILE* out = in != NULL ? fopen(argv[2], "wb") : NULL;
  int samples = 0;
  if (out == NULL) {
    fprintf(stderr, "usage: timed INPUTS.bin OUTPUTS.bin\n");
    return 2;
  }
  while (fread(input, 1, sizeof input, in) == sizeof input) {
    if (net_run(input, output, arena) != NET_OK ||
        fwrite(output, 1, sizeof output, out) != sizeof output) {
      return 1;
    }
    ++samples;
  }
  if (fclose(out) != 0 || samples == 0) return 1;
  if (samples > 100) samples = 100;
  for (int run = 0; run < kRuns; ++run) {
    rewind(in);
    double total = 0;
    for (int i = 0; i < samples; ++i) {
      if (fread(input, 1, sizeof input, in) != sizeof input) return 1;
      const double start = seconds();
      if (net_run(input, output, arena) != NET_OK) return 1;
      total += seconds() - start;
    }
    times[run] = total / samples;
  }
  qsort(times, kRuns, sizeof times[0], ascending);
  printf("%.1f\n", 1e6 * times[kRuns / 2]);
  return 0;
}
