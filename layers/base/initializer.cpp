#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/parameter.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>

#include "base/names.h"

namespace octet {
namespace {

using Spread = Initializer::Spread;
using Fan = Initializer::Fan;

// Standard deviation of a unit normal truncated at 2, by which Keras divides.
// Source: keras/src/initializers/random_initializers.py, VarianceScaling.
constexpr double kTruncatedDeviation = 0.87962566103423978;

struct Preset {
  const char* class_name;
  Spread spread;
  Fan fan;
  double scale;
};
constexpr Preset kPresets[] = {
    {"GlorotUniform", Spread::uniform, Fan::average, 1},
    {"GlorotNormal", Spread::truncated_normal, Fan::average, 1},
    {"HeUniform", Spread::uniform, Fan::in, 2},
    {"HeNormal", Spread::truncated_normal, Fan::in, 2},
    {"LecunUniform", Spread::uniform, Fan::in, 1},
    {"LecunNormal", Spread::truncated_normal, Fan::in, 1},
};

Initializer preset(std::string_view class_name) {
  for (const Preset& p : kPresets) {
    if (class_name == p.class_name) return {p.spread, p.scale, 0, p.fan};
  }
  throw InternalError("internal", "initializer",
                      fmt::format("no preset '{}'", class_name));
}

struct Numbers {
  const Config& config;
  double operator()(const char* name, double otherwise) const {
    const Config* entry = config.find(name);
    return entry == nullptr ? otherwise : entry->as_number();
  }
};

Initializer variance_scaling(const Config& config) {
  const auto text = [&](const char* name, const char* otherwise) {
    const Config* entry = config.find(name);
    return entry == nullptr ? std::string(otherwise) : entry->as_string();
  };
  const std::string mode = text("mode", "fan_in");
  const std::string distribution = text("distribution", "truncated_normal");
  Fan fan = Fan::in;
  if (mode == "fan_out") {
    fan = Fan::out;
  } else if (mode == "fan_avg") {
    fan = Fan::average;
  } else if (mode != "fan_in") {
    throw ValueError(
        "invalid_value", "mode",
        fmt::format("must be fan_in, fan_out or fan_avg, got '{}'", mode));
  }
  Spread spread = Spread::truncated_normal;
  if (distribution == "uniform") {
    spread = Spread::uniform;
  } else if (distribution == "untruncated_normal") {
    spread = Spread::normal;
  } else if (distribution != "truncated_normal" && distribution != "normal") {
    throw ValueError(
        "invalid_value", "distribution",
        fmt::format(
            "must be uniform, truncated_normal or untruncated_normal, got '{}'",
            distribution));
  }
  return {spread, Numbers{config}("scale", 1), 0, fan};
}

Initializer make(std::string_view wanted, const Config& config) {
  const std::string name = snake_case(wanted);
  const Numbers number{config};
  std::vector<std::string> known{"zeros",
                                 "ones",
                                 "constant",
                                 "orthogonal",
                                 "random_normal",
                                 "random_uniform",
                                 "truncated_normal",
                                 "variance_scaling"};
  for (const Preset& p : kPresets) {
    known.push_back(snake_case(p.class_name));
    if (known.back() == name) return preset(p.class_name);
  }
  if (name == "zeros") return zeros();
  if (name == "ones") return ones();
  if (name == "constant") return constant_value(number("value", 0));
  if (name == "random_uniform") {
    return random_uniform(number("minval", -0.05), number("maxval", 0.05));
  }
  if (name == "random_normal") {
    return random_normal(number("mean", 0), number("stddev", 0.05));
  }
  if (name == "truncated_normal") {
    return truncated_normal(number("mean", 0), number("stddev", 0.05));
  }
  if (name == "orthogonal") return orthogonal(number("gain", 1));
  if (name == "variance_scaling") return variance_scaling(config);
  throw ValueError("unknown_name", "initializer",
                   fmt::format("unknown initializer '{}'{}", wanted,
                               suggest_names(name, known)));
}

// Fills a matrix with orthogonal rows of length `gain`, or columns if it has
// more rows: Gram-Schmidt on normal vectors, in double precision.
void fill_orthogonal(std::span<float> values, int64_t rows, double gain,
                     Rng& rng) {
  const int64_t size = std::ssize(values);
  if (size == 0) return;
  rows = std::max<int64_t>(rows, 1);
  const int64_t columns = size / rows;
  const bool wide = columns >= rows;
  const int64_t count = wide ? rows : columns;
  const int64_t length = wide ? columns : rows;
  std::vector<double> vectors(static_cast<size_t>(count * length));
  const auto vector = [&](int64_t i) { return vectors.data() + i * length; };
  const auto dot = [&](const double* a, const double* b) {
    return std::inner_product(a, a + length, b, 0.0);
  };
  for (int64_t i = 0; i < count; ++i) {
    double* const v = vector(i);
    for (int64_t j = 0; j < length; ++j) v[j] = double{rng.normal()};
    // The second pass removes the rounding errors of the first.
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t before = 0; before < i; ++before) {
        const double part = dot(v, vector(before));
        for (int64_t j = 0; j < length; ++j) v[j] -= part * vector(before)[j];
      }
      const double norm = std::sqrt(dot(v, v));
      for (int64_t j = 0; j < length; ++j) v[j] /= norm;
    }
    for (int64_t j = 0; j < length; ++j) {
      const int64_t at = wide ? i * columns + j : j * columns + i;
      values[static_cast<size_t>(at)] = static_cast<float>(gain * v[j]);
    }
  }
}

// Draws from a normal distribution, rejecting values beyond two deviations.
float truncated(Rng& rng) {
  float v = rng.normal();
  while (std::fabs(v) > 2.0f) v = rng.normal();
  return v;
}

}  // namespace

Initializer::Initializer(Spread spread, double a, double b, Fan fan)
    : spread_(spread), fan_(fan), a_(a), b_(b) {
  const bool scale = fan != Fan::none;
  const bool normal =
      spread == Spread::normal || spread == Spread::truncated_normal;
  if (!std::isfinite(a) || !std::isfinite(b) || (scale && a < 0) ||
      (spread == Spread::orthogonal && a < 0) || (!scale && normal && b < 0) ||
      (!scale && spread == Spread::uniform && b < a)) {
    throw ValueError("out_of_range", "initializer",
                     fmt::format("parameters must be finite, deviation and "
                                 "scale at least 0, and the "
                                 "lower limit at most the upper, got {} and {}",
                                 a, b));
  }
}

void Initializer::operator()(std::span<float> values, int64_t fan_in,
                             int64_t fan_out, Rng& rng) const {
  double a = a_;
  double b = b_;
  if (fan_ != Fan::none) {
    double fan = static_cast<double>(fan_in);
    if (fan_ == Fan::out) fan = static_cast<double>(fan_out);
    if (fan_ == Fan::average) {
      fan = static_cast<double>(fan_in + fan_out) / 2;
    }
    const double deviation = std::sqrt(a_ / std::max(fan, 1.0));
    if (spread_ == Spread::uniform) {
      b = std::sqrt(3.0) * deviation;
      a = -b;
    } else {
      a = 0;
      b = spread_ == Spread::truncated_normal ? deviation / kTruncatedDeviation
                                              : deviation;
    }
  }
  const auto low = static_cast<float>(a);
  const auto high = static_cast<float>(b);
  switch (spread_) {
    case Spread::constant:
      std::ranges::fill(values, low);
      break;
    case Spread::uniform:
      rng.fill_uniform(values, low, high);
      break;
    case Spread::normal:
      rng.fill_normal(values, low, high);
      break;
    case Spread::truncated_normal:
      for (float& v : values) v = low + high * truncated(rng);
      break;
    case Spread::orthogonal:
      fill_orthogonal(values, fan_in, a_, rng);
      break;
  }
}

Config Initializer::config() const {
  const auto form = [](const char* class_name, Config numbers) {
    if (numbers.is_null()) numbers = Config::Object();
    return Config().set("class_name", class_name).set("config", numbers);
  };
  if (fan_ != Fan::none) {
    for (const Preset& p : kPresets) {
      if (*this == preset(p.class_name)) return form(p.class_name, {});
    }
    const char* mode = fan_ == Fan::in    ? "fan_in"
                       : fan_ == Fan::out ? "fan_out"
                                          : "fan_avg";
    const char* distribution = spread_ == Spread::uniform ? "uniform"
                               : spread_ == Spread::normal
                                   ? "untruncated_normal"
                                   : "truncated_normal";
    return form("VarianceScaling", Config()
                                       .set("scale", a_)
                                       .set("mode", mode)
                                       .set("distribution", distribution));
  }
  if (*this == zeros()) return form("Zeros", {});
  if (*this == ones()) return form("Ones", {});
  if (spread_ == Spread::constant) {
    return form("Constant", Config().set("value", a_));
  }
  if (spread_ == Spread::orthogonal) {
    return form("Orthogonal", Config().set("gain", a_));
  }
  if (spread_ == Spread::uniform) {
    return form("RandomUniform", Config().set("minval", a_).set("maxval", b_));
  }
  return form(spread_ == Spread::normal ? "RandomNormal" : "TruncatedNormal",
              Config().set("mean", a_).set("stddev", b_));
}

Initializer Initializer::from_config(const Config& config) {
  static const Config none = Config::Object();
  if (config.is_string()) return make(config.as_string(), none);
  const Config* numbers = config.find("config");
  return make(config.at("class_name").as_string(),
              numbers == nullptr ? none : *numbers);
}

Initializer zeros() { return {}; }
Initializer ones() { return constant_value(1); }
Initializer constant_value(double value) { return {Spread::constant, value}; }
Initializer random_uniform(double low, double high) {
  return {Spread::uniform, low, high};
}
Initializer random_normal(double mean, double deviation) {
  return {Spread::normal, mean, deviation};
}
Initializer truncated_normal(double mean, double deviation) {
  return {Spread::truncated_normal, mean, deviation};
}
Initializer orthogonal(double gain) { return {Spread::orthogonal, gain}; }
Initializer glorot_uniform() { return preset("GlorotUniform"); }
Initializer glorot_normal() { return preset("GlorotNormal"); }
Initializer he_uniform() { return preset("HeUniform"); }
Initializer he_normal() { return preset("HeNormal"); }
Initializer lecun_uniform() { return preset("LecunUniform"); }
Initializer lecun_normal() { return preset("LecunNormal"); }

}  // namespace octet
