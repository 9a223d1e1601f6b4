#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include <octet/io/c_code.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/program.h>
#include <octet/runtime/rng.h>
#include <octet/runtime/system.h>

#include "cmsis_nn.h"
#include "fixed.h"
#include "printable.h"
#include "source.h"
#include "unique_names.h"

namespace octet::io::c {
namespace {

// Selects the instruction set without fused multiply-add, like portable C.
class BaselineIsa {
 public:
  BaselineIsa() : before_(active_isa()) { set_active_isa(Isa::baseline); }
  ~BaselineIsa() { set_active_isa(before_); }
  BaselineIsa(const BaselineIsa&) = delete;
  BaselineIsa& operator=(const BaselineIsa&) = delete;

 private:
  Isa before_;
};

void check_c_name(const std::string& name) {
  static constexpr std::array<std::string_view, 37> kKeywords{
      "auto",      "break",    "case",     "char",   "const",   "continue",
      "default",   "do",       "double",   "else",   "enum",    "extern",
      "float",     "for",      "goto",     "if",     "inline",  "int",
      "long",      "register", "restrict", "return", "short",   "signed",
      "sizeof",    "static",   "struct",   "switch", "typedef", "union",
      "unsigned",  "void",     "volatile", "while",  "_Bool",   "_Complex",
      "_Imaginary"};
  const bool letters = !name.empty() && name == identifier_of(name) &&
                       std::isdigit(static_cast<unsigned char>(name[0])) == 0;
  // C reserves names that begin with an underscore.
  if (letters && name[0] != '_' &&
      std::ranges::find(kKeywords, name) == kKeywords.end()) {
    return;
  }
  throw ValueError(
      "invalid_name", "name",
      fmt::format("must be a C identifier without a leading underscore, got "
                  "'{}'. Hint: letters, digits and '_'",
                  printable(name)));
}

void check_options(const COptions& options) {
  check_c_name(options.name);
  if (options.golden < 1) {
    throw ValueError("out_of_range", "golden",
                     fmt::format("must be at least 1, got {}", options.golden));
  }
}

// Lists everything that has no C form.
void check_steps(const PortableProgram& program) {
  std::vector<std::string> reasons;
  for (const PortableStep& step : program.steps) {
    const auto* unknown = std::get_if<PortableUnknown>(&step.what);
    if (unknown == nullptr) continue;
    const std::string name = step.layer.empty() ? step.op : step.layer;
    reasons.push_back(
        fmt::format("'{}' ({})", printable(name), unknown->reason));
  }
  if (reasons.empty()) return;
  throw UnsupportedError(
      "no_c_form", "C code",
      fmt::format("{} {} no form in C: {}", reasons.size(),
                  reasons.size() == 1 ? "step has" : "steps have",
                  fmt::join(reasons, ", ")));
}

// Whether activations are int16. Throws: UnsupportedError for the float form,
// and beside activations of 8 bits.
bool has_int16(const PortableProgram& program, const COptions& options) {
  bool wide = false, narrow = false;
  for (const PortableBuffer& buffer : program.buffers) {
    if (buffer.quant) (is_wide(*buffer.quant) ? wide : narrow) = true;
  }
  if (!wide) return false;
  if (narrow) {
    throw UnsupportedError(
        "no_c_form", "C code",
        "activations must all have 8 bits or all 16 bits, got both");
  }
  if (options.arithmetic != CArithmetic::fixed) {
    throw UnsupportedError("conflicting_options", "arithmetic",
                           "activations of 16 bits need 'fixed', got 'float'. "
                           "Hint: --arithmetic fixed");
  }
  return true;
}

void check_cmsis(const CForm& form) {
  if (!form.fixed) {
    throw UnsupportedError("conflicting_options", "kernels",
                           "'cmsis-nn' needs the arithmetic 'fixed', got "
                           "'float'. Hint: --arithmetic fixed");
  }
  if (form.wide) {
    throw UnsupportedError("conflicting_options", "kernels",
                           "'cmsis-nn' needs activations of 8 bits, got 16. "
                           "Hint: --kernels portable");
  }
}

// Lists everything that has no form in integers.
void check_fixed(const PortableProgram& program) {
  const std::vector<std::string> found = fixed_obstacles(program);
  if (found.empty()) return;
  throw UnsupportedError(
      "not_integer", "arithmetic",
      fmt::format("'fixed' needs INT8 values everywhere, but {}. Hint: "
                  "quantize inputs and outputs of all layers, or use 'float'",
                  fmt::join(found, "; ")));
}

// Sums of quantized products must fit in 32 bits.
void check_sums(const PortableProgram& program) {
  for (const PortableStep& step : program.steps) {
    const auto* linear = std::get_if<PortableLinear>(&step.what);
    if (linear == nullptr || linear->rescale.empty()) continue;
    const PortableQuant& quant =
        *program.buffers[static_cast<size_t>(linear->x)].quant;
    const size_t channels = linear->rescale.size();
    std::vector<double> sums(channels);
    for (size_t i = 0; i < linear->weights.size(); ++i) {
      sums[i % channels] += std::abs(linear->weights[i]);
    }
    const double most = std::max(-quant.low, quant.high);
    if (*std::ranges::max_element(sums) * most < 0x1p31) continue;
    throw UnsupportedError("size_limit",
                           fmt::format("'{}'", printable(step.layer)),
                           "sums of products may exceed 32 bits");
  }
}

std::vector<Port> ports_of(std::span<const SymbolicTensor> tensors,
                           const std::vector<int>& buffers, const char* alone,
                           UniqueNames& unique) {
  std::vector<Port> ports;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string& name = tensors[i].node->layer->original_name();
    const std::string ident =
        tensors.size() == 1 ? alone
                            : fmt::format("{}_{}", alone, identifier_of(name));
    const Shape& shape = tensors[i].shape();
    ports.push_back(
        {name, unique.add(ident), shape.slice(1, shape.rank()), buffers[i]});
  }
  return ports;
}

// Names layers as in the model without wrappers.
void restore_names(const Model& model, PortableProgram& program) {
  std::map<std::string, std::string> names;
  for (const auto& layer : model.layers()) {
    names[layer->name()] = layer->original_name();
  }
  for (PortableStep& step : program.steps) {
    const auto found = names.find(step.layer);
    if (found != names.end()) step.layer = found->second;
  }
}

// Values of quantized samples, and the quantized values themselves.
struct RandomInput {
  Tensor real, stored;
};

RandomInput random_input(const Shape& shape, const PortableBuffer& buffer,
                         Rng& rng) {
  RandomInput input{Tensor(shape.with(0, 1)), {}};
  const auto values = input.real.f32();
  if (!buffer.quant) {
    for (float& v : values) v = 2 * rng.uniform() - 1;
    input.stored = input.real;
    return input;
  }
  const PortableQuant& quant = *buffer.quant;
  const bool wide = is_wide(quant);
  input.stored = Tensor(input.real.shape(), wide ? DType::i16 : DType::i8);
  for (size_t i = 0; i < values.size(); ++i) {
    const int q =
        quant.low + static_cast<int>(rng.below(quant.high - quant.low + 1));
    if (wide) {
      input.stored.data<int16_t>()[i] = static_cast<int16_t>(q);
    } else {
      input.stored.data<int8_t>()[i] =
          static_cast<int8_t>(q + stored_zero(quant));
    }
    values[i] = static_cast<float>(q) * quant.scale;
  }
  return input;
}

Tensor stored_output(const Tensor& y, const PortableBuffer& buffer) {
  if (!buffer.quant) return y;
  Tensor stored(y.shape(), DType::i8);
  const auto to = stored.data<int8_t>();
  const auto from = y.f32();
  for (size_t i = 0; i < from.size(); ++i) {
    const float q = quantize(from[i], buffer.quant->scale, buffer.quant->low,
                             buffer.quant->high);
    to[i] =
        static_cast<int8_t>(static_cast<int>(q) + stored_zero(*buffer.quant));
  }
  return stored;
}

std::vector<GoldenSample> golden_samples(const Model& model,
                                         const CNetwork& net,
                                         const CNames& names,
                                         const COptions& options) {
  std::vector<GoldenSample> samples;
  Rng rng(1);
  for (int64_t i = 0; i < options.golden; ++i) {
    GoldenSample sample;
    std::vector<Tensor> inputs;
    for (size_t k = 0; k < names.inputs.size(); ++k) {
      RandomInput input = random_input(model.inputs()[k].shape(),
                                       net.buffer(names.inputs[k].buffer), rng);
      inputs.push_back(std::move(input.real));
      sample.inputs.push_back(std::move(input.stored));
    }
    if (options.arithmetic == CArithmetic::fixed) {
      sample.outputs = run_fixed(net.program, sample.inputs);
      samples.push_back(std::move(sample));
      continue;
    }
    const NoGradGuard no_grad;
    const std::vector<Variable> x(inputs.begin(), inputs.end());
    const std::vector<Variable> outputs = model(x);
    for (size_t k = 0; k < outputs.size(); ++k) {
      sample.outputs.push_back(stored_output(
          outputs[k].value(), net.buffer(names.outputs[k].buffer)));
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

CReport report_of(const CNetwork& net, const CNames& names,
                  const CSource& source) {
  CReport report{
      .name = names.prefix, .arena = net.arena + net.scratch, .layers = {}};
  for (const Port& port : names.inputs) {
    report.inputs += bytes_of(net.buffer(port.buffer));
  }
  for (const Port& port : names.outputs) {
    report.outputs += bytes_of(net.buffer(port.buffer));
  }
  for (size_t i = 0; i < net.program.steps.size(); ++i) {
    const PortableStep& step = net.program.steps[i];
    const PortableBuffer& y = net.buffer(access_of(step).writes.at(0));
    CLayer layer{.layer = step.layer,
                 .op = step.op,
                 .output = fmt::format("{} {}x{}x{}",
                                       !y.quant            ? "f32"
                                       : is_wide(*y.quant) ? "int16"
                                                           : "int8",
                                       y.h, y.w, y.c),
                 .flash = source.step_flash[i],
                 .ram = net.step_ram[i]};
    if (const auto* linear = std::get_if<PortableLinear>(&step.what)) {
      layer.multiply_adds = linear->multiply_adds;
    }
    report.flash += layer.flash;
    report.multiply_adds += layer.multiply_adds;
    report.layers.push_back(std::move(layer));
  }
  return report;
}

CCode generate(const Model& model, const COptions& options) {
  check_options(options);
  const BaselineIsa baseline;
  PortableProgram program;
  {
    detail::ProgramRecorder recorder;
    (void)model.compile();
    program = std::move(recorder.program);
  }
  restore_names(model, program);
  check_steps(program);
  check_sums(program);
  merge_steps(program);
  simplify(program);
  if (options.arithmetic == CArithmetic::fixed) {
    use_int8_weights(program);
    check_fixed(program);
  }
  const CForm form{.fixed = options.arithmetic == CArithmetic::fixed,
                   .wide = has_int16(program, options),
                   .kernels = options.kernels};
  if (options.kernels == CKernels::cmsis_nn) {
    check_cmsis(form);
    split_sums(program);
  }
  CNetwork net = place_buffers(std::move(program));
  if (options.kernels == CKernels::cmsis_nn) {
    net.scratch = cmsis_scratch(net.program);
  }
  check_sizes(net);

  CNames names{.prefix = options.name,
               .macros = options.name,
               .inputs = {},
               .outputs = {}};
  for (char& c : names.macros) {
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  UniqueNames unique;
  for (const char* taken : {"arena", "memory", "problem", "data"}) {
    (void)unique.insert(taken);
  }
  names.inputs = ports_of(model.inputs(), net.program.inputs, "input", unique);
  names.outputs =
      ports_of(model.outputs(), net.program.outputs, "output", unique);
  const CSource source = source_text(net, names, form);
  CCode code;
  code.report = report_of(net, names, source);
  code.files = {{"model.h", header_text(net, names, form)},
                {"model.c", source.text},
                {"CMakeLists.txt", cmake_text(names, form)},
                {"report.txt", code.report.to_string()}};
  code.files.push_back(
      {"model_test.c",
       test_text(net, names, golden_samples(model, net, names, options),
                 options.arithmetic)});
  return code;
}

}  // namespace
}  // namespace octet::io::c

namespace octet::io {

CCode to_c(const Model& model, const COptions& options) {
  return c::generate(model, options);
}

CReport export_c(const Model& model, const std::filesystem::path& folder,
                 const COptions& options) {
  CCode code = to_c(model, options);
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) {
    throw IoError("cannot_write", folder.string(),
                  "cannot create the folder: " + problem.message());
  }
  for (const CFile& file : code.files) {
    write_file(folder / file.name, file.contents);
  }
  return std::move(code.report);
}

}  // namespace octet::io
