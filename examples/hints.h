// Translates hints of the library, which name C++, into hints that name options
// of the command line. Independent of wording: rules look for the code of an
// error or for a C++ name in its hint. A hint that names C++ without a rule is
// dropped.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace octet::program {

/// Replaces the hint of an error with this code, or a hint with this C++ name.
struct HintRule {
  std::string_view code;  ///< "not_calibrated", or "" if `name` is set
  std::string_view name;  ///< "io::load_model"
  std::string_view hint;  ///< "{}" is the last number of the library's hint
};

/// A field of an options struct, and the option that sets it.
struct OptionName {
  std::string_view type;   ///< "KerasOptions"
  std::string_view field;  ///< "architecture"
  std::string_view option;
};

/// The rules, for the test that the names exist in the library.
std::span<const HintRule> hint_rules();
std::span<const OptionName> option_names();

/// Returns a message of the library, with the error's `code` if any, as the
/// command line shows it.
std::string on_command_line(std::string text, std::string_view code = {});

}  // namespace octet::program
