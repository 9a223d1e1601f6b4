#include "comparison_text.h"

#include <cmath>

#include <fmt/format.h>

#include <octet/io/tflite.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>

#include "../common/program.h"
#include "data_options.h"

namespace octet::program {
namespace {

std::string decibels_text(double sqnr) {
  return std::isinf(sqnr) && sqnr > 0 ? "equal" : fmt::format("{:.1f}", sqnr);
}

std::string share_text(double share) {
  return share == 0 ? "-" : fmt::format("{:.3g} %", 100 * share);
}

}  // namespace

io::TracedModel read_traced(const ModelSource& source) {
  if (is_tflite_file(source.what)) {
    check_no_architecture(source);
    check_no_input_shape(source);
    return io::TracedModel(io::load_tflite_reference(source.what));
  }
  if (!is_onnx(source.what)) return io::TracedModel(read_model(source));
  check_no_architecture(source);
  return io::TracedModel::from_onnx(source.what, source.limits());
}

void check_samples(const Tensor& x, const ModelSource& source) {
  if (x.dtype() != DType::u8 || is_onnx(source.what)) return;
  if (mode_of(read_model(source), source) == "none") return;
  throw FormatError("dtype_mismatch", source.what,
                    fmt::format("samples must be float32, got uint8. Hint: add "
                                "preprocessing of bytes to the model with "
                                "octet convert {} float.onnx --from-bytes MODE",
                                source.what));
}

std::string values_text(const std::vector<io::ValueDifference>& values) {
  TextTable table({Align::left, Align::left, Align::right, Align::right,
                   Align::right, Align::right, Align::right});
  table.add_row({"layer", "op", "SQNR dB", "added noise", "max error",
                 "largest", "changed"});
  table.add_rule();
  for (const io::ValueDifference& value : values) {
    table.add_row(
        {value.is_output ? value.name + " (output)" : value.name, value.op,
         decibels_text(value.sqnr()), share_text(value.added_noise()),
         fmt::format("{:.3g}", value.max_error),
         fmt::format("{:.3g}", value.largest),
         value.codes == 0 ? "-"
                          : fmt::format("{} of {}", value.flips, value.codes)});
  }
  return table.to_string();
}

std::string totals_text(const io::ModelComparison& comparison) {
  const double sqnr = comparison.output_sqnr();
  const bool equal = std::isinf(sqnr) && sqnr > 0;
  std::string text =
      fmt::format("\noutputs: {} on {} samples\n",
                  equal ? "equal" : fmt::format("SQNR {:.1f} dB", sqnr),
                  comparison.samples);
  if (comparison.agreement) {
    text += fmt::format("top-1 agreement: {:.2f} %\n",
                        percent(*comparison.agreement));
  }
  if (comparison.accuracy_a) {
    text += fmt::format("accuracy: {:.2f} % (first model), {:.2f} % (second)\n",
                        percent(*comparison.accuracy_a),
                        percent(*comparison.accuracy_b));
  }
  if (comparison.only_in_a + comparison.only_in_b > 0) {
    text += fmt::format(
        "not compared: {} layer outputs of the first model, {} of the second\n",
        comparison.only_in_a, comparison.only_in_b);
  }
  return text;
}

}  // namespace octet::program
