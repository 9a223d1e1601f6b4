// model.c: constants, kernels and the steps of net_run().
#include "source.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/system.h>

#include "kernels.h"
#include "unique_names.h"

namespace octet::io::c {
namespace {

class SourceWriter {
 public:
  SourceWriter(const CNetwork& net, const CNames& names)
      : net_(net), names_(names), p_(names.prefix) {}

  CSource run() {
    for (const PortableStep& step : net_.program.steps) {
      const PortableEpilogue* e = epilogue_of(step);
      if (e == nullptr) continue;
      outputs_ = std::max(outputs_, std::ssize(e->outputs));
    }
    for (size_t i = 0; i < net_.program.steps.size(); ++i) {
      flash_ = 0;
      write_step(net_.program.steps[i]);
      result_.step_flash.push_back(flash_);
    }
    write_copies();
    result_.text = whole_text();
    return std::move(result_);
  }

 private:
  const PortableBuffer& buffer(int id) const { return net_.buffer(id); }

  // Constants.

  std::string add_array(const std::string& type, const std::string& name,
                        const std::vector<std::string>& numbers,
                        int64_t element) {
    const std::string unique = unique_.add(fmt::format("{}_{}", p_, name));
    constants_ += fmt::format("static const {} {}[{}] = {};\n", type, unique,
                              numbers.size(), number_list(numbers));
    flash_ += std::ssize(numbers) * element;
    return unique;
  }
  std::string add_floats(const std::string& name,
                         const std::vector<float>& values) {
    if (values.empty()) return "NULL";
    std::vector<std::string> numbers;
    for (const float v : values) numbers.push_back(literal(v));
    return add_array("float", name, numbers, 4);
  }
  template <class T>
  std::string add_integers(const std::string& type, const std::string& name,
                           const std::vector<T>& values, int64_t element) {
    std::vector<std::string> numbers;
    for (const T v : values) {
      numbers.push_back(fmt::format("{}", static_cast<int64_t>(v)));
    }
    return add_array(type, name, numbers, element);
  }

  // Name of the descriptor of a buffer.
  std::string descriptor(int id) {
    const PortableBuffer& b = buffer(id);
    const int64_t pixel = b.slice_of >= 0 ? buffer(b.slice_of).c : b.c;
    const std::string text =
        fmt::format("{{{}, {}, {}, {}, {}, {}, {}, {}}}", b.h, b.w, b.c, pixel,
                    b.quant ? stored_zero(*b.quant) : 0,
                    b.quant ? b.quant->low : 0, b.quant ? b.quant->high : 0,
                    b.quant ? literal(b.quant->scale) : "0.0f");
    const auto found = descriptors_.find(text);
    if (found != descriptors_.end()) return found->second;
    const std::string name =
        unique_.add(fmt::format("{}_buffer_{}", p_, descriptors_.size()));
    constants_ +=
        fmt::format("static const {}_buffer {} = {};\n", p_, name, text);
    flash_ += 32;
    descriptors_[text] = name;
    return name;
  }

  // Expression of the address of a buffer.
  std::string address(int id) {
    if (id < 0) return "NULL";
    const PortableBuffer& b = buffer(id);
    const Place& place = net_.place(id);
    const int64_t offset = b.slice_of >= 0 ? b.channel * element_bytes(b) : 0;
    switch (place.kind) {
      case Place::Kind::input:
        return plus(names_.inputs[static_cast<size_t>(place.index)].ident,
                    b.slice_of >= 0 ? b.channel : 0);
      case Place::Kind::output:
        return plus(names_.outputs[static_cast<size_t>(place.index)].ident,
                    b.slice_of >= 0 ? b.channel : 0);
      case Place::Kind::arena:
        return plus("memory", place.index + offset);
      case Place::Kind::constant: {
        std::string& name = constant_names_[place.whole];
        if (name.empty()) {
          name = add_floats("constant", buffer(place.whole).constant);
        }
        return name;
      }
      case Place::Kind::unused:
        break;
    }
    throw InternalError("internal", "to_c", "a buffer without memory");
  }
  static std::string plus(const std::string& base, int64_t offset) {
    return offset == 0 ? base : fmt::format("{} + {}", base, offset);
  }

  // Steps.

  void write_step(const PortableStep& step) {
    ident_ = identifier_of(step.layer.empty() ? step.op : step.layer);
    const StepAccess access = access_of(step);
    steps_ += fmt::format(
        "  /* {}{}: {} */\n", step.op,
        step.layer.empty() ? "" : " '" + comment_text(step.layer) + "'",
        shapes_text(access));
    std::visit([&](const auto& what) { write(what); }, step.what);
  }

  std::string shapes_text(const StepAccess& access) const {
    const auto text = [&](int id) {
      const PortableBuffer& b = buffer(id);
      return fmt::format("{}x{}x{}", b.h, b.w, b.c);
    };
    return fmt::format("{} -> {}", text(access.reads.at(0)),
                       text(access.writes.at(0)));
  }

  void use(Kernel kernel) { kernels_.insert(kernel); }

  static void check_finite(const std::vector<float>& values,
                           const std::string& what) {
    for (const float v : values) {
      if (std::isfinite(v)) continue;
      throw ValueError("not_finite", what,
                       "has weights that are not finite. Hint: look for NaN "
                       "or infinity in the training loss");
    }
  }

  std::string epilogue_value(const PortableEpilogue& e) {
    std::vector<std::string> flags;
    const auto flag = [&](bool given, const char* name) {
      if (given) flags.push_back(fmt::format("{}_{}", p_, name));
    };
    const auto low = [](const auto& clip) {
      return clip && std::isfinite(clip->first);
    };
    const auto high = [](const auto& clip) {
      return clip && std::isfinite(clip->second);
    };
    flag(low(e.clip), "CLIPS_LOW");
    flag(high(e.clip), "CLIPS_HIGH");
    flag(low(e.clip2), "CLIPS_LOW2");
    flag(high(e.clip2), "CLIPS_HIGH2");
    flag(e.function.has_value(), "RELU");
    flag(e.function && std::isfinite(e.function->gamma), "RELU_HIGH");
    flag(e.other_plus_zero, "PLUS_ZERO");
    if (flags.empty()) flags.emplace_back("0u");
    const auto bound = [](bool given, float v) {
      return given ? literal(v) : std::string("0.0f");
    };
    std::string outputs;
    for (const PortableEpilogue::Output& o : e.outputs) {
      outputs +=
          fmt::format("{}{{&{}, {}.0f, {}.0f}}", outputs.empty() ? "" : ", ",
                      descriptor(o.y), o.low, o.high);
    }
    return fmt::format(
        "{{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}.0f, {}.0f, {}, {}, {}, "
        "{}, {}, {}, {}u, {{{}}}}}",
        add_floats(ident_ + "_a", e.a), add_floats(ident_ + "_b", e.b),
        e.other >= 0 ? "&" + descriptor(e.other) : "NULL",
        add_floats(ident_ + "_other_a", e.other_a),
        add_floats(ident_ + "_other_b", e.other_b), e.other_every.h,
        e.other_every.w, bound(low(e.clip2), e.clip2 ? e.clip2->first : 0),
        bound(high(e.clip2), e.clip2 ? e.clip2->second : 0),
        e.quant2 ? literal(e.quant2->scale) : "0.0f",
        e.quant2 ? e.quant2->low : 0, e.quant2 ? e.quant2->high : 0,
        bound(low(e.clip), e.clip ? e.clip->first : 0),
        bound(high(e.clip), e.clip ? e.clip->second : 0),
        e.function ? literal(e.function->alpha) : "0.0f",
        e.function ? literal(e.function->beta) : "0.0f",
        bound(e.function && std::isfinite(e.function->gamma),
              e.function ? e.function->gamma : 0),
        fmt::join(flags, " | "), e.outputs.size(), outputs);
  }

  // Adds a local variable with the addresses of a step, and a call.
  void add_call(const std::string& function, const std::string& arguments,
                int x, const PortableEpilogue& e, int multiplier) {
    std::string outputs;
    for (const PortableEpilogue::Output& o : e.outputs) {
      outputs += (outputs.empty() ? "" : ", ") + address(o.y);
    }
    const std::string data =
        fmt::format("{{{}, {}, {}, {{{}}}}}", address(x), address(e.other),
                    address(multiplier), outputs);
    steps_ += fmt::format(
        "  {{\n    const {0}_data data = {1};\n    {0}_{2}({3}, &data);\n  "
        "}}\n",
        p_, data, function, arguments);
  }

  // [kh,kw,c/groups,k] -> [k][kh][kw][c/groups]; depthwise unchanged.
  static std::vector<float> arranged(const PortableLinear& s, int64_t in,
                                     int64_t k, bool depthwise) {
    if (depthwise) return s.weights;
    const int64_t rows = s.kernel.h * s.kernel.w * in;
    std::vector<float> result(s.weights.size());
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t channel = 0; channel < k; ++channel) {
        result[static_cast<size_t>(channel * rows + row)] =
            s.weights[static_cast<size_t>(row * k + channel)];
      }
    }
    return result;
  }

  void write(const PortableLinear& s) {
    check_finite(s.weights, fmt::format("'{}'", ident_));
    const PortableBuffer& x = buffer(s.x);
    const PortableBuffer& y = buffer(s.epilogue.outputs.at(0).y);
    const int64_t in = x.c / s.groups, out = y.c / s.groups;
    const bool depthwise = in == 1 && s.groups > 1;
    const bool integer = !s.rescale.empty();
    const std::vector<float> weights = arranged(s, in, y.c, depthwise);
    const std::string stored =
        integer ? add_integers("int8_t", ident_ + "_weights", weights, 1)
                : add_floats(ident_ + "_weights", weights);
    const std::string rescale = add_floats(ident_ + "_rescale", s.rescale);
    const std::string epilogue = epilogue_value(s.epilogue);
    const std::string name = unique_.add(fmt::format("{}_{}_step", p_, ident_));
    constants_ += fmt::format(
        "static const {}_conv {} = {{&{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, "
        "{}, {}, {}, {}, {}, {}, {}}};\n",
        p_, name, descriptor(s.x), y.h, y.w, y.c, s.kernel.h, s.kernel.w,
        s.strides.h, s.strides.w, s.dilation.h, s.dilation.w, s.top, s.left, in,
        out, stored, rescale, epilogue);
    const std::string function = fmt::format(
        "{}_{}", depthwise ? "depthwise" : "conv", integer ? "s8" : "f32");
    use(depthwise ? (integer ? Kernel::depthwise_s8 : Kernel::depthwise_f32)
                  : (integer ? Kernel::conv_s8 : Kernel::conv_f32));
    add_call(function, "&" + name, s.x, s.epilogue, -1);
  }

  void write(const PortableEvaluate& s) {
    use(Kernel::evaluate);
    const std::string epilogue = epilogue_value(s.epilogue);
    const std::string name = unique_.add(fmt::format("{}_{}_step", p_, ident_));
    constants_ +=
        fmt::format("static const {}_epilogue {} = {};\n", p_, name, epilogue);
    add_call("evaluate", fmt::format("&{}, &{}", descriptor(s.x), name), s.x,
             s.epilogue, s.multiplier);
  }

  void write(const PortablePool& s) {
    const std::string name = unique_.add(fmt::format("{}_{}_step", p_, ident_));
    constants_ += fmt::format(
        "static const {}_pool {} = {{&{}, &{}, {}, {}, {}, {}, {}, {}, {}, "
        "{}, {}, {}, {}, {}}};\n",
        p_, name, descriptor(s.x), descriptor(s.y), s.kernel.h, s.kernel.w,
        s.strides.h, s.strides.w, s.dilation.h, s.dilation.w, s.top, s.left,
        s.zeros_top, s.zeros_bottom, s.zeros_left, s.zeros_right);
    const bool integer = buffer(s.y).quant.has_value();
    const char* function = !s.maximum ? "average_pool"
                           : integer  ? "max_pool_s8"
                                      : "max_pool_f32";
    use(!s.maximum ? Kernel::average_pool
        : integer  ? Kernel::max_pool_s8
                   : Kernel::max_pool_f32);
    steps_ += fmt::format("  {}_{}(&{}, {}, {});\n", p_, function, name,
                          address(s.x), address(s.y));
  }

  void write(const PortableNearest& s) {
    use(Kernel::nearest);
    const std::string rows =
        add_integers("int16_t", ident_ + "_rows", s.rows, 2);
    const std::string cols =
        add_integers("int16_t", ident_ + "_cols", s.cols, 2);
    steps_ += fmt::format("  {}_nearest(&{}, &{}, {}, {}, {}, {});\n", p_,
                          descriptor(s.x), descriptor(s.y), rows, cols,
                          address(s.x), address(s.y));
  }

  void write(const PortableTable& s) {
    const PortableQuant& of_x = *buffer(s.x).quant;
    const auto& of_y = buffer(s.y).quant;
    // By stored value; values outside of the range repeat its ends.
    std::vector<float> table;
    for (int stored = -128; stored <= 127; ++stored) {
      const int q = std::clamp(stored - stored_zero(of_x), of_x.low, of_x.high);
      const float y = s.results[static_cast<size_t>(q - of_x.low)];
      table.push_back(of_y ? y + static_cast<float>(stored_zero(*of_y)) : y);
    }
    const std::string name =
        of_y ? add_integers("int8_t", ident_ + "_table", table, 1)
             : add_floats(ident_ + "_table", table);
    use(of_y ? Kernel::table_s8 : Kernel::table_f32);
    steps_ += fmt::format("  {}_table_{}(&{}, &{}, {}, {}, {});\n", p_,
                          of_y ? "s8" : "f32", descriptor(s.x), descriptor(s.y),
                          name, address(s.x), address(s.y));
  }

  void write(const PortableImageSum& s) {
    use(Kernel::image_sum);
    steps_ += fmt::format("  {}_image_sum(&{}, &{}, {:.17g}{}, {}, {});\n", p_,
                          descriptor(s.x), descriptor(s.y), s.divisor,
                          std::floor(s.divisor) == s.divisor ? ".0" : "",
                          address(s.x), address(s.y));
  }

  void write(const PortableSoftmax& s) {
    use(Kernel::softmax);
    steps_ +=
        fmt::format("  {}_softmax(&{}, &{}, {}, {});\n", p_, descriptor(s.x),
                    descriptor(s.y), address(s.x), address(s.y));
  }

  void write(const PortableUnknown&) {}

  // Outputs that another place has.
  void write_copies() {
    for (size_t i = 0; i < names_.outputs.size(); ++i) {
      const int id = names_.outputs[i].buffer;
      const Place& place = net_.place(id);
      if (place.kind == Place::Kind::output &&
          place.index == static_cast<int64_t>(i)) {
        continue;
      }
      steps_ += fmt::format("  memcpy({}, {}, {});\n", names_.outputs[i].ident,
                            address(id), bytes_of(buffer(id)));
    }
  }

  std::string whole_text() const {
    std::string text = fmt::format(
        "/* Generated by Octet {}. Do not edit. */\n#include \"model.h\"\n\n"
        "#include <stddef.h>\n#include <string.h>\n\n",
        version());
    text +=
        "#if defined(__FAST_MATH__)\n"
        "#error \"compile without -ffast-math: it changes results\"\n"
        "#endif\n"
        "/* Contraction to fused multiply-add would change results. */\n"
        "#if defined(__clang__)\n"
        "#pragma STDC FP_CONTRACT OFF\n"
        "#elif defined(__GNUC__)\n"
        "#pragma GCC optimize(\"fp-contract=off\")\n"
        "#endif\n\n";
    text += fmt::format("#define {}_OUTPUTS {} /* most outputs of a step */\n",
                        p_, std::max<std::ptrdiff_t>(outputs_, 1));
    text += kernel_text(kernels_, p_) + "\n" + constants_ + "\n";
    text += run_declaration(net_, names_) + " {\n";
    text += "  int8_t* const memory = (int8_t*)arena;\n";
    text += fmt::format(
        "  const int problem = {}_check_arena(arena, {}_ARENA_BYTES);\n"
        "  if (problem != {}_OK) {{\n    return problem;\n  }}\n",
        p_, names_.macros, names_.macros);
    std::vector<std::string> ports;
    for (const auto* list : {&names_.inputs, &names_.outputs}) {
      for (const Port& port : *list) ports.push_back(port.ident + " == NULL");
    }
    text += fmt::format("  if ({}) {{\n    return {}_ERROR_NULL;\n  }}\n",
                        fmt::join(ports, " || "), names_.macros);
    if (net_.arena == 0) text += "  (void)memory;\n";
    return text + steps_ + fmt::format("  return {}_OK;\n}}\n", names_.macros) +
           check_text();
  }

  std::string check_text() const {
    return fmt::format(
        "\nint {0}_check_arena(const void* arena, uint32_t bytes) {{\n"
        "  if (arena == NULL) {{\n    return {1}_ERROR_NULL;\n  }}\n"
        "  if ((uintptr_t)arena % {1}_ARENA_ALIGNMENT != 0u) {{\n"
        "    return {1}_ERROR_ALIGNMENT;\n  }}\n"
        "  return bytes < {1}_ARENA_BYTES ? {1}_ERROR_SIZE : {1}_OK;\n}}\n",
        p_, names_.macros);
  }

  const CNetwork& net_;
  const CNames& names_;
  const std::string& p_;
  CSource result_;
  UniqueNames unique_;
  std::set<Kernel> kernels_;
  std::map<std::string, std::string> descriptors_;  // name by initializer
  std::map<int, std::string> constant_names_;       // by buffer
  std::string constants_, steps_;
  std::string ident_;  // of the current step
  int64_t flash_ = 0;  // of the current step
  std::ptrdiff_t outputs_ = 0;
};

}  // namespace

CSource source_text(const CNetwork& net, const CNames& names) {
  return SourceWriter(net, names).run();
}

}  // namespace octet::io::c
