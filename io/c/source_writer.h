// SourceWriter: writes model.c. steps_source.cpp has the steps, fixed.cpp the
// epilogues of the fixed form.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "kernels.h"
#include "source.h"
#include "unique_names.h"

namespace octet::io::c {

/// Returns the weights [k][kh][kw][in] of a layer with k outputs and `in`
/// inputs per group; unchanged if depthwise.
std::vector<float> kernel_weights(const PortableLinear& s, int64_t in,
                                  int64_t k, bool depthwise);

class SourceWriter {
 public:
  SourceWriter(const CNetwork& net, const CNames& names, const CForm& form)
      : net_(net), names_(names), form_(form), p_(names.prefix) {}

  CSource run();

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

  // Returns the name of a table. Equal names share the table.
  std::string int16_table(const std::string& name,
                          std::span<const int16_t> values) {
    std::string& known = descriptors_[name];
    if (known.empty()) {
      known = add_integers("int16_t", name,
                           std::vector<int>(values.begin(), values.end()), 2);
    }
    return known;
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

  // Writes a step as a call of CMSIS-NN, if it is selected and has a function
  // for the step. Returns whether it did.
  template <class Step>
  bool write_as_call(const Step& s) {
    return form_.kernels == CKernels::cmsis_nn && write_cmsis(s);
  }
  bool write_cmsis(const PortableLinear& s);
  bool write_cmsis(const PortableEvaluate& s);
  bool write_cmsis(const PortablePool& s);
  bool write_cmsis(const PortableSoftmax& s);
  void add_checked_call(const std::string& call);

  void write(const PortableLinear& s);
  void write(const PortableEvaluate& s);
  void write(const PortablePool& s);
  void write(const PortableNearest& s);
  void write(const PortableTable& s);
  void write(const PortableImageSum& s);
  void write(const PortableSoftmax& s);
  void write(const PortableUnknown&) {}

  bool fixed() const { return form_.fixed; }
  bool wide() const { return form_.wide; }
  // Suffix of kernels of quantized values.
  const char* integer_suffix() const { return wide() ? "s16" : "s8"; }

  // Adds the parameters of an epilogue; returns their initializer.
  std::string epilogue_value(const PortableEpilogue& e);
  // The same for integers. x, linear: the scaled value.
  std::string fixed_epilogue(const PortableEpilogue& e, int x,
                             const PortableLinear* linear);
  // Size of the structure with 32-bit pointers.
  int64_t epilogue_bytes() const { return fixed() ? 76 : 76 + 12 * outputs_; }
  // Adds a local variable with the addresses of a step, and a call.
  void add_call(const std::string& function, const std::string& arguments,
                int x, const PortableEpilogue& e, int multiplier);

  void write_copies();
  std::string whole_text() const;
  std::string check_text() const;

  const CNetwork& net_;
  const CNames& names_;
  CForm form_;
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

}  // namespace octet::io::c
