/* Keyword spotting: prints the word of each recording in features.h. */
#include <stdio.h>

#include "features.h"
#include "model.h"

static const char* const words[KWS_OUTPUT_SIZE] = {
    "down",  "go", "left", "no",  "off",     "on",
    "right", "stop", "up",   "yes", "silence", "unknown"};

static uint32_t arena[KWS_ARENA_BYTES / 4];
static int8_t input[KWS_INPUT_SIZE];
static float output[KWS_OUTPUT_SIZE];

/* Converts a feature, quantized as in the MLPerf Tiny benchmark, to the
   quantization of the model. */
static int8_t quantized(int8_t feature) {
  const float real = 0.5847029f * (float)(feature - 83);
  const float q = real / KWS_INPUT_SCALE + (float)KWS_INPUT_ZERO_POINT;
  const float rounded = q < 0.0f ? q - 0.5f : q + 0.5f;
  if (rounded <= -128.0f) {
    return -128;
  }
  return rounded >= 127.0f ? 127 : (int8_t)rounded;
}

int main(void) {
  int i, k;
  for (i = 0; i < FEATURES_COUNT; ++i) {
    int best = 0;
    for (k = 0; k < KWS_INPUT_SIZE; ++k) {
      input[k] = quantized(features[i * KWS_INPUT_SIZE + k]);
    }
    if (kws_run(input, output, arena) != KWS_OK) {
      return 1;
    }
    for (k = 1; k < KWS_OUTPUT_SIZE; ++k) {
      best = output[k] > output[best] ? k : best;
    }
    printf("recording %d: %s\n", i, words[best]);
  }
  return 0;
}
