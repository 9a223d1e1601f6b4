// A single declaration of a layer's options serves to write and read its
// configuration:
//
//   template <class Visitor>
//   static void fields(Visitor& v, DenseOptions& o) {
//     v("units", o.units);
//     v("use_bias", o.use_bias);
//   }
//
// It must be static and outside of unnamed namespaces to be found. The layer's
// name is not a field: it belongs to the layer in its model.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/convolution.h>
#include <octet/layers/parameter.h>
#include <octet/runtime/config.h>
#include <octet/runtime/error.h>
#include <octet/runtime/tensor.h>

namespace octet {

class FieldWriter {
 public:
  /// An option that Keras lacks: written only if it is not `otherwise`.
  template <class Value>
  void extra(const char* name, const Value& value, const Value& otherwise) {
    if (value != otherwise) (*this)(name, value);
  }
  void operator()(const char* name, int64_t value) { config_.set(name, value); }
  void operator()(const char* name, bool value) { config_.set(name, value); }
  // Keras writes infinity ("no limit") as null.
  void operator()(const char* name, float value) {
    config_.set(name, std::isinf(value) ? Config() : Config(value));
  }
  void operator()(const char* name, const std::string& value) {
    config_.set(name, value);
  }
  void operator()(const char* name, const Size2& value) {
    config_.set(name, Config::List{value.h, value.w});
  }
  // Unset is null.
  void operator()(const char* name, const std::optional<Size2>& value) {
    config_.set(name,
                value ? Config(Config::List{value->h, value->w}) : Config());
  }
  // Infinity and NaN, which JSON lacks, are written by name.
  void operator()(const char* name, const std::optional<float>& value) {
    config_.set(name, !value ? Config()
                      : std::isfinite(*value)
                          ? Config(*value)
                          : Config(fmt::format("{}", *value)));
  }
  void operator()(const char* name, Padding value) {
    if (const Pads* pads = value.given()) return (*this)(name, *pads);
    config_.set(name, value == Padding::same ? "same" : "valid");
  }
  // A list, as in Keras.
  void operator()(const char* name, const Size1& value) {
    config_.set(name, Config::List{value.length});
  }
  void operator()(const char* name, const Padding1D& value) {
    if (const Ends* ends = value.given()) return (*this)(name, *ends);
    config_.set(name, value.name());
  }
  void operator()(const char* name, const Ends& value) {
    config_.set(name, Config::List{value.begin, value.end});
  }
  // [[top, bottom], [left, right]], as in Keras' ZeroPadding2D.
  void operator()(const char* name, const Pads& value) {
    config_.set(name, Config::List{Config::List{value.top, value.bottom},
                                   Config::List{value.left, value.right}});
  }
  void operator()(const char* name, const Initializer& value) {
    config_.set(name, value.config());
  }
  void operator()(const char* name, const Regularizer& value) {
    config_.set(name, to_config(value));
  }
  // An empty list is null, as for unset lists in Keras.
  void operator()(const char* name, const std::vector<int64_t>& value) {
    config_.set(name, value.empty() ? Config()
                                    : Config::List(value.begin(), value.end()));
  }
  // As Keras 3 serializes the index of x[...].
  void operator()(const char* name, const std::vector<Index>& value) {
    Config::List list;
    for (const Index& index : value) {
      if (index.kind() == Index::Kind::entry) {
        list.emplace_back(index.entry());
      } else if (index.kind() == Index::Kind::ellipsis) {
        list.push_back(Config()
                           .set("class_name", "__ellipsis__")
                           .set("config", Config::Object()));
      } else {
        const Slice& slice = index.slice();
        const auto end = [](std::optional<int64_t> place) {
          return place ? Config(*place) : Config();
        };
        list.push_back(
            Config()
                .set("class_name", "__slice__")
                .set("config",
                     Config()
                         .set("start", end(slice.start))
                         .set("stop", end(slice.stop))
                         .set("step", end(slice.step == 1
                                              ? std::nullopt
                                              : std::optional(slice.step)))));
      }
    }
    config_.set(name, std::move(list));
  }
  // A single number is written as a scalar.
  void operator()(const char* name, const std::vector<float>& value) {
    config_.set(name, value.size() == 1
                          ? Config(value[0])
                          : Config(Config::List(value.begin(), value.end())));
  }

  Config take() {
    return config_.is_null() ? Config(Config::Object()) : std::move(config_);
  }

 private:
  Config config_;
};

/// Reads a configuration. Absent entries keep their defaults; unknown entries
/// are ignored, since other versions write more.
class FieldReader {
 public:
  explicit FieldReader(const Config& config) : config_(config) {}

  template <class Value>
  void extra(const char* name, Value& value, const Value& /*otherwise*/) {
    (*this)(name, value);
  }
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
    read(name, [&](const Config& c) { value = size2(name, c); });
  }
  void operator()(const char* name, std::optional<Size2>& value) {
    read(name, [&](const Config& c) {
      value = c.is_null() ? std::nullopt : std::optional(size2(name, c));
    });
  }
  void operator()(const char* name, std::optional<float>& value) {
    read(name, [&](const Config& c) {
      constexpr float kInfinity = std::numeric_limits<float>::infinity();
      if (c.is_null()) {
        value.reset();
      } else if (!c.is_string()) {
        value = static_cast<float>(c.as_number());
      } else if (c.as_string() == "inf" || c.as_string() == "-inf") {
        value = c.as_string() == "inf" ? kInfinity : -kInfinity;
      } else if (c.as_string() == "nan" || c.as_string() == "-nan") {
        value = std::numeric_limits<float>::quiet_NaN();
      } else {
        throw ValueError(
            "invalid_value", name,
            fmt::format("must be a number, inf, -inf or nan, got '{}'",
                        c.as_string()));
      }
    });
  }
  void operator()(const char* name, Padding& value) {
    read(name, [&](const Config& c) {
      value = c.is_list() ? Padding(pads(name, c)) : Padding(c.as_string());
    });
  }
  void operator()(const char* name, Pads& value) {
    read(name, [&](const Config& c) { value = pads(name, c); });
  }
  void operator()(const char* name, Size1& value) {
    read(name, [&](const Config& c) { value = size1(name, c); });
  }
  void operator()(const char* name, Padding1D& value) {
    read(name, [&](const Config& c) {
      value =
          c.is_string() ? Padding1D(c.as_string()) : Padding1D(ends(name, c));
    });
  }
  void operator()(const char* name, Ends& value) {
    read(name, [&](const Config& c) { value = ends(name, c); });
  }
  void operator()(const char* name, Initializer& value) {
    read(name, [&](const Config& c) { value = Initializer::from_config(c); });
  }
  void operator()(const char* name, Regularizer& value) {
    read(name, [&](const Config& c) { value = regularizer_from_config(c); });
  }
  // An integer is a list of one, null an empty list, and null within a list an
  // unknown size.
  void operator()(const char* name, std::vector<int64_t>& value) {
    read(name, [&](const Config& c) {
      value.clear();
      if (c.is_null()) return;
      if (!c.is_list()) {
        value.push_back(c.as_int());
        return;
      }
      for (const Config& entry : c.as_list()) {
        value.push_back(entry.is_null() ? Shape::kAnySize : entry.as_int());
      }
    });
  }
  void operator()(const char* name, std::vector<Index>& value) {
    read(name, [&](const Config& c) {
      value.clear();
      if (!c.is_list()) return value.push_back(index(c));
      for (const Config& entry : c.as_list()) value.push_back(index(entry));
    });
  }
  void operator()(const char* name, std::vector<float>& value) {
    read(name, [&](const Config& c) {
      value.clear();
      if (c.is_null()) return;
      if (!c.is_list()) {
        value.push_back(static_cast<float>(c.as_number()));
        return;
      }
      for (const Config& entry : c.as_list()) {
        value.push_back(static_cast<float>(entry.as_number()));
      }
    });
  }

 private:
  // n or [h, w].
  static Size2 size2(const char* name, const Config& c) {
    if (!c.is_list()) return {c.as_int(), c.as_int()};
    const Config::List& list = c.as_list();
    if (list.size() != 2) {
      throw ValueError(
          "count_mismatch", name,
          fmt::format("must be an integer or a list of 2, got {} entries",
                      list.size()));
    }
    return {list[0].as_int(), list[1].as_int()};
  }
  // n or [n].
  static Size1 size1(const char* name, const Config& c) {
    if (!c.is_list()) return c.as_int();
    if (c.as_list().size() != 1) {
      throw ValueError(
          "count_mismatch", name,
          fmt::format("must be an integer or a list of 1, got {} entries",
                      c.as_list().size()));
    }
    return c.as_list()[0].as_int();
  }
  // n or [begin, end].
  static Ends ends(const char* name, const Config& c) {
    const Size2 both = size2(name, c);
    return {both.h, both.w};
  }
  // Keras' three forms: n, [h, w] and [[top, bottom], [left, right]].
  static Pads pads(const char* name, const Config& c) {
    if (!c.is_list()) return {c.as_int(), c.as_int(), c.as_int(), c.as_int()};
    const Config::List& list = c.as_list();
    if (list.size() != 2) {
      throw ValueError(
          "count_mismatch", name,
          fmt::format("must be an integer or a list of 2, got {} entries",
                      list.size()));
    }
    const Size2 h = size2(name, list[0]);
    const Size2 w = size2(name, list[1]);
    return {h.h, h.w, w.h, w.w};
  }

  // Keras 3 writes a class name; tf.keras writes slices only.
  static Index index(const Config& c) {
    if (!c.is_object()) return c.as_int();
    const Config* class_name = c.find("class_name");
    if (class_name != nullptr && *class_name == Config("__ellipsis__")) {
      return "...";
    }
    const Config& slice = class_name == nullptr ? c : c.at("config");
    const auto end = [&](const char* name) -> std::optional<int64_t> {
      const Config* place = slice.find(name);
      if (place == nullptr || place->is_null()) return std::nullopt;
      return place->as_int();
    };
    return Slice(end("start"), end("stop"), end("step").value_or(1));
  }

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
