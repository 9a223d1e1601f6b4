// Table of the rules for .tflite files.
//
// Sources: TensorFlow Lite 8-bit quantization specification; Prepare() of the
// kernels of TensorFlow Lite Micro.
#include <octet/io/lint.h>

namespace octet::io {
namespace {

constexpr LintRule kTfliteRules[] = {
    {"M01", "TensorFlow Lite Micro has all operators", "E"},
    {"M02", "INT8 weights of convolutions have zero point 0", "E"},
    {"M03", "INT8 weights are within [-127,127]", "W"},
    {"M04",
     "biases are int32, int64 for int16 activations, with zero point 0 and "
     "scale s_input * s_weight",
     "E"},
    {"M05",
     "operators that move or select values have the same scale and zero point "
     "at inputs and output",
     "E"},
    {"M06",
     "outputs of SOFTMAX and LOGISTIC have scale 1/256 and zero point -128, of "
     "TANH 1/128 and 0; 1/32768 and 0 for int16",
     "E"},
    {"M07", "operators with INT8 weights have quantized activations", "E"},
    {"M08", "uint8 values are converted by QUANTIZE, not computed with", "E"},
    {"M09", "all operators of a quantized file are quantized", "W"},
    {"M10", "weights are float32 or INT8, not float16", "E"},
    {"M11", "int16 activations have zero point 0", "E"},
    {"M12", "weights of FULLY_CONNECTED have one scale", "I"},
    {"M13", "no conversions between quantized values of unequal scales", "I"},
};

}  // namespace

std::span<const LintRule> tflite_lint_rules() { return kTfliteRules; }

}  // namespace octet::io
