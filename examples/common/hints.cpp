#include "hints.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include <re2/re2.h>

namespace octet::program {
namespace {

constexpr std::string_view kModelFile =
    "pass it as MODEL; octet inspect shows it";
constexpr std::string_view kImages = "pass a folder of images as --data";
constexpr std::string_view kPredict =
    "octet predict runs the file node by node";
constexpr std::string_view kCalibrate =
    "octet quantize calibrates a float model";
constexpr std::string_view kDropQuantizers =
    "octet quantize --drop-quantizers removes the Q/DQ of an ONNX file and "
    "calibrates it anew";
constexpr std::string_view kSmallerRate = "use a smaller --rate";

// Rules by precedence: the first match applies.
constexpr HintRule kRules[] = {
    // By error code.
    {"not_calibrated", "", kCalibrate},
    {"not_quantized", "", "octet quantize quantizes a float model"},
    // By C++ name: files.
    {"", "io::load_model", kModelFile},
    {"", "io::load_keras", kModelFile},
    {"", "io::load_onnx_reference", kPredict},
    {"", "io::load_onnx", kModelFile},
    {"", "io::save_model", "octet train, qat and fold write .h5"},
    {"", "io::export_onnx", "octet convert and octet quantize write .onnx"},
    {"", "io::write_npy", "octet predict writes .npy, .csv and .json"},
    {"", "io::read_npy", "pass it as --data, --input or --labels"},
    {"", "io::read_image", kImages},
    {"", "io::load_image_folder", kImages},
    {"", "io::read_idx", "pass the folder of its images and labels as --data"},
    {"", "to_dot()", "use --dot"},
    // Layers.
    {"", "register_layer", "custom layers need a C++ program"},
    {"", "Model::predict()", "octet predict runs the model without a session"},
    // Quantization.
    {"", "disable_fake_quant", kCalibrate},
    {"", "quant::calibrate", kCalibrate},
    {"", "calibrate() ", "octet quantize determines better ranges"},
    {"", "equalize()", "use --equalize"},
    {"", "drop_quantizers", kDropQuantizers},
    {"", "symmetric_activations",
     "add --symmetric-activations, or choose --target onnxruntime or openvino"},
    {"", "data.sample(", "use more --samples"},
    // Training.
    {"", "ScaleRule::learned_log2", "use --optimizer sgd, or --rate up to {}"},
    {"", "ScaleRule::learned", "use --optimizer adam"},
    {"", "scale_rate", kSmallerRate},
    {"", ".resume", "add --resume to continue it, or choose another folder"},
    {"", "io::checkpoint_folder", "add --checkpoint DIR"},
    {"", "data.hold_out(",
     "--validation 0.2 holds out samples of all classes with 5 or more"},
    {"", "one_hot(", "use --loss cross_entropy"},
    {"", "for_model(", "assign the loss with --loss NAME=LOSS"},
};

// Fields of the library's options with an equivalent command line option.
constexpr OptionName kOptions[] = {
    {"KerasOptions", "architecture", "--architecture"},
    {"KerasOptions", "input_shapes", "--input-shape"},
    {"OnnxImportOptions", "input_shapes", "--input-shape"},
    {"CalibrationOptions", "percentile", "--percentile"},
    {"ModelComparisonOptions", "batch", "--batch"},
    {"FileLimits", "memory_limit", "--memory-limit"},
    {"FileLimits", "time_limit", "--time-limit"},
    {"SessionOptions", "memory_limit", "--memory-limit"},
    {"SessionOptions", "time_limit", "--time-limit"},
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

void replace_all(std::string& text, std::string_view from,
                 std::string_view to) {
  for (size_t at = text.find(from); at != text.npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// Converts calls of a Tensor method to NumPy: "x.transposed({0,3,1,2})" to
/// "x.transpose((0,3,1,2))".
void to_numpy(std::string& text, std::string_view call,
              std::string_view numpy) {
  for (size_t at = text.find(call); at != text.npos;
       at = text.find(call, at + numpy.size())) {
    const size_t end = text.find("})", at);
    if (end == text.npos) return;
    text.replace(end, 2, "))");
    text.replace(at, call.size(), numpy);
  }
}

/// Replaces C++ names by command line options:
/// "SessionOptions::memory_limit (command line: --memory-limit)",
/// "memory_limit (octet: --memory-limit)", "KerasOptions.architecture",
/// "losses::huber".
void name_options(std::string& text) {
  static const re2::RE2 both(
      "[A-Za-z]\\w*(?:(?:::|\\.|_)\\w+)+ "
      "\\((?:octet: |command line: )?(--[^)]*)\\)");
  static const re2::RE2 prefix("\\((?:octet|command line): (--[^)]*)\\)");
  re2::RE2::GlobalReplace(&text, both, "\\1");
  re2::RE2::GlobalReplace(&text, prefix, "(\\1)");
  replace_all(text, "losses::sparse_categorical_cross_entropy",
              "--loss cross_entropy");
  replace_all(text, "losses::", "--loss ");
  for (const OptionName& each : kOptions) {
    for (const char* separator : {"::", "."}) {
      replace_all(text,
                  std::string(each.type) + separator + std::string(each.field),
                  each.option);
    }
  }
}

/// Returns whether text contains a C++ name: "io::load_model", "predict(x)",
/// "CsvOptions.header", ".resume = true". Python methods such as "x.numpy()"
/// are ignored.
bool names_cpp(std::string_view text) {
  for (size_t at = text.find("::"); at != text.npos;
       at = text.find("::", at + 2)) {
    const bool name = at > 0 && is_word(text[at - 1]) && at + 2 < text.size() &&
                      is_word(text[at + 2]);
    if (name) return true;
  }
  for (size_t at = text.find('('); at != text.npos;
       at = text.find('(', at + 1)) {
    size_t begin = at;
    while (begin > 0 && is_word(text[begin - 1])) --begin;
    if (begin < at && (begin == 0 || text[begin - 1] != '.')) return true;
  }
  static const re2::RE2 field(
      "[A-Za-z](?:Options|Limits)\\.\\w|(?:^|[ `({])\\.[a-z]\\w* ?=");
  return re2::RE2::PartialMatch({text.data(), text.size()}, field);
}

/// Returns the last number in a text, or "".
std::string last_number(const std::string& text) {
  static const re2::RE2 number("([0-9][0-9.]*(?:e[-+]?[0-9]+)?)");
  re2::StringPiece rest(text);
  std::string found;
  while (re2::RE2::FindAndConsume(&rest, number, &found)) {
  }
  while (found.ends_with('.')) found.pop_back();
  return found;
}

/// Returns `hint` if it contains no C++ name, else the hint of the first
/// matching rule, or nothing without a match.
std::optional<std::string> translated(const std::string& hint,
                                      std::string_view code) {
  for (const HintRule& rule : kRules) {
    const bool fits = rule.name.empty() ? !code.empty() && rule.code == code
                                        : hint.find(rule.name) != hint.npos;
    if (!fits || !names_cpp(hint)) continue;
    std::string result(rule.hint);
    replace_all(result, "{}", last_number(hint));
    return result;
  }
  return names_cpp(hint) ? std::nullopt : std::optional(hint);
}

/// Translates all hints in a text; removes hints without a translation.
void translate_hints(std::string& text, std::string_view code) {
  constexpr std::string_view kHint = "Hint: ";
  for (size_t at = text.find(kHint); at != text.npos;) {
    const size_t first = at + kHint.size();
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::optional<std::string> hint =
        translated(text.substr(first, end - first), code);
    if (hint) {
      text.replace(first, end - first, *hint);
      at = text.find(kHint, first + hint->size());
      continue;
    }
    size_t begin = at;
    while (begin > 0 && std::string_view(".; \n").find(text[begin - 1]) !=
                            std::string_view::npos) {
      --begin;
    }
    text.erase(begin, end - begin);
    at = text.find(kHint, begin);
  }
}

}  // namespace

std::span<const HintRule> hint_rules() { return kRules; }
std::span<const OptionName> option_names() { return kOptions; }

std::string on_command_line(std::string text, std::string_view code) {
  name_options(text);
  to_numpy(text, ".transposed({", ".transpose((");
  to_numpy(text, ".reshaped({", ".reshape((");
  translate_hints(text, code);
  return text;
}

}  // namespace octet::program
