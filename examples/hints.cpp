#include "hints.h"

#include <cctype>

namespace octet::program {
namespace {

// Longer phrases come before their parts.
constexpr HintWords kHints[] = {
    // Files of another kind.
    {"io::load_model reads it, io::load_weights its weights alone",
     "it is a model for every command; octet inspect shows it"},
    {"io::load_keras reads it, io::load_keras_weights its weights alone",
     "it is a model for every command; octet inspect shows it"},
    {"io::load_onnx reads it as a model, octet inspect shows it",
     "it is a model for every command; octet inspect shows it"},
    {"io::read_npy reads it, octet predict takes it as --input",
     "it holds samples or labels, for --data, --input or --labels"},
    {"io::read_image reads it, io::load_image_folder a folder of them",
     "--data takes a folder of images"},
    {"io::read_idx takes IDX files packed",
     "--data takes a folder of IDX files, packed or not"},
    {"io::read_idx reads it", "--data takes the folder that it is in"},
    {", for io::load_keras", ""},
    {", for io::load_onnx", ""},
    {", for io::read_npy", ""},
    {" for io::load_onnx", ""},
    {" for io::read_npy", ""},
    {"KerasOptions::architecture (--architecture) takes a model.to_json() "
     "beside the weights; io::load_spec and io::load_plan read those of "
     "quantization",
     "--architecture takes a model.to_json() beside the weights, --spec a "
     "specification of quantization"},
    {"give it as JSON (KerasOptions::architecture, --architecture), or use "
     "load_keras_weights",
     "give it as JSON with --architecture"},
    // Names of files.
    {"io::export_onnx writes it", "octet convert and octet quantize write it"},
    {"io::save_model writes it", "octet train, qat and fold write it"},
    {"io::save_model writes .h5, which Octet reads again",
     "octet train, qat and fold write .h5"},
    {"io::write_npy writes .npy", "octet predict writes .npy, .csv and .json"},
    // Sizes and limits.
    {"; give them in OnnxImportOptions::input_shapes",
     "; give them with --input-shape"},
    {"OnnxImportOptions::input_shapes", "--input-shape"},
    {" or KerasOptions::input_shapes, one for each input", ""},
    {"KerasOptions::input_shapes", "--input-shape"},
    {"raise time_limit (octet: --time-limit)", "raise --time-limit"},
    {"raise memory_limit (octet: --memory-limit)", "raise --memory-limit"},
    {"Hint: to_dot()", "Hint: --dot"},
    // What layers become.
    {"; KerasOptions::layers and register_layer add yours",
     "; a program in C++ adds layers of its own, the command line has none"},
    {"turned: KerasOptions{.backend = \"theano\"}",
     "turned, which a program in C++ undoes"},
    {"; KerasOptions::match takes them by order", ""},
    {"; Policy::toolkit and the same cases place them as the toolkit did", ""},
    {"to train with such changes, give fit() a loader with a "
     "train::Augmentation, or octet train --augment",
     "octet train --augment trains with such changes"},
    {"io::load_onnx_reference and octet predict run graphs that are no layers",
     "octet predict runs it node by node"},
    {"; use predict()", "; octet predict runs it"},
    // Quantization.
    {"OnnxImportOptions::drop_quantizers reads the float model, to be "
     "quantized anew",
     "quantize the float model that the file was made of"},
    {"OnnxImportOptions::drop_quantizers reads the float model of an ONNX "
     "file, to be quantized anew",
     "quantize the float model that the file was made of"},
    {"calibrate() finds better ones", "octet quantize finds better ones"},
    {"run quant::calibrate first, or quant::disable_fake_quant for the float "
     "model",
     "octet quantize calibrates a float model"},
    {"run quant::calibrate first", "octet quantize calibrates a float model"},
    {"calibrate again, with Calibration::max or mse",
     "octet quantize with --method max or mse"},
    {"train the float model before quantize_model, or load its weights",
     "train the float model first, octet train"},
    {".samples and data.sample(n) choose by chance, data.sample(n, "
     "{.stratified = true}) from every class",
     "more --samples"},
    {"the targets onnxruntime and openvino take uint8",
     "--target onnxruntime and --target openvino take uint8"},
    {"the policies tensorrt and toolkit go by layers",
     "--policy tensorrt and --policy toolkit go by layers"},
    // Training.
    {"a smaller learning rate, or scale_rate with SGD", "a smaller --rate"},
    {"a smaller learning rate", "a smaller --rate"},
    {"lower the learning rate", "a smaller --rate"},
    {"from which `.resume = true` goes on", "from which --resume goes on"},
    {"`.checkpoints` keeps states to go on from",
     "--checkpoint keeps states to go on from"},
    {"say resume = true to go on from them, or choose another place",
     "--resume goes on from them; or choose another folder"},
    {"set checkpoints = io::checkpoint_folder(...)", "--checkpoint DIR"},
    {"data.split(0.9, {.stratified = true}) makes such parts, and "
     "data.shuffled(seed) goes with validation_split",
     "--validation 0.1 holds out samples of all classes"},
    {"SGD, ScaleRule::learned_log2, or a rate up to",
     "--optimizer sgd, or --rate up to"},
    {"Adam, or ScaleRule::learned with", "--optimizer adam, or"},
    {"losses::binary_cross_entropy goes with sigmoid",
     "--loss binary_cross_entropy goes with sigmoid"},
    {"losses::sparse_categorical_cross_entropy goes with softmax",
     "--loss cross_entropy goes with softmax"},
    {"take losses::sparse_categorical_cross_entropy, or one_hot() of the data",
     "--loss cross_entropy"},
    {"take losses::", "--loss "},
    {"for_model(model, output) takes one of them",
     "--loss NAME=LOSS names the output"},
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

/// "x.transposed({0,3,1,2})" of Tensor as NumPy's "x.transpose((0,3,1,2))".
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

/// Whether text names a function or type of the library: "io::load_model",
/// "ScaleRule::fixed", "predict()". Methods of Python, "x.numpy()", are none.
bool names_call(std::string_view text) {
  for (size_t at = text.find("::"); at != text.npos;
       at = text.find("::", at + 2)) {
    const bool name = at > 0 && is_word(text[at - 1]) && at + 2 < text.size() &&
                      is_word(text[at + 2]);
    if (name) return true;
  }
  for (size_t at = text.find("()"); at != text.npos;
       at = text.find("()", at + 2)) {
    size_t begin = at;
    while (begin > 0 && is_word(text[begin - 1])) --begin;
    if (begin < at && (begin == 0 || text[begin - 1] != '.')) return true;
  }
  return false;
}

/// Without a hint, up to the end of its line, that still names a call.
void drop_foreign_hints(std::string& text) {
  constexpr std::string_view kHint = "Hint: ";
  for (size_t at = text.find(kHint); at != text.npos;) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (!names_call(std::string_view(text).substr(at, end - at))) {
      at = text.find(kHint, end);
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

std::span<const HintWords> hint_table() { return kHints; }

std::string on_command_line(std::string text) {
  for (const HintWords& words : kHints) {
    replace_all(text, words.library, words.command_line);
  }
  to_numpy(text, ".transposed({", ".transpose((");
  to_numpy(text, ".reshaped({", ".reshape((");
  drop_foreign_hints(text);
  return text;
}

}  // namespace octet::program
