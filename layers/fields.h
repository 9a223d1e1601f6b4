// One declaration of a layer's options serves for writing and reading its
// configuration:
//
//   template <class Visitor>
//   static void fields(Visitor& v, DenseOptions& o) {
//     v("units", o.units);
//     v("use_bias", o.use_bias);
//   }
//
// (static and not in an unnamed namespace, where it would not be found.)
// The name of a layer is not an option in this sense: it belongs to the layer
// in its model.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <octet/layers/padding.h>
#include <octet/runtime/config.h>
#include <octet/runtime/error.h>

namespace octet {

class FieldWriter {
 public:
  void operator()(const char* name, int64_t value) { config_.set(name, value); }
  void operator()(const char* name, bool value) { config_.set(name, value); }
  // Infinity is "no limit", which Keras writes as null.
  void operator()(const char* name, float value) {
    config_.set(name, std::isinf(value) ? Config() : Config(value));
  }
  void operator()(const char* name, const std::string& value) {
    config_.set(name, value);
  }
  void operator()(const char* name, const Size2& value) {
    config_.set(name, Config::List{value.h, value.w});
  }
  void operator()(const char* name, Padding value) {
    config_.set(name, value == Padding::same ? "same" : "valid");
  }

  Config take() {
    return config_.is_null() ? Config(Config::Object()) : std::move(config_);
  }

 private:
  Config config_;
};

/// Entries that are absent keep their defaults; unknown ones are ignored, as
/// configurations of other versions hold more.
class FieldReader {
 public:
  explicit FieldReader(const Config& config) : config_(config) {}

  void operator()(const char* name, int64_t& value) {
    read(name, [&](const Config& c) { value = c.as_int(); });
  }
  void operator()(const char* name, bool& value) {
    read(name, [&](const Config& c) { value = c.as_bool(); });
  }
  void operator()(const char* name, float& value) {
    read(name, [&](const Config& c) {
      value = c.is_null() ? std::numeric_limits<float>::infinity()
                          : static_cast<float>(c.as_number());
    });
  }
  void operator()(const char* name, std::string& value) {
    read(name, [&](const Config& c) { value = c.as_string(); });
  }
  void operator()(const char* name, Size2& value) {
    read(name, [&](const Config& c) {
      const Config::List& list = c.as_list();
      if (list.size() != 2) throw ValueError("expected two integers");
      value = {list[0].as_int(), list[1].as_int()};
    });
  }
  void operator()(const char* name, Padding& value) {
    read(name, [&](const Config& c) {
      const std::string& text = c.as_string();
      if (text != "same" && text != "valid") {
        throw ValueError("padding: expected 'valid' or 'same', got '" + text +
                         "'");
      }
      value = text == "same" ? Padding::same : Padding::valid;
    });
  }

 private:
  template <class Read>
  void read(const char* name, Read apply) {
    const Config* entry = config_.find(name);
    if (entry == nullptr) return;
    with_context([&] { return std::string("in field '") + name + "'"; },
                 [&] { apply(*entry); });
  }

  const Config& config_;
};

template <class Options>
Config write_fields(const Options& options) {
  Options copy = options;
  FieldWriter writer;
  fields(writer, copy);
  return writer.take();
}

template <class Options>
Options read_fields(const Config& config) {
  Options options;
  FieldReader reader(config);
  fields(reader, options);
  return options;
}

}  // namespace octet
